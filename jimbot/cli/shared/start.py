"""Starts one game for a person to look at: compiled beforehand, with a word about the wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jimbot.games import BatchGame
    from jimbot.games.contract import GameEntry


def start_game(entry: GameEntry, seed: int, options: Mapping[str, Any], quiet: bool = False) -> BatchGame:
    """One game of `entry` at its first move, ready to answer at once."""
    import numpy as np

    from jimbot.foreign_text import Terminal
    from jimbot.games import make

    keep_compiled(entry)
    game = make(entry.spec.id, 1, options=options, checked=True)
    with Terminal(stderr=True, quiet=quiet).status(
        f"Preparing {entry.spec.id} (the first start on a machine compiles it)…"
    ):
        game.reset(np.array([seed], np.uint64))
        if entry.functional is not None:
            # The first step compiles, too; take it now and put everything back.
            before = game.snapshot()
            game.step(game.legal_mask.argmax(axis=1))
            game.restore(before)
    return game


def keep_compiled(entry: GameEntry) -> None:
    """Lets games written in JAX find what an earlier start compiled."""
    if entry.functional is not None:
        from jimbot.training.session.compile_cache import use_compile_cache

        use_compile_cache()
