"""The losses of the torch learners (sb3, ray), all under the mask.

PPO's is the JAX learner's line by line (`jax_ppo/update.py`): equal parameters and an equal batch give an equal loss
and equal gradients on all of them, which a test holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jimbot.policies import torch_masking as masking
from jimbot.policies.torch_masking import torch
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
    reference: Tensor | None = None  # (B, A) float32, log-probabilities of the policy that init_kl pulls to


class Weights(NamedTuple):
    """What the parts of a loss count; `vf_coef` weighs half the squared error."""

    clip_eps: float
    vf_coef: float
    ent_coef: float
    anchor: float = 0.0  # to the reference, where there is one


class Look(NamedTuple):
    """What a network says about samples, all (B,)."""

    log_probability: Tensor  # of what was done
    value: Tensor
    entropy: Tensor
    every: Tensor | None = None  # (B, A) log-probabilities of all actions, for a anchor to a reference


def look(network: TorchNetwork, batch: Samples) -> Look:
    logits, value = network(batch.observation)
    log_probability = masking.log_probabilities(logits, batch.legal_mask)
    chosen = masking.of_action(log_probability, batch.action)
    return Look(chosen, value, masking.entropy(log_probability, batch.legal_mask), log_probability)


def _init_kl(weights: Weights, batch: Samples, log_probability: Tensor | None) -> dict[str, Tensor]:
    """Mean divergence of the reference from the policy, over legal actions; nothing without a reference."""
    if batch.reference is None or log_probability is None:
        return {}
    if weights.anchor == 0:
        return {"train/init_kl": log_probability.new_zeros(())}
    difference = torch.where(batch.legal_mask, batch.reference - log_probability, 0.0)
    return {"train/init_kl": (masking.probabilities(batch.reference, batch.legal_mask) * difference).sum(dim=-1).mean()}


def normalised(advantage: Tensor) -> Tensor:
    """With mean 0 and spread 1 over the minibatch."""
    return (advantage - advantage.mean()) / (advantage.std(correction=0) + 1e-8)


def ppo_loss(
    network: TorchNetwork, weights: Weights, batch: Samples, normalise: bool = True
) -> tuple[Tensor, dict[str, Tensor]]:
    """Clipped policy loss, squared value error, masked entropy bonus. `normalise` False: the advantages are already,
    over the minibatch this batch is a piece of."""
    return ppo_loss_of(look(network, batch), weights, batch, normalise)


def ppo_loss_of(
    seen: Look, weights: Weights, batch: Samples, normalise: bool = True
) -> tuple[Tensor, dict[str, Tensor]]:
    """The same for a network that was already asked."""
    log_ratio = seen.log_probability - batch.log_probability
    ratio = torch.exp(log_ratio)
    advantage = normalised(batch.advantage) if normalise else batch.advantage
    clipped = torch.clamp(ratio, 1 - weights.clip_eps, 1 + weights.clip_eps)
    loss, metrics = _whole_loss(-torch.minimum(ratio * advantage, clipped * advantage).mean(), seen, weights, batch)
    return loss, {
        **metrics,
        "train/approx_kl": (ratio - 1 - log_ratio).mean(),
        "train/clip_frac": ((ratio - 1).abs() > weights.clip_eps).float().mean(),
    }


def a2c_loss(
    network: TorchNetwork, weights: Weights, batch: Samples, normalise: bool = False
) -> tuple[Tensor, dict[str, Tensor]]:
    """The plain policy gradient on fresh experience; advantages as they are."""
    seen = look(network, batch)
    return _whole_loss(-(batch.advantage * seen.log_probability).mean(), seen, weights, batch)


def _whole_loss(pg_loss: Tensor, seen: Look, weights: Weights, batch: Samples) -> tuple[Tensor, dict[str, Tensor]]:
    """The policy's loss with what both learners add to it: value error, entropy, the anchor to a reference."""
    anchored = _init_kl(weights, batch, seen.every)
    value_loss = 0.5 * ((seen.value - batch.target) ** 2).mean()
    entropy = seen.entropy.mean()
    loss = pg_loss + weights.vf_coef * value_loss - weights.ent_coef * entropy
    loss = loss + weights.anchor * sum(anchored.values())
    return loss, {
        "train/loss": loss,
        "train/pg_loss": pg_loss,
        "train/value_loss": value_loss,
        "train/entropy": entropy,
        **anchored,
    }


class Remembered(NamedTuple):
    """A minibatch of remembered steps."""

    observation: Tensor  # (B, D) float32
    legal_mask: Tensor  # (B, A) bool
    action: Tensor  # (B,) int64
    reward: Tensor  # (B,) float32, over all steps up to `next_observation`
    discount: Tensor  # (B,) float32, of what follows; 0 where the game terminated
    next_observation: Tensor  # (B, D) float32
    next_legal_mask: Tensor  # (B, A) bool
    weight: Tensor  # (B,) float32, what the step counts (prioritised replay); 1 without priorities
    index: np.ndarray | None = None  # (B,) which steps they are, for new priorities


def action_values(network: TorchNetwork, observation: Tensor, legal_mask: Tensor) -> Tensor:
    """(N, A). A duelling network's value is the mean over the legal actions; illegal ones must not move it."""
    logits, value = network(observation)
    return masking.duelling(logits, value, legal_mask) if network.description.get("duelling") else logits


def dqn_loss(
    network: TorchNetwork, target: TorchNetwork, batch: Remembered, double_q: bool = False
) -> tuple[Tensor, dict[str, Tensor], Tensor]:
    """Huber loss to the n-step target; the best following action is sought among the legal ones only, by the network
    itself if `double_q`, else by the target network. Also returns the errors (B,), which become priorities."""
    with torch.no_grad():
        following = action_values(target, batch.next_observation, batch.next_legal_mask)
        chooser = action_values(network, batch.next_observation, batch.next_legal_mask) if double_q else following
        best = torch.where(batch.next_legal_mask, chooser, -torch.inf).argmax(dim=1)
        wanted = batch.reward + batch.discount * masking.of_action(following, best)
    value = masking.of_action(action_values(network, batch.observation, batch.legal_mask), batch.action)
    each = torch.nn.functional.smooth_l1_loss(value, wanted, reduction="none")
    loss = (batch.weight * each).mean()
    return loss, {"train/loss": loss, "train/q_value": value.mean()}, (value - wanted).detach()
