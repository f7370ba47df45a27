"""From played arms to interactions: what two jokers do together beyond what each does alone, and how sure that is.

Everything is in units of log-score: 0.7 doubles what a hand scores. A player steers towards what the jokers want, so
gains are not simply averaged over the cells (shapes of decks, ways to play): a cell counts the more the better the
build does in it: what is averaged is by what factor the score grows, not its logarithm (`steered`). Two jokers that
want the same deck help each other by that, two that want different ones stand in each other's way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RESAMPLES = 200
TAILS = (2.5, 97.5)


@dataclass(frozen=True)
class Estimate:
    """Strengths with the ends of their intervals of 95 % and their standard errors."""

    strength: np.ndarray  # (N,)
    low: np.ndarray
    high: np.ndarray
    error: np.ndarray


def steered(gains: np.ndarray) -> np.ndarray:
    """(…, C) gains of the cells as one number: the logarithm of the mean factor.

    >>> float(steered(np.log([1.0, 3.0])).round(6)) == float(np.log(2.0).round(6))
    True
    """
    top = gains.max(axis=-1, keepdims=True)
    return top[..., 0] + np.log(np.exp(gains - top).mean(axis=-1))


def resampling(count: int, samples: int, seed: int) -> np.ndarray:
    """(RESAMPLES, C, S) which samples stand for a cell's; with one sample a cell, which cells stand for the cells."""
    rng = np.random.default_rng(seed)
    if samples == 1:
        return rng.integers(0, count, (RESAMPLES, count, 1))
    return rng.integers(0, samples, (RESAMPLES, count, samples))


def _resampled(gains: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """(N, C, S) → (N, R, C) means of cells in every resample."""
    if gains.shape[-1] == 1:
        return gains[:, chosen[:, :, 0], 0]
    cells = np.arange(gains.shape[1])[None, :, None]
    return gains[:, cells, chosen].mean(axis=-1)


def interactions(
    together: np.ndarray, alone: tuple[np.ndarray, ...], signs: tuple[int, ...], chosen: np.ndarray
) -> Estimate:
    """What arms gain beyond others: V(together) + Σ sign · V(other), all gains over nothing held, (N, C, S) each.

    The resamples are the same for all arms, so what chance they share cancels.
    """
    arms, weights = (together, *alone), (1, *signs)
    strength = sum(sign * steered(arm.mean(axis=-1)) for arm, sign in zip(arms, weights, strict=True))
    again = sum(sign * steered(_resampled(arm, chosen)) for arm, sign in zip(arms, weights, strict=True))  # (N, R)
    low, high = np.percentile(again, TAILS, axis=1)
    return Estimate(np.asarray(strength), np.minimum(low, strength), np.maximum(high, strength), np.std(again, axis=1))


def shrunk(strength: np.ndarray, error: np.ndarray) -> np.ndarray:
    """A strength drawn towards zero by what chance would give (the positive part of James and Stein's rule)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = 1.0 - np.where(strength == 0, 1.0, (error / strength) ** 2)
    return strength * np.clip(kept, 0.0, 1.0)
