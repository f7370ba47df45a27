"""What BC and MARWIL learn from: datasets of `jimbot record`, handed to RLlib batch by batch.

RLlib reads its own files through Ray Data, in further processes. Ours are already in the right form, shuffled in
constant memory by the reader that `jimbot clone` uses, so they go straight to the learner.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch

from jimbot.games.spec import GameSpec
from jimbot.training.imitation.batches import Batch, Batches
from jimbot.training.imitation.dataset import Dataset
from jimbot.training.ray.games import MASK, OBSERVATION
from jimbot.training.reward_transform import transform_reward

VALIDATION = 0.05  # of the games; held back, as by `jimbot clone`


class RecordedDecisions:
    """RLlib's OfflineData over one of our datasets: endless epochs of shuffled decisions."""

    def __init__(
        self, config: Any, *, path: Path, spec: GameSpec, gamma: float, reward_transform: str, seed: int, start: int = 0
    ) -> None:
        """`start`: decisions learned from so far; a continued run goes on with an epoch of its own."""
        self.dataset = Dataset.open(path, spec)
        reward = transform_reward(reward_transform, self.dataset.reward)
        luck = int(np.random.SeedSequence([seed, start]).generate_state(1)[0])
        self.batches = Batches(self.dataset, reward, gamma, VALIDATION, luck, probabilities=False)
        self.iter_batches_kwargs: dict[str, Any] = {}
        self._epoch = 0
        self._size = 0
        self._coming: Iterator[Batch] = iter(())

    def sample(self, num_samples: int, return_iterator: bool = False, num_shards: int = 1, **kwargs: Any) -> Any:
        size = min(num_samples, self.batches.train_rows)
        batch = next(self._coming, None) if size == self._size else None
        if batch is None:
            self._coming, self._size = self.batches.train(self._epoch, size), size
            self._epoch += 1
            batch = next(self._coming)
        columns = SampleBatch({
            Columns.OBS: {OBSERVATION: torch.as_tensor(batch.observation), MASK: torch.as_tensor(batch.legal_mask)},
            Columns.ACTIONS: torch.as_tensor(np.asarray(batch.action, np.int64)),
            Postprocessing.VALUE_TARGETS: torch.as_tensor(batch.target),
        })  # fmt: skip
        return MultiAgentBatch({DEFAULT_MODULE_ID: columns}, env_steps=size)
