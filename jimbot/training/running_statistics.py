"""Running mean and variance, for normalising observations and rewards.

Values and pure arithmetic, so that NumPy (the SB3 learner, in float64) and JAX (inside the compiled update) keep the
same statistics by the same lines, and a checkpoint can hold them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

SMALL = 1e-8
LIMIT = 10.0  # normalised numbers are cut off here


class Moments(NamedTuple):
    """Mean and variance of everything added so far, per entry."""

    mean: Any  # (*shape)
    variance: Any  # (*shape)
    count: Any  # ()


def no_moments(shape: tuple[int, ...] = (), xp: Any = np) -> Moments:
    """Of nothing yet: normalising by them changes nothing."""
    kind = xp.float64 if xp is np else xp.float32
    return Moments(xp.zeros(shape, kind), xp.ones(shape, kind), xp.zeros((), kind))


def merged(old: Moments, mean: Any, variance: Any, count: Any) -> Moments:
    """The moments of two groups together, by the exact formula; the second is given by its own moments."""
    total = old.count + count
    gap = mean - old.mean
    spread = old.count * old.variance + count * variance + gap**2 * old.count * count / total
    return Moments(old.mean + gap * count / total, spread / total, total)


def with_values(old: Moments, values: np.ndarray) -> Moments:
    """The moments after a batch (N, *shape) more."""
    return merged(old, values.mean(axis=0, dtype=np.float64), values.var(axis=0, dtype=np.float64), len(values))


def scale(moments: Moments, xp: Any = np) -> Any:
    """What to multiply by for a spread of 1; entries that never changed are left alone."""
    return xp.where(moments.variance > SMALL, 1 / xp.sqrt(moments.variance + SMALL), 1.0)


def normalisation(observed: Moments, entries: np.ndarray, xp: Any = np) -> dict[str, Any]:
    """The network's `normalize.…` parameters (D,) float32, from what was seen; only `entries` (D,) bool are changed."""
    return {
        "normalize.mean": xp.where(entries, observed.mean, 0.0).astype(np.float32),
        "normalize.scale": xp.where(entries, scale(observed, xp), 1.0).astype(np.float32),
        "normalize.limit": xp.where(entries, LIMIT, np.inf).astype(np.float32),
    }


def moments_of(params: dict[str, np.ndarray], count: int) -> Moments:
    """The statistics a network was given, from its parameters and the number of observations behind them."""
    return Moments(
        np.asarray(params["normalize.mean"], np.float64),
        1 / np.asarray(params["normalize.scale"], np.float64) ** 2,
        np.float64(count),
    )
