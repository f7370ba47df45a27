"""Positions that were told rather than played, as much of a game as a planner looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from jimbot.games.batch_game import BatchGame
from jimbot.games.contract import game_entry


class Standing:
    """The same object for all positions of a game and its options, so that a planner keeps its copies of the game."""

    def __init__(self, game: str, options: Any) -> None:
        self.spec, self.options = game_entry(game).spec, options

    def stand(
        self, snapshots: Sequence[Mapping[str, np.ndarray]], observation: np.ndarray, legal_mask: np.ndarray
    ) -> BatchGame:
        """Now at these positions, one snapshot each; none for a planner that does not need the game."""
        self._snapshot = {
            name: part if part.ndim == 0 else np.concatenate([snapshot[name] for snapshot in snapshots])
            for name, part in (snapshots[0] if snapshots else {}).items()
        }
        self.observation, self.legal_mask = observation, legal_mask
        self.acting = np.ones(len(observation), bool)
        return cast(BatchGame, self)

    def snapshot(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        return {name: part if part.ndim == 0 else part[rows] for name, part in self._snapshot.items()}
