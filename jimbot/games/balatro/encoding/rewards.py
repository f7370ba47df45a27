"""Rewards: named terms of one step, presets that weigh them, and what is reported of a finished run.

`win`, `lose` and `blind` are events. `progress` and `score` pay what was gained of a bounded measure of the state: over
an episode they add up to its last value minus its first, so no detour pays, and one hand of 10^12 points cannot drown
the rest. They are aims: to have come further, or to have scored more, is worth something by itself.

`money` is no aim, it only points the way (shaping): a potential that is paid discounted as the learner discounts,
γΦ' − Φ, and that is 0 once a run is over. Over a run it adds up to the same whatever was played, so dollars left over
pay nothing. A run that is cut off (truncated) keeps its potential: the learner goes on from there by the value of the
position, which counts from that potential too.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit
from jimbot.games.balatro.encoding.scaling import share
from jimbot.games.balatro.rules.state import DEFEATED, GAME_OVER, SELECTING_HAND

TERMS: tuple[str, ...] = ("win", "lose", "blind", "progress", "score", "money")
PRESETS: dict[str, tuple[float, ...]] = {
    #            win  lose blind progress score money
    "win": (1.0, 0.0, 0.0, 0.0, 0.0, 0.0),  # the mean return is the win rate
    "progress": (1.0, 0.1, 0.02, 1.0, 0.0, 0.1),  # how far the run comes; a skipped blind counts with its boss
    "score": (0.5, 0.0, 0.0, 0.5, 1.0, 0.0),  # hands as large as possible, on the way to a win
}
(_WIN, _LOSE, _BLIND, _PROGRESS, _SCORE, _MONEY) = range(len(TERMS))
SHAPING: tuple[str, ...] = ("money",)  # the same over every run, discounted as the learner discounts
MEMORY: int = len(TERMS)  # what was true before the step, by the term it belongs to

STATS: tuple[str, ...] = (
    "won", "ante", "blinds_cleared", "rounds", "skips", "money", "jokers", "hands_played", "steps", "best_hand_log10",
    "highest_ante", "highest_hand_log10", "score", "score_log10",
)  # fmt: skip
(
    _STAT_WON, _STAT_ANTE, _STAT_BLINDS, _STAT_ROUNDS, _STAT_SKIPS, _STAT_MONEY, _STAT_JOKERS, _STAT_HANDS, _STAT_STEPS,
    _STAT_BEST_HAND, _STAT_HIGHEST_ANTE, _STAT_HIGHEST_HAND, _STAT_SCORE, _STAT_SCORE_LOG10,
) = range(len(STATS))  # fmt: skip

_BLINDS_PER_ANTE = 3
_MOST_RUNS = 4.0  # the progress of an endless run counts up to this many times the way to a win
_SCORE_DIGITS, _MOST_SCORE = 12.0, 2.0  # a hand of 10^12 is worth 1, and nothing is worth more than 2
_LEAST_MONEY, _MOST_MONEY = -20, 100
_MOST_DIGITS = 308.0
_MOST_POINTS = 1e15  # of a run, as a plain number: its square still fits into float32


@njit
def blinds_cleared(g):
    """Blinds beaten in this run."""
    return g.rounds - (1 if g.phase == SELECTING_HAND or g.phase == GAME_OVER else 0)


@njit
def _blinds_beaten(g):
    """Blinds of this ante that were beaten. A beaten boss has already begun the next ante."""
    if g.blind_state[_BLINDS_PER_ANTE - 1] == DEFEATED:
        return 0
    beaten = 0
    for place in range(_BLINDS_PER_ANTE):
        if g.blind_state[place] == DEFEATED:
            beaten += 1
    return beaten


@njit
def progress(g):
    """The way to a win: 0 at the first blind, 1 when the last boss is beaten; the score counts within a blind.

    A skipped blind counts when the boss of its ante is beaten. At once, it would be the easiest progress there is, and
    the first thing learned would be to meet every boss with nothing bought.
    """
    way = np.float64(_BLINDS_PER_ANTE * (g.ante - 1) + _blinds_beaten(g))
    if g.phase == SELECTING_HAND or g.phase == GAME_OVER:
        way += share(g.score, g.requirement)
    return min(_MOST_RUNS, max(-1.0, way / (_BLINDS_PER_ANTE * g.win_ante)))


@njit
def log10_of(points):
    """Digits of a score; finite for every score."""
    return min(_MOST_DIGITS, np.log10(1 + max(0.0, points))) if points == points else _MOST_DIGITS


@njit
def _score_potential(best_hand):
    return min(_MOST_SCORE, log10_of(best_hand) / _SCORE_DIGITS)


@njit
def _money_potential(g):
    return min(_MOST_MONEY, max(_LEAST_MONEY, g.money)) / _MOST_MONEY


@njit
def remember(g, memory):
    """Before a step: keeps in `memory`, (MEMORY,) float64, what the terms compare with."""
    memory[_WIN] = 1.0 if g.won else 0.0
    memory[_LOSE] = 0.0
    memory[_BLIND] = blinds_cleared(g)
    memory[_PROGRESS] = progress(g)
    memory[_SCORE] = g.best_hand
    memory[_MONEY] = _money_potential(g)


@njit
def write(g, memory, ended, weights, discount, out):
    """After it: the weighted terms into `out`, (TERMS,) float32. `ended`: the run is over, won or lost."""
    out[_WIN] = weights[_WIN] * ((1.0 if g.won else 0.0) - memory[_WIN])
    out[_LOSE] = -weights[_LOSE] if ended and not g.won else 0.0
    out[_BLIND] = weights[_BLIND] * (blinds_cleared(g) - memory[_BLIND])
    out[_PROGRESS] = weights[_PROGRESS] * (progress(g) - memory[_PROGRESS])
    out[_SCORE] = 0.0
    if g.best_hand != memory[_SCORE]:  # rarely, and logarithms are dear
        out[_SCORE] = weights[_SCORE] * (_score_potential(g.best_hand) - _score_potential(memory[_SCORE]))
    following = 0.0 if ended else discount * _money_potential(g)
    out[_MONEY] = weights[_MONEY] * (following - memory[_MONEY])


@njit
def points_gained(g, before):
    """Points of the hand that was just played; `before` was the score of the round. A new round starts at 0."""
    return g.score - before if g.score > before else 0.0


@njit
def write_stats(g, points, out):
    """The statistics of a run into `out`, (STATS,); `points` of all its hands.

    Two measures of the score: plain, as people compare runs, and in digits, whose mean over many runs is not that of
    the one with the largest hand.
    """
    out[_STAT_WON] = 1.0 if g.won else 0.0
    out[_STAT_ANTE] = g.ante
    out[_STAT_BLINDS] = blinds_cleared(g)
    out[_STAT_ROUNDS] = g.rounds
    out[_STAT_SKIPS] = g.skips
    out[_STAT_MONEY] = g.money
    out[_STAT_JOKERS] = g.joker_count
    out[_STAT_HANDS] = g.hands_played
    out[_STAT_STEPS] = g.steps
    out[_STAT_BEST_HAND] = log10_of(g.best_hand)
    out[_STAT_HIGHEST_ANTE] = g.ante
    out[_STAT_HIGHEST_HAND] = log10_of(g.best_hand)
    out[_STAT_SCORE] = min(_MOST_POINTS, points) if points == points else _MOST_POINTS
    out[_STAT_SCORE_LOG10] = log10_of(points)
