"""What BC and MARWIL learn from: datasets of `jimbot record`, handed to RLlib batch by batch.

RLlib reads its own files through Ray Data, in further processes. Ours are already in the right form, shuffled in
constant memory by the reader that `jimbot clone` uses, so they go straight to the learner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.offline.offline_data import OfflineData
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch

from jimbot.errors import DatasetError
from jimbot.games.contract import game_entry
from jimbot.policies.reward_transform import transform_reward
from jimbot.training.imitation.batches import Batch, Batches
from jimbot.training.imitation.dataset import Dataset
from jimbot.training.ray.games import MASK, OBSERVATION

VALIDATION = 0.05  # of the games; held back, as by `jimbot clone`


class RecordedDecisions(OfflineData):
    """RLlib's OfflineData over one of our datasets, `config.input_`: endless epochs of shuffled decisions."""

    def __init__(self, config: Any) -> None:  # nothing of what RLlib's own does is needed
        told = config.env_config
        self.dataset = Dataset.open(config.input_, game_entry(told["game"]).spec.under(told["options"]))
        if self.dataset.info.labels:
            raise DatasetError(
                f"Dataset {config.input_} holds sets of actions (replays); only `jimbot clone` learns from them."
            )
        reward = transform_reward(told["reward_transform"], self.dataset.reward)
        # `start`: decisions learned from so far; a continued run goes on with epochs of its own.
        luck = int(np.random.SeedSequence([told["seed"], told["start"]]).generate_state(1)[0])
        self.batches = Batches(self.dataset, reward, config.gamma, VALIDATION, luck, probabilities=False)
        self.iter_batches_kwargs: dict[str, Any] = {}
        self._epoch = 0
        self._size = 0
        self._coming: Iterator[Batch] = iter(())

    def sample(
        self, num_samples: int, return_iterator: bool = False, num_shards: int = 1, module_state: Any = None
    ) -> Any:
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
