"""A small network that predicts measured interactions from what is known of two jokers, for those nobody measured.

It sees each joker's features (and an embedding where one is given) and joins two by sum, product and difference, so
that the order of the two does not matter. How good it is, is asked of jokers it has never seen (`held_out`): pairs with
an unseen joker are predicted by a network that learned from the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jimbot.knowledge.played import rank_correlation

Pair = tuple[str, str]
WIDTH, EPOCHS, BATCH = 32, 15, 256
_RATE, _DECAY = 3e-3, 1.0
_LEAST_STEPS = 600
_FARTHEST = 4.0  # standard deviations of an input
_LIMIT = 1.5
"""Strengths beyond this teach no more than it."""


@dataclass(frozen=True)
class SynergyNetwork:
    """Two layers over a joined pair."""

    features: Mapping[str, np.ndarray]
    weights: tuple[np.ndarray, ...]
    mean: np.ndarray
    scale: np.ndarray

    def predict(self, pairs: Sequence[Pair]) -> np.ndarray:
        """(N,) strengths."""
        inputs = _scaled(joined(self.features, pairs), self.mean, self.scale)
        return np.clip(_forward(self.weights, inputs)[1], -_LIMIT, _LIMIT)

    def predict_group(self, keys: Sequence[str]) -> float:
        """Of three or more: the sum over their pairs."""
        pairs = [(a, b) for index, a in enumerate(keys) for b in keys[index + 1 :]]
        return float(self.predict(pairs).sum())


def joined(features: Mapping[str, np.ndarray], pairs: Sequence[Pair]) -> np.ndarray:
    """(N, 3F): what two jokers have together, both, and apart."""
    one = np.stack([features[a] for a, _ in pairs])
    other = np.stack([features[b] for _, b in pairs])
    return np.concatenate([one + other, one * other, np.abs(one - other)], axis=1)


def _forward(weights: tuple[np.ndarray, ...], inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, bias, last, offset = weights
    hidden = np.maximum(inputs @ first + bias, 0.0)
    return hidden, hidden @ last + offset


def _scaled(inputs: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """What few jokers have stands out among many; it may not drown the rest."""
    return np.clip((inputs - mean) / scale, -_FARTHEST, _FARTHEST)


def train(features: Mapping[str, Sequence[float]], strengths: Mapping[Pair, float], seed: int = 0) -> SynergyNetwork:
    """Fits measured strengths by Adam on squared errors."""
    arrays = {key: np.asarray(values, float) for key, values in features.items()}
    pairs = sorted(strengths)
    inputs = joined(arrays, pairs)
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0)
    scale = np.where(spread > 1e-6, spread, 1.0)
    inputs = _scaled(inputs, mean, scale)
    targets = np.clip([strengths[pair] for pair in pairs], -_LIMIT, _LIMIT)
    rng = np.random.default_rng(seed)
    width = inputs.shape[1]
    weights = [rng.normal(0, np.sqrt(2 / width), (width, WIDTH)), np.zeros(WIDTH), rng.normal(0, 0.1, WIDTH),
               np.array(targets.mean())]  # fmt: skip
    moments = [(np.zeros_like(weight), np.zeros_like(weight)) for weight in weights]
    batches = max(1, len(pairs) // BATCH)
    epochs = max(EPOCHS, _LEAST_STEPS // batches)
    step = 0
    for epoch in range(epochs):
        rate = _RATE * (1 - epoch / epochs)
        for chosen in np.array_split(rng.permutation(len(pairs)), batches):
            step += 1
            gradients = _gradients(tuple(weights), inputs[chosen], targets[chosen])
            for number, (gradient, (first, second)) in enumerate(zip(gradients, moments, strict=True)):
                first += 0.1 * (gradient - first)
                second += 0.001 * (gradient**2 - second)
                size = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
                weights[number] = weights[number] - rate * (size + _DECAY * weights[number])
    return SynergyNetwork(arrays, tuple(weights), mean, scale)


def _gradients(weights: tuple[np.ndarray, ...], inputs: np.ndarray, targets: np.ndarray) -> list[np.ndarray]:
    hidden, predicted = _forward(weights, inputs)
    error = 2 * (predicted - targets) / len(targets)
    back = np.outer(error, weights[2]) * (hidden > 0)
    return [inputs.T @ back, back.sum(axis=0), hidden.T @ error, np.array(error.sum())]


def held_out(
    features: Mapping[str, Sequence[float]], strengths: Mapping[Pair, float], folds: int = 5, seed: int = 0
) -> dict[str, Any]:
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
            predicted.append(train(features, known, seed + fold).predict(asked))
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
