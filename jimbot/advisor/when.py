"""Which decisions are worth a question: the policy is not sure, something depends on it, and only so many of all."""

from __future__ import annotations

import math
import threading

import numpy as np

from jimbot.advisor.figures import AdviceFigures
from jimbot.advisor.settings import AdviserSettings
from jimbot.games.entry import GameEntry


class When:
    """Counts decisions and questions; shared by threads."""

    def __init__(self, settings: AdviserSettings, figures: AdviceFigures) -> None:
        self.settings, self._figures = settings, figures
        self._lock = threading.Lock()

    def unsure(
        self, entry: GameEntry, observation: np.ndarray, legal_mask: np.ndarray, probabilities: np.ndarray,
        threshold: float | None = None,
    ) -> np.ndarray:  # fmt: skip
        """(N,) bool: rows whose policy is below the threshold where enough is at stake."""
        limit = self.settings.confidence_threshold if threshold is None else threshold
        wanted = (probabilities.max(axis=1) < limit) & (legal_mask.sum(axis=1) > 1)
        rows = np.flatnonzero(wanted)
        if len(rows) and entry.stakes is not None:
            wanted[rows] = entry.stakes(observation[rows], legal_mask[rows]) >= self.settings.least_stake
        return wanted

    def note(self, decisions: int) -> None:
        """So many decisions were taken, with or without a question."""
        with self._lock:
            self._figures.decisions += decisions

    def claim(self) -> bool:
        """Whether one more question stays within the share of all decisions; it is counted then."""
        with self._lock:
            if self._figures.asked + 1 > math.floor(self.settings.share * self._figures.decisions + 1e-9):
                return False
            self._figures.asked += 1
            return True
