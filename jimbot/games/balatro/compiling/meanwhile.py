"""Playing on while machine code is made: kernels run as plain Python, and another process compiles.

On a fresh machine the rules take a minute or two to compile. As plain Python they are some thousand times slower, which
is still many moves a second for one game: enough for a person who wants to see it. So where a person waits for a first
picture (`machine.prefer_first_frame`), a kernel whose machine code is not in the cache yet runs as Python, and a child
process (`ahead`) fills the cache. It goes on when the command ends, so the next one finds everything. As soon as the
machine code of a kernel is there, its next call from Python uses it: the switch falls between two moves, and both give
the same bits.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

NOTE = "The rules are compiled in the background (once per version, a minute or two); until then they are slower."


class _Calls(threading.local):
    plain = False
    """Whether this thread is inside a kernel that runs as Python: so do all kernels it calls."""


_calls = _Calls()


def inside() -> bool:
    return _calls.plain


def call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Runs a kernel as Python; numbers may overflow and be divided by zero as in machine code."""
    if _calls.plain:
        return function(*arguments)
    _calls.plain = True
    try:
        with np.errstate(all="ignore"):
            return function(*arguments)
    finally:
        _calls.plain = False


@cache
def compile_ahead(directory: Path) -> subprocess.Popen[bytes]:
    """Starts the process that fills this cache, once in a process; it ends by itself where another one is at it."""
    print(NOTE, file=sys.stderr, flush=True)
    with (directory / "ahead.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "jimbot.games.balatro.compiling.ahead", str(directory)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
