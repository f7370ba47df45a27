"""How likely the heuristic player is to win from here, as its own games tell.

A logistic regression of "won" on what it had whenever a blind was to be chosen: the points of its set of jokers now and
some rounds ahead (`build`), dollars, slots, and every joker (`preferences.FITTED`). Tastes were jittered, so that the
fit is not wrong where another player goes. The weights change with the shops left; between two rows of the table they
are mixed. It tells what winners had, not why; the same weights say what a joker is worth in a shop.
`examples/fit_outlook.py` makes such a fit.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.heuristic import preferences as like
from jimbot.games.balatro.heuristic import sight
from jimbot.games.balatro.heuristic.build import read_set, shops_left, strength
from jimbot.games.balatro.heuristic.workspace import OUTLOOK_COLUMNS as COLUMNS

SHOPS_LEFT = np.array([0.0, 2.0, 5.0, 8.0, 11.0, 14.0, 17.0, 20.0, 23.0])
_LOGITS = np.array(
    [
        # constant, points ahead, points now, $20, $20 that earn interest, all slots full, slots more than five
        [1.04, 2.13, -0.20, 0.06, 0.81, 0.82, 0.05],
        [0.66, 0.44, 1.15, 0.19, -0.31, 0.42, 0.09],
        [-0.90, 0.10, 1.29, 0.23, 0.37, 0.43, -0.03],
        [-1.76, 0.42, 0.89, 0.21, 0.53, 0.62, 0.02],
        [-1.31, 0.27, 0.79, 0.18, 0.66, -0.19, 0.06],
        [-1.61, 0.25, 0.51, 0.18, 0.71, -0.06, 0.16],
        [-1.29, 0.16, 0.40, -0.14, 0.83, 0.03, 0.36],
        [-0.79, 0.12, 0.33, -0.12, 0.62, -0.11, 0.49],
        [-0.37, -0.05, 0.12, 0.42, 0.16, -1.17, 0.93],
    ]
)
assert _LOGITS.shape == (len(SHOPS_LEFT), COLUMNS)
_USUAL_SLOTS, _USUAL_AHEAD, _USUAL_NOW = 5, 1.0, 0.5
_LEAST_MONEY, _MOST_MONEY, _MOST_EARNING = -5.0, 60.0, 25.0
_MONEY_SCALE = 20.0
_MOST_LOGITS = 15.0


@njit
def _row(left):
    """(row of the table, how much of the next one is mixed in)."""
    row = 0
    while row < len(SHOPS_LEFT) - 2 and left > SHOPS_LEFT[row + 1]:
        row += 1
    step = SHOPS_LEFT[row + 1] - SHOPS_LEFT[row]
    return row, min(1.0, max(0.0, (left - SHOPS_LEFT[row]) / step))


@njit
def look(o, p, out):
    """What the fit looks at beside single jokers, one number per column of the table; returns the shops left."""
    read_set(o, p)
    now, ahead = strength(o, p)
    wanted = np.log(max(1.0, sight.score(o[sight.BOSS_REQUIREMENT])))
    money = min(_MOST_MONEY, max(_LEAST_MONEY, np.float64(sight.count(o[sight.MONEY]))))
    slots, jokers = sight.count(o[sight.JOKER_SLOTS]), sight.count(o[sight.JOKER_COUNT])
    out[0] = 1.0
    out[1] = ahead - wanted - _USUAL_AHEAD
    out[2] = now - wanted - like.BOSS_HARDNESS[np.int64(o[sight.BOSS_ID])] - _USUAL_NOW
    out[3] = money / _MONEY_SCALE
    out[4] = min(money, _MOST_EARNING) / _MONEY_SCALE
    out[5] = 1.0 if jokers >= slots else 0.0
    out[6] = np.float64(slots - _USUAL_SLOTS)
    return shops_left(o)


@njit
def chance_to_win(o, p):
    """0 to 1, from any position."""
    row, share = _row(look(o, p, p.seen))
    total = 0.0
    for column in range(COLUMNS):
        total += p.seen[column] * ((1.0 - share) * _LOGITS[row, column] + share * _LOGITS[row + 1, column])
    for index in range(p.own_count):
        total += like.FITTED[p.own_joker[index]]
    return 1.0 / (1.0 + np.exp(-min(_MOST_LOGITS, max(-_MOST_LOGITS, total))))


@njit
def appraise(observation, plans, out):
    """The chance of every row."""
    p = plans[0]
    for row in range(observation.shape[0]):
        out[row] = chance_to_win(observation[row], p)


@njit
def look_all(observation, plans, out, left):
    """What the fit looks at in every row, (N, COLUMNS) and (N,)."""
    p = plans[0]
    for row in range(observation.shape[0]):
        left[row] = look(observation[row], p, out[row])
