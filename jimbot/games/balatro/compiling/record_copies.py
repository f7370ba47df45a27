"""Keeping a copy of a whole game record inside compiled code, and putting it back.

Numba copies a record field by field or not at all; this is one block copy of memory, a tenth of a microsecond.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.rules.state import BYTES_PER_GAME, GAME_DTYPE


def _copier(into_array: bool) -> Any:
    """An intrinsic `(record, array of its bytes)` that copies one way or the other."""

    def copy(typing_context: Any, record: Any, array: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kept = make_array(signature.args[1])(context, builder, arguments[1]).data
            source, target = (arguments[0], kept) if into_array else (kept, arguments[0])
            count = context.get_constant(types.intp, BYTES_PER_GAME)
            cgutils.raw_memcpy(builder, target, source, count, 1)
            return context.get_dummy_value()

        return types.void(record, array), write

    return intrinsic(copy)


_copy_out, _copy_in = _copier(True), _copier(False)


def _keep_game(g: Any, kept: np.ndarray) -> None:
    kept[:] = np.frombuffer(g, np.uint8)


def _put_back(g: Any, kept: np.ndarray) -> None:
    was = kept.view(GAME_DTYPE)[0]
    for name in GAME_DTYPE.names or ():
        g[name] = was[name]


@partial(njit, plain=_keep_game)
def keep_game(g, kept):
    """Copies a game into `kept`, (BYTES_PER_GAME,) uint8."""
    _copy_out(g, kept)


@partial(njit, plain=_put_back)
def put_back(g, kept):
    """Makes a game again what it was when it was kept."""
    _copy_in(g, kept)
