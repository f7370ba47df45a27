"""A small network that predicts measured interactions from what is known of two jokers, for those nobody measured.

Its first layer has one radial unit per joker it learned from: how much another joker looks like this one, by features
and by what each does alone. Its second layer joins the two sides by one matrix, φ(a)ᵀ W φ(b), so that the order of the
two does not matter and what is learned of a joker counts with all partners at once. W is the ridge solution, in closed
form: nothing is random and there is nothing to tune while it learns. It learns the roots of strengths, signs kept: most
pairs do little together, and a few strong ones would drown what tells those apart. How good it is, is asked of jokers
it has never seen (`held_out`): pairs with an unseen joker are predicted by a network that learned from the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jimbot.knowledge.played import rank_correlation

Pair = tuple[str, str]
Blocks = Sequence[Mapping[str, Sequence[float]]]
"""What is known of every joker, in groups of numbers that weigh the same whatever their size."""
RIDGE = 0.3
"""Of jokers it has not seen; those it learned from need less."""
SEEN_SHARE = 0.1
_WIDTH = 0.5
"""Of a unit: squared distance over the median one, at which likeness falls to 1/e."""
_FILLS = 8
_FARTHEST = 4.0  # standard deviations of an input
_LIMIT = 1.5
"""Strengths beyond this teach no more than it."""


@dataclass(frozen=True)
class SynergyNetwork:
    """What it learned from, and the roots of the strengths between them."""

    inputs: Mapping[str, np.ndarray]
    units: tuple[str, ...]
    mean: float
    strengths: np.ndarray  # (units, units), those that nobody measured filled in
    scale: float
    """The median squared distance."""

    def predict(self, pairs: Sequence[Pair]) -> np.ndarray:
        """(N,) strengths."""
        if not pairs:
            return np.zeros(0)
        keys = sorted({key for pair in pairs for key in pair})
        place, sides = {key: number for number, key in enumerate(keys)}, self._sides(keys)
        one, other = (sides[[place[pair[side]] for pair in pairs]] for side in (0, 1))
        roots = self.mean + ((one @ self.strengths) * other).sum(axis=1)
        return np.clip(np.sign(roots) * roots**2, -_LIMIT, _LIMIT)

    def _sides(self, keys: Sequence[str]) -> np.ndarray:
        """(keys, units): how much every unit has to say about each joker."""
        units = np.stack([self.inputs[unit] for unit in self.units])
        likeness = _likeness(np.stack([self.inputs[key] for key in keys]), units, self.scale)
        among, even = _likeness(units, units, self.scale), np.eye(len(units))
        seen, unseen = (np.linalg.solve(among + ridge * even, likeness.T).T for ridge in (SEEN_SHARE * RIDGE, RIDGE))
        return np.where(np.isin(keys, self.units)[:, None], seen, unseen)


def train(blocks: Blocks, strengths: Mapping[Pair, float]) -> SynergyNetwork:
    """Fits measured strengths."""
    inputs = _inputs(blocks)
    units = tuple(sorted({key for pair in strengths for key in pair}))
    place = {key: number for number, key in enumerate(units)}
    rows = np.stack([inputs[key] for key in units])
    apart = _apart(rows, rows)
    scale = float(np.median(apart[apart > 1e-12])) if (apart > 1e-12).any() else 1.0
    table, known = np.zeros((len(units), len(units))), np.zeros((len(units), len(units)), np.bool_)
    roots = {pair: _root(value) for pair, value in strengths.items()}
    mean = float(np.mean(list(roots.values())))
    for (a, b), value in roots.items():
        for one, other in ((place[a], place[b]), (place[b], place[a])):
            table[one, other], known[one, other] = value - mean, True
    likeness = _likeness(rows, rows, scale)
    smooth = likeness @ np.linalg.inv(likeness + RIDGE * np.eye(len(units)))
    for _ in range(_FILLS):  # a joker with itself, and whatever was not measured, is what the rest says about it
        table = np.where(known, table, smooth @ table @ smooth.T)
    return SynergyNetwork(inputs, units, mean, table, scale)


def _root(strength: float) -> float:
    """
    >>> _root(-0.25)
    -0.5
    """
    return float(np.sign(strength) * np.sqrt(min(abs(strength), _LIMIT)))


def _inputs(blocks: Blocks) -> dict[str, np.ndarray]:
    """Every joker as one row: each group of numbers scaled to spread 1, and all groups to the same weight.

    What few jokers have stands out among many; it may not drown the rest.
    """
    keys = sorted(set.intersection(*(set(block) for block in blocks)))
    scaled = []
    for block in blocks:
        values = np.array([block[key] for key in keys], float)
        spread = values.std(axis=0)
        values = (values - values.mean(axis=0)) / np.where(spread > 1e-6, spread, 1.0)
        scaled.append(np.clip(values, -_FARTHEST, _FARTHEST) / np.sqrt(values.shape[1]))
    return dict(zip(keys, np.concatenate(scaled, axis=1), strict=True))


def _apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Squared distances (N, M)."""
    squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)[None] - 2.0 * one @ other.T
    return np.maximum(squares, 0.0)


def _likeness(one: np.ndarray, other: np.ndarray, scale: float) -> np.ndarray:
    return np.exp(-_apart(one, other) / (2.0 * _WIDTH * scale))


def held_out(blocks: Blocks, strengths: Mapping[Pair, float], folds: int = 5, seed: int = 0) -> dict[str, Any]:
    """R² and ranking of pairs with a joker the network has never seen."""
    keys = sorted({key for pair in strengths for key in pair})
    shuffled = np.random.default_rng(seed).permutation(len(keys))
    unseen = {keys[place]: number % folds for number, place in enumerate(shuffled)}
    predicted: list[np.ndarray] = []
    true: list[np.ndarray] = []
    for fold in range(folds):
        known = {pair: value for pair, value in strengths.items() if fold not in {unseen[key] for key in pair}}
        asked = sorted(pair for pair in strengths if fold in {unseen[key] for key in pair})
        if known and asked:
            predicted.append(train(blocks, known).predict(asked))
            true.append(np.clip([strengths[pair] for pair in asked], -_LIMIT, _LIMIT))
    guess, truth = np.concatenate(predicted), np.concatenate(true)
    top = truth >= np.quantile(truth, 0.9)
    chosen = guess >= np.quantile(guess, 0.9)
    return {
        "pairs": len(truth),
        "r2": float(1 - ((guess - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()),
        "rank_correlation": rank_correlation(guess, truth),
        "top_tenth_found": float((top & chosen).sum() / max(1, top.sum())),
    }
