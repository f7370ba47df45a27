"""The networks of `forward` computed in JAX, for learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.policies import forward
from jimbot.policies.networks import GAINS, INITIAL, layer_shapes, param_shapes
from jimbot.policies.own_networks import OWN, functions_of

Params = dict[str, jax.Array]


class JaxOps:
    """The arithmetic of `forward.Ops` in JAX."""

    @staticmethod
    def constant(value: np.ndarray) -> Any:
        return jnp.asarray(value)

    @staticmethod
    def reshape(array: Any, shape: tuple[int, ...]) -> Any:
        return jnp.reshape(array, shape)

    @staticmethod
    def swapped(array: Any) -> Any:
        return jnp.swapaxes(array, 1, 2)

    @staticmethod
    def relu(array: Any) -> Any:
        return jax.nn.relu(array)

    @staticmethod
    def columns(array: Any, start: int, stop: int) -> Any:
        return array[:, start:stop]

    @staticmethod
    def rows(array: Any, start: int, stop: int) -> Any:
        return array[start:stop]

    @staticmethod
    def split(array: Any, sizes: list[int]) -> list[Any]:
        return jnp.split(array, np.cumsum(sizes)[:-1], axis=1)

    @staticmethod
    def take(array: Any, indices: list[int]) -> Any:
        return array[..., np.asarray(indices)]

    @staticmethod
    def concat(arrays: list[Any], axis: int = -1) -> Any:
        return jnp.concatenate(arrays, axis)

    @staticmethod
    def above_zero(array: Any) -> Any:
        return (array > 0).astype(jnp.float32)

    @staticmethod
    def maximum_over(array: Any, axis: int) -> Any:
        return jnp.max(array, axis, keepdims=True)

    @staticmethod
    def to_index(array: Any) -> Any:
        return jnp.round(array).astype(jnp.int32)

    @staticmethod
    def one_hot(index: Any, count: int) -> Any:
        return jax.nn.one_hot(index, count)

    @staticmethod
    def sum_over(array: Any, axis: int) -> Any:
        return jnp.sum(array, axis)

    @staticmethod
    def lookup(table: Any, index: Any) -> Any:
        return jnp.asarray(table)[index]

    @staticmethod
    def clip(array: Any, limit: Any) -> Any:
        return jnp.clip(array, -limit, limit)

    @staticmethod
    def fixed(array: Any) -> Any:
        return jax.lax.stop_gradient(array)

    @staticmethod
    def pick(array: Any, index: Any) -> Any:
        return jnp.take_along_axis(
            array, index.reshape(*index.shape, *[1] * (array.ndim - 2)), axis=1, mode="promise_in_bounds"
        )


class JaxNetwork(NamedTuple):
    """A network as three pure functions and the data it is made from."""

    description: Mapping[str, Any]
    init: Callable[[int], Params]
    """seed → parameters"""
    prepare: Callable[..., jax.Array]
    """((…, D) observation, parameters) → (…, F) features: computed once per observation, no gradient reaches it.
    Only a network that normalises looks at the parameters here; the others may leave them out."""
    apply: Callable[[Params, jax.Array], tuple[jax.Array, jax.Array]]
    """(parameters, (…, F) features) → ((…, A) logits, (…,) value)"""


def make_network(description: Mapping[str, Any]) -> JaxNetwork:
    """The functions of an architecture made by `networks.describe_network`."""
    own = functions_of(description) if OWN in description else None

    def answer(params: Params, flat: jax.Array) -> tuple[jax.Array, ...]:
        if own is not None:
            return own.apply({name: value for name, value in params.items() if name not in INITIAL}, flat)
        return forward.outputs(JaxOps, description, params, flat)

    def prepare(observation: jax.Array, params: Params | None = None) -> jax.Array:
        flat = jnp.reshape(observation, (-1, observation.shape[-1]))
        features = forward.prepare(JaxOps, description, params or {}, flat)
        return jnp.reshape(features, (*observation.shape[:-1], features.shape[-1]))

    def apply(params: Params, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        lead = features.shape[:-1]
        logits, value = answer(params, features.reshape(-1, features.shape[-1]))
        return logits.reshape(*lead, -1), value.reshape(lead)

    return JaxNetwork(description, lambda seed: init_params(description, seed), prepare, apply)


def init_params(description: Mapping[str, Any], seed: int) -> Params:
    """Orthogonal weights and zero biases; a nearly uniform first policy, so that early exploration is fair.

    Drawn by NumPy: compiling some thirty QR decompositions took ten seconds of every start.
    """
    rng = np.random.default_rng(seed)
    params: dict[str, Any] = dict(functions_of(description).init(seed)) if OWN in description else {}
    for layer, shape in layer_shapes(description).items():
        gain = GAINS.get(layer.partition("_")[0], 2**0.5)
        params[f"{layer}.weight"] = gain * _orthogonal(rng, *shape)
        params[f"{layer}.bias"] = np.zeros(shape[1])
    for name, shape in param_shapes(description).items():
        if name.startswith("table_") and OWN not in description:
            params[name] = 0.1 * rng.standard_normal(shape)
        elif name not in params and (OWN not in description or name in INITIAL):
            params[name] = np.full(shape, INITIAL.get(name, 0.0))
    return {name: jnp.asarray(values, jnp.float32) for name, values in params.items()}


def _orthogonal(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """(rows, columns) with orthonormal columns, or rows if those are fewer, evenly over all such matrices."""
    tall = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(tall)
    q = q * np.sign(np.diagonal(r))
    return q if rows >= columns else q.T
