"""What heuristic players of all games answer; most are certain of their action, and have no opinion of its value."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

Answer = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Actions (N,), probabilities (N, A), values (N,)."""


class HeuristicPlayer(ABC):
    """A player who never draws: the same observation and mask always give the same action."""

    @abstractmethod
    def choose(self, observation: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """(N,) legal actions."""

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Answer:
        legal = np.ascontiguousarray(legal_mask, bool)
        actions = self.choose(np.ascontiguousarray(observation, np.float32), legal)
        probabilities = np.zeros(legal.shape, np.float32)
        probabilities[np.arange(len(actions)), actions] = 1.0
        return actions, probabilities, np.zeros(len(actions), np.float32)
