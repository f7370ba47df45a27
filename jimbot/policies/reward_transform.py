"""What a learner makes of a game's rewards, in NumPy or in JAX."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np


def transform_reward(kind: str, reward: Any, xp: ModuleType = np) -> Any:
    """The reward as the learner sees it: sign and order are kept, the huge is tamed.

    >>> [round(float(transform_reward(kind, 99.0)), 1) for kind in ("none", "sqrt", "symlog")]
    [99.0, 9.0, 4.6]
    """
    if kind == "symlog":
        return xp.sign(reward) * xp.log1p(xp.abs(reward))
    if kind == "sqrt":
        return xp.sign(reward) * (xp.sqrt(xp.abs(reward) + 1) - 1)
    return reward
