"""Sequential halving: the better half of the moves is tried again, twice as often, until one is left to judge.

Every move is tried in the same worlds as the policy's own move, so luck that both share cancels out and the difference
between the two is what counts. The policy's own move is never dropped: it is what the others are compared with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Candidates:
    """The moves of one decision and what trying them brought; move 0 is the policy's own."""

    actions: np.ndarray  # (k,) int64
    log_probabilities: np.ndarray  # (k,) float64
    alive: list[int]
    returns: list[list[float]] = field(default_factory=list)  # per move, in the order of the worlds

    @classmethod
    def of(cls, probabilities: np.ndarray, own: int, count: int) -> Candidates:
        """The `count` most probable moves, the policy's own first."""
        likely = np.argsort(-probabilities, kind="stable")[:count]
        likely = likely[(probabilities[likely] > 0) & (likely != own)][: count - 1]
        actions = np.concatenate([[own], likely]).astype(np.int64)
        logs = np.log(np.maximum(probabilities[actions].astype(np.float64), 1e-12))
        return cls(actions, logs, list(range(len(actions))), [[] for _ in actions])

    def gain(self, move: int, prior: float) -> tuple[float, float]:
        """By how much a move is better than the policy's own, and the standard error of that."""
        many = len(self.returns[move])
        difference = np.array(self.returns[move]) - np.array(self.returns[0][:many])
        error = float(difference.std(ddof=1)) / math.sqrt(many) if many > 1 else math.inf
        return float(difference.mean()) + prior * float(self.log_probabilities[move] - self.log_probabilities[0]), error

    def drop_half(self, prior: float) -> None:
        """Goes on with the better half of the other moves."""
        others = sorted(self.alive[1:], key=lambda move: -self.gain(move, prior)[0])
        self.alive = [0, *others[: max(1, len(others) // 2)]]

    def verdict(self, margin: float, prior: float) -> tuple[int, float, float]:
        """(move to take, its gain, the gain's standard error)."""
        best = max(self.alive[1:], key=lambda move: self.gain(move, prior)[0])
        gain, error = self.gain(best, prior)
        return (best, gain, error) if gain > margin * error else (0, 0.0, error)


def rounds_of(candidates: int) -> int:
    """Rounds until one other move is left.

    >>> [rounds_of(k) for k in (2, 3, 5, 9)]
    [1, 2, 3, 4]
    """
    return max(1, math.ceil(math.log2(max(1, candidates - 1))) + 1)


def worlds_of(rollouts: int, rounds: int, alive: int) -> int:
    """Worlds in which each move still alive is tried in a round, of a budget for all rounds."""
    return max(1, rollouts // (rounds * alive))
