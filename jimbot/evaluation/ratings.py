"""Strength of players who met each other: Bradley–Terry ratings with intervals, and the table of who beats whom.

A rating difference d means a score of 1 / (1 + 10^(−d/400)), as in chess; the mean rating is 0. A tie counts half a
win for both. One imaginary tie between every pair that met keeps the ratings of players who never lost finite.
Intervals come from the curvature of the likelihood, so they say how far luck could have moved each rating against
the average of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jimbot.errors import UsageError
from jimbot.evaluation.intervals import z_value

ELO = 400.0 / math.log(10.0)
"""Points per unit of log-odds."""
PRIOR_GAMES = 1.0
_ROUNDS = 100


@dataclass(frozen=True)
class Rating:
    name: str
    points: float
    low: float
    high: float
    games: float


def ratings(names: Sequence[str], scores: np.ndarray, games: np.ndarray) -> list[Rating]:
    """`scores[i, j]`: points player i made against j (win 1, tie ½) in `games[i, j]` games; strongest first."""
    scores, games = np.asarray(scores, float), np.asarray(games, float)
    _check(names, scores, games)
    met = games > 0
    played = games + PRIOR_GAMES * met
    made = scores + 0.5 * PRIOR_GAMES * met
    strength = np.zeros(len(names))
    information = np.zeros((len(names), len(names)))
    for _ in range(_ROUNDS):
        expected = 1.0 / (1.0 + np.exp(strength[None, :] - strength[:, None]))
        slope = (made - played * expected).sum(axis=1)
        weight = played * expected * (1.0 - expected)
        information = np.diag(weight.sum(axis=1)) - weight
        # Ratings are known up to a common shift; the pseudo-inverse takes the one whose mean is 0.
        step = np.linalg.pinv(information, hermitian=True) @ slope
        strength += np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-10:
            break
    spread = z_value() * np.sqrt(np.clip(np.diag(np.linalg.pinv(information, hermitian=True)), 0.0, None))
    found = [
        Rating(name, ELO * value, ELO * (value - around), ELO * (value + around), float(count))
        for name, value, around, count in zip(names, strength, spread, games.sum(axis=1), strict=True)
    ]
    return sorted(found, key=lambda rating: -rating.points)


def expected_score(mine: float, theirs: float) -> float:
    """What a player of `mine` points scores against one of `theirs`."""
    return 1.0 / (1.0 + 10.0 ** ((theirs - mine) / 400.0))


def _check(names: Sequence[str], scores: np.ndarray, games: np.ndarray) -> None:
    shape = (len(names), len(names))
    if len(names) < 2 or scores.shape != shape or games.shape != shape:
        raise UsageError(
            f"Got {len(names)} players with tables of {scores.shape} and {games.shape}; expected two or more players "
            "and square tables of their size."
        )
    if np.diag(games).any() or not np.allclose(games, games.T) or not np.allclose(scores + scores.T, games):
        raise UsageError(
            "The tables of games and scores do not fit: games[i, j] must equal games[j, i] and be the sum of "
            "scores[i, j] and scores[j, i], and nobody meets himself."
        )
    if not _connected(games > 0):
        raise UsageError("Some players never met the others, not even through third ones; let them play first.")


def _connected(met: np.ndarray) -> bool:
    reached = np.zeros(len(met), bool)
    reached[0] = True
    for _ in range(len(met)):
        reached |= met[reached].any(axis=0)
    return bool(reached.all())
