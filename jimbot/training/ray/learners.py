"""RLlib's learners with our losses.

PPO's loss is that of the other learners (`torch_losses`). What RLlib collects becomes the batch in one piece
(`EpisodesToSamples`): its own pipeline handles every step of every episode as a Python object, and adds a step to every
episode that is learned through the network only to be masked out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.dqn.torch.dqn_torch_learner import DQNTorchLearner
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing

from jimbot.policies import torch_masking as masking
from jimbot.training.ray.games import MASK, OBSERVATION
from jimbot.training.ray.modules import seen
from jimbot.training.torch_losses import Look, Samples, Weights, ppo_loss_of

ROWS_AT_ONCE = 4096  # values are asked for so many positions at a time
EXPLAINED = "vf_explained_var"
# Our names of a loss's parts → those RLlib's PPO uses, where it has one.
RLLIB_PARTS = {
    "train/pg_loss": "policy_loss",
    "train/value_loss": "vf_loss",
    "train/entropy": "entropy",
    "train/approx_kl": "mean_kl_loss",
    "train/clip_frac": "clip_frac",
}


class EpisodesToSamples(ConnectorV2):
    """Pieces of episodes → one batch of positions with advantages and value targets, in random order: RLlib shuffles
    between two passes, but takes the first one as the batch comes."""

    def __init__(self, gamma: float, gae_lambda: float) -> None:
        super().__init__(None, None)
        self.gamma, self.gae_lambda = gamma, gae_lambda

    def __call__(
        self, *, rl_module: Any, batch: Any, episodes: list[Any], metrics: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        module = rl_module[DEFAULT_MODULE_ID].unwrapped()
        lengths = [len(episode) for episode in episodes]
        positions = [episode.get_observations(slice(0, len(episode) + 1)) for episode in episodes]
        observation = _joined([position[OBSERVATION] for position in positions])
        values = _values(module, observation)
        reward = np.concatenate([np.asarray(episode.get_rewards(), np.float32) for episode in episodes])
        advantage, kept, start = np.empty_like(reward), [], 0
        for episode, length in zip(episodes, lengths, strict=True):
            done, after = len(kept), values[start + 1 : start + length + 1].copy()
            if episode.is_terminated:
                after[-1] = 0.0
            kept.extend(range(start, start + length))
            here = slice(done, done + length)
            delta = reward[here] + self.gamma * after - values[start : start + length]
            advantage[here] = discounted(delta, self.gamma * self.gae_lambda)
            start += length + 1
        place = next(module.parameters()).device
        rows, order = np.array(kept), torch.randperm(len(kept))
        target = advantage + values[rows]
        if metrics is not None:
            explained = 1 - np.var(target - values[rows]) / max(np.var(target), 1e-12)
            metrics.log_value((DEFAULT_MODULE_ID, EXPLAINED), float(explained), window=1)
        masks = [position[MASK][:-1] for position in positions]
        columns = {
            Columns.ACTIONS: np.concatenate([np.asarray(episode.get_actions()) for episode in episodes]),
            Columns.ACTION_LOGP: _extra(episodes, Columns.ACTION_LOGP),
            Postprocessing.ADVANTAGES: advantage,
            Postprocessing.VALUE_TARGETS: target,
        }
        tensors: dict[str, Any] = {name: torch.as_tensor(value)[order].to(place) for name, value in columns.items()}
        tensors[Columns.OBS] = {
            OBSERVATION: observation[torch.as_tensor(rows)[order]].to(place),
            MASK: torch.as_tensor(np.concatenate(masks))[order].to(place),
        }
        return {DEFAULT_MODULE_ID: tensors}


def discounted(values: np.ndarray, factor: float) -> np.ndarray:
    """Each value plus `factor` times what follows it.

    >>> discounted(np.array([1.0, 0.0, 4.0]), 0.5).tolist()
    [2.0, 2.0, 4.0]
    """
    sums, running = np.empty(len(values), np.float32), 0.0
    for index in range(len(values) - 1, -1, -1):
        running = float(values[index]) + factor * running
        sums[index] = running
    return sums


def _joined(parts: list[np.ndarray]) -> torch.Tensor:
    return torch.as_tensor(np.concatenate(parts))


def _extra(episodes: list[Any], name: str) -> np.ndarray:
    return np.concatenate(
        [np.asarray(episode.get_extra_model_outputs(name, slice(0, len(episode)))) for episode in episodes]
    ).astype(np.float32)


def _values(module: Any, observation: torch.Tensor) -> np.ndarray:
    place = next(module.parameters()).device
    with torch.no_grad():
        parts = [module.network(part.to(place))[1].cpu() for part in observation.split(ROWS_AT_ONCE)]
    return torch.cat(parts).numpy()


class MaskedPPOLearner(PPOTorchLearner):
    """PPO with the loss every learner shares; half the squared error counts, so RLlib's `vf_loss_coeff` is ours."""

    def compute_loss_for_module(self, *, module_id: str, config: Any, batch: Any, fwd_out: Any) -> Any:
        observation, legal = seen(batch)
        log_probability = fwd_out[Columns.ACTION_DIST_INPUTS]
        samples = Samples(
            observation,
            legal,
            batch[Columns.ACTIONS].long(),
            batch[Columns.ACTION_LOGP],
            batch[Postprocessing.ADVANTAGES],
            batch[Postprocessing.VALUE_TARGETS],
        )
        look = Look(
            masking.of_action(log_probability, samples.action),
            fwd_out[Columns.EMBEDDINGS],
            masking.entropy(log_probability, legal),
        )
        entropy_weight: Any = self.entropy_coeff_schedulers_per_module[module_id].get_current_value()
        loss, parts = ppo_loss_of(look, Weights(config.clip_param, config.vf_loss_coeff, entropy_weight), samples)
        minibatches = math.ceil(config.train_batch_size_per_learner / (config.minibatch_size or len(legal)))
        self.metrics.log_dict(
            {theirs: parts[ours].detach() for ours, theirs in RLLIB_PARTS.items()},
            key=module_id,
            window=minibatches * config.num_epochs,  # the mean over all gradient steps of an update
        )
        return loss


class MaskedDQNLearner(DQNTorchLearner):
    """DQN that does not learn from steps cut off by a limit: what would have been legal after them is not known."""

    def compute_loss_for_module(self, *, module_id: str, config: Any, batch: Any, fwd_out: Any) -> Any:
        cut_off = batch[Columns.TRUNCATEDS] & ~batch[Columns.TERMINATEDS]
        batch["weights"] = torch.where(cut_off, 0.0, batch["weights"])
        return super().compute_loss_for_module(module_id=module_id, config=config, batch=batch, fwd_out=fwd_out)
