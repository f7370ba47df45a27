"""What one update learns from: the positions of a rollout as a flat batch, and which of them teach what.

Not every position teaches everything. A row of a game of two may wait for the other (`Rollout.acting`): there is no
action to learn from, but its value is learned, because a rollout that ends while it waits is valued there. Rows that
others play (`Rollout.counts`) teach nothing. What the other side did (`Rollout.rival`) is known wherever both sides are
rows. What a teacher played (`Rollout.guest`) teaches its value and its answer.
And where only one action is legal there is nothing to choose: the policy's gradient is exactly 0, so most of such
positions can be left out (`leave_out_forced`).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jimbot.training.jax_ppo.rollout import Rollout

Array = jax.Array


class Samples(NamedTuple):
    """A flat batch, or a minibatch of it. The weights of a minibatch sum to 1; of the batch they are bool, or what
    rare steps weigh."""

    features: Array  # (B, F) float32
    legal_mask: Array  # (B, A) bool
    action: Array  # (B,) int32
    log_probability: Array  # (B,) float32
    advantage: Array  # (B,) float32; of a minibatch with mean 0 and spread 1
    target: Array  # (B,) float32, what the value should have been
    value: Array | None = None  # (B,) float32, what it was, where its step is clipped
    acts: Array | None = None  # (B,) weight of the action; None: all count the same
    counts: Array | None = None  # (B,) weight of the value; None: all count the same
    label: Array | None = None  # (B,) int32, the teacher's action; of positions it was not asked about anything
    asked: Array | None = None  # (B,) weight of the teacher's answer
    rival: Array | None = None  # (B,) int32, what the rival did; of positions where it did nothing anything
    foreseen: Array | None = None  # (B,) weight of that
    reference: Array | None = None  # (B, A) float32, log-probabilities of the policy that init_kl pulls to


def samples_of(rollout: Rollout, advantage: Array, keep_value: bool) -> Samples:
    """The rollout's positions, flat."""
    decided = (rollout.features, rollout.legal_mask, rollout.action, rollout.log_probability)
    value = rollout.value if keep_value else None
    asked = None if rollout.label is None else rollout.label >= 0
    own = _own(rollout)
    acts = own if rollout.weight is None else rollout.weight * (1.0 if own is None else own)
    foreseen = None if rollout.rival is None else rollout.rival >= 0
    if foreseen is not None and rollout.counts is not None:
        foreseen &= rollout.counts
    weights = (acts, rollout.counts, rollout.label, asked, rollout.rival, foreseen)
    arrays = Samples(*decided, advantage, advantage + rollout.value, value, *weights)
    return jax.tree.map(lambda values: values.reshape(-1, *values.shape[2:]), arrays)


def _own(rollout: Rollout) -> Array | None:
    """Which actions the policy chose itself: the others have no gradient of PPO's."""
    if rollout.guest is None:
        return rollout.acting
    return ~rollout.guest if rollout.acting is None else rollout.acting & ~rollout.guest


def leave_out_forced(rollout: Rollout, every: int) -> Rollout:
    """The rollout with positions of one legal action left out, but for those of every so manieth step, which teach
    their value: the end of a rollout may be valued there. 1: nothing is left out."""
    if every == 1:
        return rollout
    everything = jnp.ones(rollout.action.shape, bool)
    acting = everything if rollout.acting is None else rollout.acting
    forced = acting & (jnp.sum(rollout.legal_mask, axis=-1) == 1)
    taught = jnp.arange(rollout.action.shape[0])[:, None] % every == 0
    counts = (everything if rollout.counts is None else rollout.counts) & (~forced | taught)
    return rollout._replace(acting=acting & ~forced, forced=forced, counts=counts)


def mean(values: Array, weight: Array | None) -> Array:
    """The mean by weights that sum to 1."""
    return jnp.mean(values) if weight is None else jnp.sum(jnp.where(weight > 0, weight * values, 0.0))


def shares(counted: Array | None) -> Array | None:
    """Weights of any sum, bool or float, as weights that sum to 1."""
    return None if counted is None else counted / jnp.maximum(jnp.sum(counted, dtype=jnp.float32), 1.0)


def variance(values: Array, weight: Array | None) -> Array:
    return jnp.var(values) if weight is None else mean((values - mean(values, weight)) ** 2, weight)


def normalised(advantage: Array, weight: Array | None = None) -> Array:
    """With mean 0 and spread 1 over the minibatch."""
    return (advantage - mean(advantage, weight)) / (jnp.sqrt(variance(advantage, weight)) + 1e-8)
