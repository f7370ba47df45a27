"""Writes a batch of games that step together into the store: each game is one stream of segments.

Rows wait uncompressed until a segment of every game is full; a learner sees them up to eight steps late.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jimbot.errors import CheckpointError
from jimbot.training.replay.store import SEGMENT_STEPS, TERMINATED, TRUNCATED, ReplayStore, Segments


class Steps(NamedTuple):
    """What was seen and legal, what was done, what came of it; a row is a game."""

    observation: np.ndarray
    legal_mask: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


class LockstepWriter:
    """For `games` rows of a BatchGame."""

    def __init__(self, store: ReplayStore, games: int) -> None:
        self.store, self.games = store, games
        self.waiting = 0  # rows per game that are not in the store yet
        self.previous = np.full(games, -1, np.int64)  # serials of the games' last segments
        shape = (games, SEGMENT_STEPS)
        self._arrays = {
            "rows": np.zeros((*shape, store.row_bytes), np.uint8),
            "action": np.zeros(shape, np.int32),
            "reward": np.zeros(shape, np.float32),
            "flags": np.zeros(shape, np.uint8),
            "boost": np.ones(shape, np.float32),
        }

    def add(self, steps: Steps, boost: np.ndarray | float = 1.0) -> None:
        """`boost` says how rare they are."""
        at, arrays = self.waiting, self._arrays
        ended, cut = steps.terminated.astype(np.uint8), steps.truncated.astype(np.uint8)
        arrays["rows"][:, at] = self.store.pack(steps.observation, steps.legal_mask)
        arrays["action"][:, at], arrays["reward"][:, at] = steps.action, steps.reward
        arrays["flags"][:, at] = TERMINATED * ended | TRUNCATED * cut
        arrays["boost"][:, at] = boost
        self.waiting += 1
        if self.waiting == SEGMENT_STEPS:
            full = np.full(self.games, SEGMENT_STEPS)
            self.previous = self.store.put(Segments(count=full, previous=self.previous, **arrays))
            self.waiting = 0

    @property
    def nbytes(self) -> int:
        """Memory of the rows that wait."""
        return sum(array.nbytes for array in self._arrays.values())

    def arrays(self, games: int | None = None) -> dict[str, np.ndarray]:
        """The rows that wait, for a checkpoint; `games`: only of the first so many."""
        kept = {f"waiting/{name}": array[:games, : self.waiting] for name, array in self._arrays.items()}
        return {**kept, "previous": self.previous[:games]}

    def load_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        waiting = arrays["waiting/action"].shape[-1]
        for name, place in self._arrays.items():
            found = arrays[f"waiting/{name}"]
            if found.shape != place[:, :waiting].shape or waiting >= SEGMENT_STEPS:
                raise CheckpointError(
                    f"The checkpoint remembers {found.shape[0]} games; this run plays {self.games}. "
                    "Give the same num_envs, or start over with --fresh."
                )
            place[:, :waiting] = found
        self.waiting, self.previous = waiting, np.array(arrays["previous"], np.int64)
