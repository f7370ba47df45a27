"""The one shape of every policy: ONNX, scripted, random or remote.

watch, evaluate, serve and compare know nothing else about what they run.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np


class Decision(NamedTuple):
    """Answers for N rows."""

    actions: np.ndarray  # (N,) int64, legal
    probabilities: np.ndarray  # (N, A) float32, zero where illegal
    values: np.ndarray  # (N,) float32, expected return; zeros where a policy has no opinion


class Policy(Protocol):
    """Anything that can play."""

    name: str

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Decision:
        """Chooses for every row; `key` is the luck used when not deterministic."""
        ...
