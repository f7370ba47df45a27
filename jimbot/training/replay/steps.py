"""What a memory is given: one step of every game of a batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Steps(NamedTuple):
    """What was seen and legal, what was done, what came of it; a row is a game."""

    observation: np.ndarray
    legal_mask: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
