"""What scripted players of all games answer: they are certain of their action, and have no opinion of its value."""

from __future__ import annotations

import numpy as np

Answer = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Actions (N,), probabilities (N, A), values (N,)."""


def certain(actions: np.ndarray, legal: np.ndarray) -> Answer:
    """The answer of a player who would do nothing else."""
    probabilities = np.zeros(legal.shape, np.float32)
    probabilities[np.arange(len(actions)), actions] = 1.0
    return actions, probabilities, np.zeros(len(actions), np.float32)
