"""Sums over a rollout for the metrics, and the running episodes of its rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jimbot.training.session.log_rows import Measured

Array = Any


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
