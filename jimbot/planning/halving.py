"""Gumbel-style root search: moves drawn without replacement, sequential halving between them, an improved policy.

Looked at are the moves with the largest log π + g. Without noise (g = 0) these are the policy's most probable ones;
with Gumbel noise they are a sample of it without replacement (Danihelka and others 2022, "Policy improvement by
planning with Gumbel"). The better half of them is tried again, twice as often, until one is left to judge.

Every move is tried in the same worlds as the policy's own move, so luck that both share cancels out and the difference
between the two is what counts. The policy's own move is never dropped: it is what the others are compared with.

σ(q), which turns what a move brought into log-probability, is its gain in standard errors: no constant depends on the
size of a game's rewards, and a plan of few tries moves the policy little. Moves that were not tried have gain 0, as if
they were worth what the policy plays on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

MOST_NATS = 5.0  # by which trying moves out changes a log-probability at most
HOPELESS, WORLDS_ENOUGH = 2.0, 4  # standard errors below the policy's own move, in so many worlds: given up
_LEAST = 1e-12


@dataclass
class Candidates:
    """The moves of one decision and what trying them brought; move 0 is the policy's own."""

    actions: np.ndarray  # (k,) int64
    log_probabilities: np.ndarray  # (k,) float64
    alive: list[int]
    returns: list[list[float]] = field(default_factory=list)  # per move, in the order of the worlds
    noise: np.ndarray | None = None  # (k,) float64

    @classmethod
    def of(cls, probabilities: np.ndarray, own: int, count: int, noise: np.ndarray | None = None) -> Candidates:
        """The `count` moves with most log π + noise, the policy's own first."""
        logs = np.log(np.maximum(probabilities.astype(np.float64), _LEAST))
        likely = np.argsort(-(logs if noise is None else logs + noise), kind="stable")
        likely = likely[(probabilities[likely] > 0) & (likely != own)][: count - 1]
        actions = np.concatenate([[own], likely]).astype(np.int64)
        drawn = None if noise is None else noise[actions]
        return cls(actions, logs[actions], list(range(len(actions))), [[] for _ in actions], drawn)

    def gain(self, move: int, prior: float) -> tuple[float, float]:
        """By how much a move is better than the policy's own, and the standard error of that."""
        many = len(self.returns[move])
        difference = np.array(self.returns[move]) - np.array(self.returns[0][:many])
        error = float(difference.std(ddof=1)) / math.sqrt(many) if many > 1 else math.inf
        return float(difference.mean()) + prior * float(self.log_probabilities[move] - self.log_probabilities[0]), error

    def drop_half(self, prior: float) -> None:
        """Goes on with the better half of the other moves, without those that are clearly worse than the policy's own:
        where none is left nothing more need be tried."""
        others = sorted(self.alive[1:], key=lambda move: -self.gain(move, prior)[0])
        better = others[: max(1, len(others) // 2)]
        self.alive = [0, *(move for move in better if not self._hopeless(move, prior))]

    def _hopeless(self, move: int, prior: float) -> bool:
        gain, error = self.gain(move, prior)
        return len(self.returns[move]) >= WORLDS_ENOUGH and gain + HOPELESS * error < 0

    def verdict(self, margin: float, prior: float, least: float = 0.0) -> tuple[int, float, float]:
        """(move to take, its gain, the gain's standard error)."""
        if self.noise is not None:
            return self._drawn()
        if len(self.alive) == 1:
            return 0, 0.0, math.inf
        best = max(self.alive[1:], key=lambda move: self.gain(move, prior)[0])
        gain, error = self.gain(best, prior)
        needed = max(least, margin * error if margin else 0.0)  # without a margin one world will do
        return (best, gain, error) if gain > needed else (0, 0.0, error)

    def nats(self) -> np.ndarray:
        """(k,) float64, σ(q): how much more likely trying makes each move."""
        found = np.zeros(len(self.actions))
        for move in range(1, len(found)):
            gain, error = self.gain(move, 0.0) if self.returns[move] else (0.0, math.inf)
            found[move] = math.copysign(MOST_NATS, gain) if error == 0.0 and gain else gain / max(error, _LEAST)
        return np.clip(found, -MOST_NATS, MOST_NATS)

    def improved(self, probabilities: np.ndarray) -> np.ndarray:
        """(A,) float32, the policy in the light of what was tried: softmax(log π + σ(q))."""
        nats = self.nats()
        weights = probabilities.astype(np.float64)
        weights[self.actions] = np.maximum(weights[self.actions], _LEAST) * np.exp(nats - nats.max())
        untried = np.ones(len(weights), bool)
        untried[self.actions] = False
        weights[untried] *= math.exp(-nats.max())
        return (weights / weights.sum()).astype(np.float32)

    def _drawn(self) -> tuple[int, float, float]:
        """The move of the noise: a sample of the improved policy, as far as it was looked at."""
        assert self.noise is not None
        scores = self.noise + self.log_probabilities + self.nats()
        best = max(self.alive, key=lambda move: scores[move])
        return (best, *self.gain(best, 0.0))


def rounds_of(candidates: int) -> int:
    """Rounds until one other move is left.

    >>> [rounds_of(k) for k in (2, 3, 5, 9)]
    [1, 2, 3, 4]
    """
    return max(1, math.ceil(math.log2(max(1, candidates - 1))) + 1)


def worlds_of(rollouts: int, rounds: int, alive: int) -> int:
    """Worlds in which each move still alive is tried in a round, of a budget for all rounds."""
    return max(1, rollouts // (rounds * alive))
