"""Fills the cache of machine code: `python -m jimbot.games.balatro.compiling.ahead DIRECTORY`.

One process at a time does so for a cache, at low priority; `meanwhile` starts it, and it outlives the command that did.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from jimbot.machine import try_lock


def _batches() -> None:
    from jimbot.games.balatro.game import BalatroGame

    BalatroGame(1).reset()


def _single_games() -> None:
    from jimbot.games.balatro.rules import decisions, scratch, state

    decisions.apply(state.new_games(1)[0], scratch.new_scratch()[0], decisions.START, 0, np.uint64(0))


def _seeds() -> None:
    from jimbot.games.balatro.seeds.finding import find, preview

    preview("11111111", antes=1)
    find("boss:'The Hook'@1", limit=1)


def _heuristic() -> None:
    from jimbot.games.balatro.game import SPEC
    from jimbot.games.balatro.heuristic import Heuristic

    blank = np.zeros((1, SPEC.observation.size), np.float32)
    player = Heuristic()
    player.choose(blank, np.ones((1, SPEC.actions.size), bool))
    player.appraise(blank)


PROGRAMS: dict[str, Callable[[], None]] = {
    "games in batches": _batches,
    "single games": _single_games,
    "seeds": _seeds,
    "the heuristic player": _heuristic,
}
"""What most commands call, each a program of its own; what people wait for first comes first."""


def main(directory: str) -> None:
    lock = os.open(os.path.join(directory, "ahead.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    if not try_lock(lock):
        return
    with suppress(OSError, AttributeError):  # Windows has no nice
        os.nice(10)
    for compile_it in PROGRAMS.values():
        compile_it()


if __name__ == "__main__":
    main(*sys.argv[1:])
