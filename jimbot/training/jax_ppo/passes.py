"""Passes over shuffled minibatches, of only what counts, for as long as they pay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jimbot.training.jax_ppo.gradients import zeros
from jimbot.training.jax_ppo.samples import Samples

Array = jax.Array
FAR = 1.5  # times target_kl: how far a pass may move the policy, on average, before it was the last


def shuffled(key: Array, epochs: int, batch: Samples) -> Array:
    """(epochs, B) the batch's rows in an order of its own for every pass; those that count come first."""
    size = batch.action.shape[0]

    def order(epoch: Array) -> Array:
        rows = jax.random.permutation(jax.random.fold_in(key, epoch), size)
        return rows if batch.counts is None else rows[jnp.argsort(~batch.counts[rows], stable=True)]

    return jax.vmap(order)(jnp.arange(epochs))


def run_passes(
    descend: Callable[[Any, Array], tuple[Any, Any]],
    learner: Any,
    orders: Array,
    counted: Array | int,
    minibatches: int,
    target_kl: float,
) -> tuple[Any, Any, Any, Array]:
    """One step down for every minibatch of every pass; an update ends early after a pass that moved the policy further
    than `target_kl` allows (0: any distance).

    Minibatches keep their size, so their number follows from how many of the batch's rows are `counted`; the last of a
    pass takes some of the one before along rather than being nearly empty. Returns the learner, the means over all
    steps of what `descend` says about them, the sums over the first pass, and the number of minibatches in a pass.
    """
    epochs, size = orders.shape
    rows = size // minibatches
    many = jnp.maximum(1, -(-jnp.int32(counted) // rows))

    def one_pass(state: Any) -> Any:
        number, learner, sums, first, _ = state

        def step(minibatch: Array, state: Any) -> Any:
            learner, found = state
            start = jnp.minimum(minibatch * rows, jnp.maximum(counted - rows, 0))
            learner, said = descend(learner, jax.lax.dynamic_slice(orders, (number, start), (1, rows))[0])
            return learner, jax.tree.map(jnp.add, found, said)

        learner, found = jax.lax.fori_loop(0, many, step, (learner, nothing))
        first = jax.tree.map(lambda old, new: jnp.where(number == 0, new, old), first, found)
        return number + 1, learner, jax.tree.map(jnp.add, sums, found), first, found.approx_kl / many

    def going(state: Any) -> Array:
        number, *_, moved = state
        near = moved <= FAR * target_kl if target_kl else True
        return (number < epochs) & jnp.asarray(near)

    nothing = zeros(jax.eval_shape(descend, learner, orders[0, :rows])[1])
    begin = (jnp.int32(0), learner, nothing, nothing, jnp.float32(0))
    done, learner, sums, first, _ = jax.lax.while_loop(going, one_pass, begin)
    return learner, jax.tree.map(lambda total: total / (done * many), sums), first, many
