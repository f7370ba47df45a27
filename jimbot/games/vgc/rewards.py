"""Rewards and episode statistics from the raw counters beside every row.

Everything but the win is a potential: a weight times how much better one stands than the opponent. A step pays what the
potential gained (discounted as the learner discounts), and the end of a battle takes it back, so the shaping guides
learning and cannot change which play is best. A battle that is cut off keeps its potential: the learner goes on from
there by the value of the position, which counts from that potential too.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.vgc.wire import COUNTERS

TERMS = ("win", "faint", "hp", "status")
SHAPING = ("faint", "hp", "status")
STATS = ("won", "tied", "turns", "decisions", "fainted", "knock_outs", "refused")
PRESETS: dict[str, tuple[float, ...]] = {
    "shaped": (1.0, 0.15, 0.1, 0.03),
    "win": (1.0, 0.0, 0.0, 0.0),
}
"""Weights of the terms; a full lead in knock-outs or HP (four Pokémon) is worth four times its weight."""

_AT = {name: place for place, name in enumerate(COUNTERS)}


def _lead(counters: np.ndarray, better: str, worse: str, unit: float) -> np.ndarray:
    return (counters[:, _AT[better]] - counters[:, _AT[worse]]) / unit


def potential(counters: np.ndarray) -> np.ndarray:
    """(n, K) float32: how one stands, per term; the win has no potential."""
    found = np.zeros((len(counters), len(TERMS)), np.float32)
    counters = counters.astype(np.float32)
    found[:, 1] = _lead(counters, "foe_fainted", "own_fainted", 1.0)
    found[:, 2] = _lead(counters, "own_hp", "foe_hp", 100.0)
    found[:, 3] = _lead(counters, "foe_statuses", "own_statuses", 1.0)
    return found


def step_terms(
    before: np.ndarray, after: np.ndarray, ended: np.ndarray, weights: np.ndarray, discount: float
) -> np.ndarray:
    """(n, K) float32 reward terms of a step between two states of counters; where a battle ended the potential is 0."""
    following = np.where(ended[:, None], 0.0, discount * potential(after))
    terms = (following - potential(before)).astype(np.float32)
    terms[:, 0] = np.where(ended, after[:, _AT["result"]], 0)
    return terms * weights


def stats(counters: np.ndarray) -> np.ndarray:
    """(n, S) float32 statistics of battles that ended."""
    result = counters[:, _AT["result"]]
    columns = [result > 0, result == 0] + [
        counters[:, _AT[name]] for name in ("turn", "decisions", "own_fainted", "foe_fainted", "refused")
    ]
    return np.stack([column.astype(np.float32) for column in columns], axis=1)
