"""A heuristic player of Balatro: exact scores of the hand on the table, sampled draws, bargains in shops.

It sees the observation and the mask and nothing else, and needs the game option `helpers`. The kernels read one row at
a time and never call the rules, so they compile by themselves in half a minute (`kernels.APART`).

- `playing`: play what beats the blind, else the better of playing on and discarding (`estimate` guesses draws)
- `buying`: everything on offer has a worth and a price in one unit; packs, and where jokers stand
- `build`: what a set of jokers and levels scores with this deck, now and some rounds ahead
- `targets`: consumables, and the cards to use them on
- `preferences`: its tables and its numbers (`Taste`); `examples/tune_teacher.py` searches for better ones

How often it wins, and where its runs die: docs/learners/training-log.md, "A better teacher". (Hieroglyph takes an ante
back, so a run may clear more than 24 blinds.)
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jimbot.games.balatro.compiling.kernels import FEW, machine_code, njit
from jimbot.games.balatro.heuristic import sight, steps
from jimbot.games.balatro.heuristic.buying import go_shopping, open_pack, place_grabbed
from jimbot.games.balatro.heuristic.outlook import appraise
from jimbot.games.balatro.heuristic.playing import play_round
from jimbot.games.balatro.heuristic.preferences import Taste
from jimbot.games.balatro.heuristic.targets import use_something
from jimbot.games.balatro.heuristic.workspace import new_plans
from jimbot.games.balatro.rules.state import BLIND_SELECT, PACK, ROUND_EVAL, SELECTING_HAND, SHOP
from jimbot.games.heuristics import HeuristicPlayer
from jimbot.games.threads import Threads, thread_count

_ROWS_WORTH_A_THREAD = 4  # a decision takes a good half millisecond


@njit
def _choose(o, m, p):
    phase = 0
    while phase < 6 and o[sight.PHASE + phase] == 0:
        phase += 1
    if m[steps.PLACE] or m[steps.PLACE + 1]:  # only a grabbed card can be placed
        return place_grabbed(o, m)
    if phase == SELECTING_HAND:
        return play_round(o, m, p)
    if phase == SHOP:
        return go_shopping(p, o, m)
    if phase == PACK:
        return open_pack(p, o, m)
    if phase == ROUND_EVAL:
        return steps.CASH_OUT
    if phase == BLIND_SELECT:
        action = use_something(o, m)
        return action if action != steps.NOTHING else steps.SELECT
    return steps.first_legal(m)


@njit
def decide(observation, legal_mask, plans, out):
    """Chooses an action for every row."""
    p = plans[0]
    for row in range(observation.shape[0]):
        m = legal_mask[row]
        action = _choose(observation[row], m, p)
        out[row] = action if action >= 0 and m[action] else steps.first_legal(m)


class Heuristic(HeuristicPlayer):
    """The heuristic player."""

    name = "heuristic"
    options: ClassVar[dict[str, Any]] = {"helpers": True}
    """Game options without which it cannot play."""

    def __init__(self, taste: Taste = Taste()) -> None:
        self._plans = [new_plans(taste) for _ in range(thread_count())]
        self._threads = Threads(len(self._plans), _ROWS_WORTH_A_THREAD)

    def choose(self, observation: np.ndarray, legal: np.ndarray) -> np.ndarray:
        actions = np.zeros(len(observation), np.int64)

        choose = decide if len(actions) <= FEW else machine_code(decide)

        def slice_of(worker: int, first: int, last: int) -> None:
            choose(observation[first:last], legal[first:last], self._plans[worker], actions[first:last])

        self._threads.spread(len(actions), slice_of)
        return actions

    def appraise(self, observation: np.ndarray) -> np.ndarray:
        """(N,) float32, how likely it is to win from there."""
        chances = np.zeros(len(observation), np.float32)

        look = appraise if len(chances) <= FEW else machine_code(appraise)

        def slice_of(worker: int, first: int, last: int) -> None:
            look(observation[first:last], self._plans[worker], chances[first:last])

        self._threads.spread(len(chances), slice_of)
        return chances
