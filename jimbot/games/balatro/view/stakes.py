"""What depends on a decision: what is bought, picked, sold or skipped stays for the run; a hand is one of a few."""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.encoding.fields import COLUMNS, OBSERVATION
from jimbot.games.balatro.encoding.scaling import count_log
from jimbot.games.balatro.rules.state import PHASE_NAMES

_AT_HAND = OBSERVATION.offsets["phase"] + PHASE_NAMES.index("selecting_hand")
_AT_BLIND = OBSERVATION.offsets["phase"] + PHASE_NAMES.index("blind_select")
_HANDS_LEFT = OBSERVATION.offsets["blind"] + COLUMNS["blind"].index("hands_left")
_MOST_HANDS = 32


def at_blind(observation: np.ndarray) -> np.ndarray:
    """(N,) bool, where the next blind is to be chosen."""
    return observation[:, _AT_BLIND] > 0


def kinds(observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
    """(N,) 1 where a hand is to be played or discarded, 2 where a blind is to be chosen, else 0: shops and packs."""
    return np.where(observation[:, _AT_HAND] > 0, 1, np.where(at_blind(observation), 2, 0))


def stakes(observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
    """(N,) 1 between rounds; with k hands left 1/k."""
    known = np.array([count_log(hands) for hands in range(_MOST_HANDS)])
    left = np.abs(observation[:, _HANDS_LEFT, None] - known).argmin(axis=1)
    return np.where(observation[:, _AT_HAND] > 0, 1 / np.maximum(1, left), 1.0)
