"""Numbers made small for a network: logarithms that keep the sign and stay finite for every score, even infinite."""

from __future__ import annotations

import math

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit

LARGEST = 10.0  # of every scaled number
_SCORE_SCALE, _COUNT_SCALE = 1 / 8, 1 / 4
_LARGEST_SCORE = math.exp(LARGEST / _SCORE_SCALE)  # about 5e34
# Logarithms of small whole numbers, which is nearly all a game holds: reading one is ten times cheaper than a `log`.
_COUNT_LOG = (np.log1p(np.arange(1024)) * _COUNT_SCALE).astype(np.float32)
_COUNT_LOGS = len(_COUNT_LOG)


@njit
def symlog(value):
    """Scores and requirements: sign × log(1 + size) / 8, so 300 is 0.7 and 10^12 is 3.5."""
    size = abs(value)
    if not size < _LARGEST_SCORE:  # also what is not a number
        size = _LARGEST_SCORE
    scaled = np.log1p(size) * _SCORE_SCALE
    return -scaled if value < 0 else scaled


@njit
def count_log(number):
    """Whole numbers such as money, levels and card counts: sign × log(1 + size) / 4, so 1 is 0.17 and 50 is 1.0."""
    size = abs(number)
    scaled = _COUNT_LOG[size] if size < _COUNT_LOGS else min(LARGEST, np.log1p(np.float64(size)) * _COUNT_SCALE)
    return -scaled if number < 0 else scaled


@njit
def value_log(value):
    """What jokers have grown to, often but not always whole, on the scale of `count_log`."""
    if abs(value) < _COUNT_LOGS and value == np.floor(value):
        return count_log(np.int64(value))
    return max(-LARGEST, min(LARGEST, symlog(value) * (_COUNT_SCALE / _SCORE_SCALE)))


@njit
def share(part, whole):
    """How much of a whole is reached, 0 to 1; 1 if an endless run has lifted both beyond all numbers."""
    if part >= whole:
        return 1.0
    fraction = part / whole
    return fraction if fraction > 0 else 0.0
