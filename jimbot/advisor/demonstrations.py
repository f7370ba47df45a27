"""What an adviser said about positions of a run: observation, legal moves, the move, and its weight.

Written as a dataset (`training.imitation.dataset`): every answer is a trajectory of its own that was cut off, because
what the move brought is not known. So a clone learns the move and no value from it.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jimbot.errors import DatasetError
from jimbot.games.spec import GameSpec
from jimbot.training.imitation.dataset import TRUNCATED, Dataset, DatasetInfo, writing_dataset

MOST = 4096  # the oldest go first


class Demonstration(NamedTuple):
    """One answer."""

    observation: np.ndarray  # (D,) float32
    legal_mask: np.ndarray  # (A,) bool
    action: int
    weight: float


class Demonstrations:
    """Answers so far; filled by threads, read by the learner."""

    def __init__(self, spec: GameSpec, most: int = MOST) -> None:
        self.spec, self._most = spec, most
        self._known: list[Demonstration] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def add(self, one: Demonstration) -> None:
        with self._lock:
            self._known.append(one)
            del self._known[: -self._most]

    def drawn(self, count: int, luck: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(count, D), (count, A), (count,), (count,): some of them, with their weights; any number of times each."""
        with self._lock:
            known = [self._known[number] for number in luck.integers(0, len(self._known), count)]
        return (
            np.stack([one.observation for one in known]),
            np.stack([one.legal_mask for one in known]),
            np.array([one.action for one in known], np.int32),
            np.array([one.weight for one in known], np.float32),
        )

    def save(self, path: Path, adviser: str, options: dict[str, Any]) -> None:
        """Writes all of them as a dataset, whole or not at all; nothing where there is nothing."""
        with self._lock:
            known = list(self._known)
        if not known:
            return
        count = len(known)
        info = DatasetInfo.for_game(
            self.spec, game_options=options, players=1, policy=adviser, seed=0, weights=True, games=count, rows=count,
            trajectories=count, truncated=count, stats=dict.fromkeys(self.spec.episode_stats, 0.0),
        )  # fmt: skip
        with writing_dataset(path) as writer:
            writer.add_chunk(
                {
                    "observation": np.stack([one.observation for one in known]),
                    "legal_mask": np.stack([one.legal_mask for one in known]),
                    "action": np.array([one.action for one in known], np.int32),
                    "trajectory": np.arange(count, dtype=np.int32),
                    "weight": np.array([one.weight for one in known], np.float32),
                }
            )
            writer.finish(
                info,
                np.zeros(count, np.float32),
                {
                    "seed": np.zeros(count, np.uint64),
                    "return": np.zeros(count, np.float64),
                    "length": np.ones(count, np.int64),
                    "ended": np.full(count, TRUNCATED, np.uint8),
                    "stats": np.zeros((count, len(self.spec.episode_stats)), np.float32),
                },
            )

    def load(self, path: Path) -> None:
        """Takes over what an earlier call of the run was told, if it was told anything."""
        if not path.exists():
            return
        with Dataset.open(path, self.spec) as dataset:
            for number in range(len(dataset.info.chunks)):
                chunk = dataset.chunk(number)
                if chunk.weight is None:
                    raise DatasetError(f"{path} holds no weights; it is no file of advice. Move it away.")
                for row in range(len(chunk.action)):
                    self.add(
                        Demonstration(
                            chunk.observation[row], chunk.legal_mask[row], int(chunk.action[row]),
                            float(chunk.weight[row]),
                        )
                    )  # fmt: skip
