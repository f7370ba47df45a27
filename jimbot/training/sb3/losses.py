"""The losses of the three algorithms, all under the mask.

PPO's is the JAX learner's line by line (`jax_ppo/update.py`): equal parameters and an equal batch give an equal loss
and equal gradients on both, which a test holds.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from jimbot.policies import torch_masking as masking
from jimbot.policies.torch_networks import TorchNetwork

Tensor = torch.Tensor


class Samples(NamedTuple):
    """A minibatch of what was played."""

    observation: Tensor  # (B, D) float32
    legal_mask: Tensor  # (B, A) bool
    action: Tensor  # (B,) int64
    log_probability: Tensor  # (B,) float32, of the action when it was chosen
    advantage: Tensor  # (B,) float32
    target: Tensor  # (B,) float32, what the value should have been


class Weights(NamedTuple):
    """What the parts of a loss count; `vf_coef` weighs half the squared error."""

    clip_eps: float
    vf_coef: float
    ent_coef: float


def _look(network: TorchNetwork, batch: Samples) -> tuple[Tensor, Tensor, Tensor]:
    """(log-probability of what was done, value, entropy), all (B,)."""
    logits, value = network(batch.observation)
    log_probability = masking.log_probabilities(logits, batch.legal_mask)
    return (
        masking.of_action(log_probability, batch.action),
        value,
        masking.entropy(log_probability, batch.legal_mask),
    )


def ppo_loss(network: TorchNetwork, weights: Weights, batch: Samples) -> tuple[Tensor, dict[str, Tensor]]:
    """Clipped policy loss, squared value error, masked entropy bonus."""
    log_probability, value, entropy = _look(network, batch)
    log_ratio = log_probability - batch.log_probability
    ratio = torch.exp(log_ratio)
    advantage = (batch.advantage - batch.advantage.mean()) / (batch.advantage.std(correction=0) + 1e-8)
    clipped = torch.clamp(ratio, 1 - weights.clip_eps, 1 + weights.clip_eps)
    pg_loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
    value_loss = 0.5 * ((value - batch.target) ** 2).mean()
    loss = pg_loss + weights.vf_coef * value_loss - weights.ent_coef * entropy.mean()
    return loss, {
        "train/loss": loss,
        "train/pg_loss": pg_loss,
        "train/value_loss": value_loss,
        "train/entropy": entropy.mean(),
        "train/approx_kl": (ratio - 1 - log_ratio).mean(),
        "train/clip_frac": ((ratio - 1).abs() > weights.clip_eps).float().mean(),
    }


def a2c_loss(network: TorchNetwork, weights: Weights, batch: Samples) -> tuple[Tensor, dict[str, Tensor]]:
    """The plain policy gradient on fresh experience; advantages as they are."""
    log_probability, value, entropy = _look(network, batch)
    pg_loss = -(batch.advantage * log_probability).mean()
    value_loss = 0.5 * ((value - batch.target) ** 2).mean()
    loss = pg_loss + weights.vf_coef * value_loss - weights.ent_coef * entropy.mean()
    return loss, {
        "train/loss": loss,
        "train/pg_loss": pg_loss,
        "train/value_loss": value_loss,
        "train/entropy": entropy.mean(),
    }


class Remembered(NamedTuple):
    """A minibatch of remembered steps."""

    observation: Tensor  # (B, D) float32
    action: Tensor  # (B,) int64
    reward: Tensor  # (B,) float32
    terminated: Tensor  # (B,) bool
    next_observation: Tensor  # (B, D) float32
    next_legal_mask: Tensor  # (B, A) bool


def dqn_loss(
    network: TorchNetwork, target: TorchNetwork, gamma: float, batch: Remembered
) -> tuple[Tensor, dict[str, Tensor]]:
    """Huber loss to the one-step target; the best following action is sought among the legal ones only."""
    with torch.no_grad():
        following = torch.where(batch.next_legal_mask, target(batch.next_observation)[0], -torch.inf).amax(dim=1)
        wanted = batch.reward + gamma * torch.where(batch.terminated, 0.0, following)
    value = masking.of_action(network(batch.observation)[0], batch.action)
    loss = torch.nn.functional.smooth_l1_loss(value, wanted)
    return loss, {"train/loss": loss, "train/q_value": value.mean()}
