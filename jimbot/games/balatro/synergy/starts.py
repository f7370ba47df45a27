"""Plays arms from Python: fresh runs, single hands, whole antes (`arms/playing.py` is the compiled part)."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.arms import playing
from jimbot.games.balatro.arms.playing import HAND, HAND_COLUMNS, MOST_JOKERS, RUN, RUN_COLUMNS, START
from jimbot.games.balatro.compiling.kernels import announce_compilation
from jimbot.games.balatro.rules.content import DECKS, STAKES
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.state import BYTES_PER_GAME, GAME_DTYPE, new_games

SITUATION = 5  # numbers that tell one, see `playing.work`
_COLUMNS = {START: 1, HAND: HAND_COLUMNS, RUN: RUN_COLUMNS}


def run(task: int, worlds: np.ndarray, situations: np.ndarray, arms: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(N, W, columns): every arm from every start; what the arrays are is told at `playing.work`."""
    out = np.zeros((len(arms), len(worlds), _COLUMNS[task]))
    g, s = new_games(1)[0], new_scratch()[0]
    g.deck, g.stake = DECKS.id("b_red"), STAKES.id("stake_white")
    spare = [np.zeros(BYTES_PER_GAME, np.uint8) for _ in range(2)]
    rows = [np.ascontiguousarray(array, np.int64) for array in (situations, arms)]
    grown = np.ascontiguousarray(values, np.float64)

    def call(worlds: np.ndarray) -> None:
        playing.work(task, worlds, *rows, grown, g, s, *spare, np.zeros(HAND_COLUMNS), out)

    announce_compilation(playing.work, lambda: call(worlds[:0]))
    call(worlds)
    return out


def fresh_runs(numbers: np.ndarray) -> np.ndarray:
    """(W,) runs at their first blind selection, of the seeds with these numbers."""
    worlds = np.zeros((len(numbers), BYTES_PER_GAME), np.uint8)
    situations = np.zeros((len(numbers), SITUATION), np.int64)
    situations[:, -1] = numbers
    run(START, worlds, situations, np.full((1, MOST_JOKERS), -1), np.zeros((len(numbers), 1)))
    return worlds.view(GAME_DTYPE)[:, 0]
