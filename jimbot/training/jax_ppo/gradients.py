"""The gradient of a minibatch, in pieces where memory is short; and how much of it is noise.

The noise scale is that of McCandlish et al. (2018): the batch at which the noise of a gradient is as large as the
gradient. Below it a larger batch makes better steps; above it a larger batch is wasted. Two independent minibatches
agree (their product is the squared length of the true gradient, on average) or do not (their own squared lengths are
larger by the noise), so the minibatches of an update's first pass measure both without any further gradient. Only the
policy's own layers are measured, which the value's loss does not reach.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jimbot.policies.jax_networks import Params
from jimbot.policies.networks import part_of
from jimbot.training.jax_ppo.samples import Samples, normalised, shares
from jimbot.training.settings.rllib_names import nearest_divisor

Array = jax.Array
Gradient = Callable[[Params, Array], tuple[Params, Any]]


class Light(NamedTuple):
    """What of a minibatch is made for it as a whole."""

    advantage: Array  # (B,)
    acts: Array | None
    counts: Array | None
    asked: Array | None
    foreseen: Array | None


def gradient_of(loss: Callable[[Params, Samples], tuple[Array, Any]], batch: Samples, pieces: int) -> Gradient:
    """(parameters, rows of a minibatch) → gradients and losses."""

    def of_rows(params: Params, rows: Array, light: Light) -> tuple[Params, Any]:
        samples = jax.tree.map(lambda values: values[rows], batch)._replace(**light._asdict())
        return jax.grad(loss, has_aux=True)(params, samples)

    def of_minibatch(params: Params, chosen: Array) -> tuple[Params, Any]:
        weights = (batch.acts, batch.counts, batch.asked, batch.foreseen)
        acts, *others = (None if part is None else shares(part[chosen]) for part in weights)
        light = Light(normalised(batch.advantage[chosen], acts), acts, *others)
        if pieces == 1:
            return of_rows(params, chosen, light)
        return _in_pieces(of_rows, params, chosen, light, nearest_divisor(len(chosen), pieces))

    return of_minibatch


def _in_pieces(of_rows: Callable[..., Any], params: Params, chosen: Array, light: Light, many: int) -> Any:
    """The same gradient as a sum over pieces, of which only one is in memory at a time."""
    even = jnp.full(len(chosen), 1 / len(chosen), jnp.float32)
    acts, counts = (even if part is None else part for part in (light.acts, light.counts))
    weighed = light._replace(acts=acts, counts=counts)
    pieces = jax.tree.map(lambda values: values.reshape(many, -1), (chosen, weighed))

    def add(total: Any, piece: tuple[Array, Light]) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, of_rows(params, *piece)), None

    first = jax.tree.map(lambda values: values[0], pieces)
    return jax.lax.scan(add, zeros(jax.eval_shape(of_rows, params, *first)), pieces)[0]


def zeros(shapes: Any) -> Any:
    """Arrays of 0 of these shapes."""
    return jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)


def policy_part(gradients: Params) -> Params:
    """The gradients of the policy's own layers."""
    return {name: value for name, value in gradients.items() if part_of(name) == "policy"}


def product(one: Params, other: Params) -> Array:
    """Of two gradients, () float32."""
    return sum((jnp.vdot(one[name], other[name]) for name in one), start=jnp.float32(0))


def signal_and_noise(squares: Array, products: Array, minibatches: Array, rows: int) -> dict[str, Array]:
    """Squared length of the true gradient, and variance of one sample's: from sums, over the minibatches of a pass, of
    their squared lengths and of their products with the sum of those before them. 0 and 0 for a single minibatch."""
    pairs = minibatches * (minibatches - 1) / 2
    signal = products / jnp.maximum(pairs, 1)
    noise = rows * (squares / minibatches - signal)
    several = minibatches > 1
    return {SIGNAL: jnp.where(several, signal, 0.0), NOISE: jnp.where(several, noise, 0.0)}


SIGNAL, NOISE = "train/gradient_signal", "train/gradient_noise"
