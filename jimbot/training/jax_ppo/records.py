"""What PPO's stages hand to each other: plain records of arrays, each with its shape."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jimbot.policies.jax_networks import JaxNetwork, Params
from jimbot.training.session.log_rows import Measured

Array = Any  # jax.Array, or np.ndarray where a game is stepped from Python


class Hyperparameters(NamedTuple):
    """The numbers of the loss, which may be traced, and the counts that shape the update."""

    gamma: float
    gae_lambda: float
    clip_eps: float
    vf_coef: float
    ent_coef: float
    max_grad_norm: float
    num_minibatches: int
    update_epochs: int
    gradient_accumulation: int
    target_kl: float


class Rollout(NamedTuple):
    """T steps of N rows, and what it takes to value them."""

    features: Array  # (T, N, F) float32: the prepared observation the action was chosen from
    legal_mask: Array  # (T, N, A) bool
    action: Array  # (T, N) int32
    log_probability: Array  # (T, N) float32, of the action when it was chosen
    value: Array  # (T, N) float32
    reward: Array  # (T, N) float32, as the learner sees it
    terminated: Array  # (T, N) bool
    truncated: Array  # (T, N) bool
    final_value: Array  # (T, N) float32, value of the last observation where truncated, else 0
    last_value: Array  # (N,) float32, value of the observation after the last step
    acting: Array  # (T, N) bool, whether there was anything to decide
    waiting: Array  # (T, N) bool, whether the row waited for others, so that no time passed for it
    weight: Array  # (T, N) float32, how much the action teaches; 0 where the policy did not choose it
    counts: Array  # (T, N) bool, whether the value is learned: not in rows that others play
    extras: dict[str, Any]  # what extensions recorded, by their names


class Samples(NamedTuple):
    """A flat batch, or a minibatch of it."""

    features: Array  # (B, F) float32
    legal_mask: Array  # (B, A) bool
    action: Array  # (B,) int32
    log_probability: Array  # (B,) float32
    advantage: Array  # (B,) float32; of a minibatch with mean 0 and spread 1
    target: Array  # (B,) float32, what the value should have been
    value: Array  # (B,) float32, what it was
    weights: dict[str, Array]  # (B,) by term: policy, value, those of extensions; of a minibatch each sums to 1
    extras: dict[str, Array]  # (B, …) what extensions need in their terms


class Outputs(NamedTuple):
    """What the network says about samples."""

    log_probabilities: Array  # (B, A) float32, masked
    value: Array  # (B,) float32


class Update(NamedTuple):
    """The update an extension takes part in."""

    network: JaxNetwork
    params: Params  # before it
    number: Array  # () int32, updates done before it
    state: dict[str, Any]  # what each extension carries from update to update, by its name


class Tally(NamedTuple):
    """Running return and length of every row's current episode."""

    episode_return: Array  # (N,) float32
    episode_length: Array  # (N,) int32


def measure(
    tally: Tally,
    block_of: Any,
    num_blocks: int,
    action: Any,
    legal: Any,
    reward_terms: Any,
    ended: Any,
    stats: Any,
    acting: Any,
    ours: Any,
) -> tuple[Tally, Measured]:
    """Sums of one step and the running episodes after it; episodes of rows that are not `ours` do not count."""
    reward = jnp.sum(reward_terms, axis=-1)
    returns, lengths = tally.episode_return + reward, tally.episode_length + acting
    over = ended & ours
    blocks = jnp.sum((block_of[action][:, None] == jnp.arange(num_blocks)) & acting[:, None], axis=0)
    measured = Measured(
        reward=jnp.sum(reward),
        reward_terms=jnp.sum(reward_terms, axis=0),
        decisions=jnp.sum(acting),
        blocks=blocks,
        illegal=jnp.sum(~legal),
        episodes=jnp.sum(over),
        episode_return=jnp.sum(jnp.where(over, returns, 0.0)),
        episode_length=jnp.sum(jnp.where(over, lengths, 0)),
        stats=jnp.sum(jnp.where(over[:, None], stats, 0.0), axis=0),
        best_stats=jnp.max(jnp.where(over[:, None], stats, -jnp.inf), axis=0),
    )
    return Tally(jnp.where(ended, 0.0, returns), jnp.where(ended, 0, lengths)), measured


def total(steps: Measured) -> Measured:
    """One Measured out of a stack of them (leading axis T)."""
    summed = jax.tree.map(lambda values: jnp.sum(values, axis=0), steps)
    return summed._replace(best_stats=jnp.max(steps.best_stats, axis=0))
