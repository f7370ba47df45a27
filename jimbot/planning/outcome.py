"""What a plan found, and what planning did and cost so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jimbot.policies.contract import Decision


@dataclass
class PlanReport:
    """What planning did so far."""

    decisions: int = 0
    planned: int = 0
    changed: int = 0
    rollouts: int = 0
    seconds: float = 0.0
    compares: bool = True
    """Whether anything says what would have been played without a plan."""

    def __str__(self) -> str:
        if not self.planned:
            return f"planned none of {self.decisions:,} decisions"
        changed = "" if not self.compares else f", changed {self.changed / self.planned:.0%} of those"
        return (
            f"planned {self.planned / self.decisions:.0%} of {self.decisions:,} decisions{changed}; "
            f"{1000 * self.seconds / self.planned:.0f} ms each, "
            f"{1000 * self.seconds / self.decisions:.0f} ms per decision"
        )


class Plan(NamedTuple):
    """What planning makes of the decisions of a batch."""

    decision: Decision
    """As it is to be played; its probabilities are still the policy's."""
    improved: np.ndarray  # (N, A) float32, the policy in the light of what was tried
    planned: np.ndarray  # (N,) bool, where moves were tried
    simulations: np.ndarray  # (N,) int64
    own: np.ndarray  # (N,) int64, what would have been played without a plan
