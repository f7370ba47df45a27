"""The architectures of `networks` computed in JAX, for learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jimbot.policies.networks import layer_shapes, recoding, turning

Params = dict[str, jax.Array]


class JaxNetwork(NamedTuple):
    """A network as three pure functions and the data it is made from."""

    description: Mapping[str, Any]
    init: Callable[[jax.Array], Params]
    """key → parameters"""
    prepare: Callable[[jax.Array], jax.Array]
    """(…, D) observation → (…, F) features: fixed, without parameters, so computed once per observation"""
    apply: Callable[[Params, jax.Array], tuple[jax.Array, jax.Array]]
    """(parameters, (…, F) features) → ((…, A) logits, (…,) value)"""


def make_network(description: Mapping[str, Any]) -> JaxNetwork:
    """The functions of an architecture made by `networks.describe_network`."""
    prepare = _board_features(description) if description["kind"] == "board" else lambda observation: observation
    depth = len(description["hidden"])

    def apply(params: Params, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        hidden = features
        for layer in range(depth):
            hidden = jax.nn.relu(_dense(params, f"trunk_{layer}", hidden))
        return _dense(params, "policy", hidden), _dense(params, "value", hidden)[..., 0]

    return JaxNetwork(description, lambda key: init_params(description, key), prepare, apply)


def init_params(description: Mapping[str, Any], key: jax.Array) -> Params:
    """Orthogonal weights and zero biases; a nearly uniform first policy, so that early exploration is fair."""
    gains = {"policy": 0.01, "value": 1.0}
    params: Params = {}
    for layer, shape in layer_shapes(description).items():
        key, own = jax.random.split(key)
        init = jax.nn.initializers.orthogonal(gains.get(layer, 2**0.5))
        params[f"{layer}.weight"] = init(own, shape, jnp.float32)
        params[f"{layer}.bias"] = jnp.zeros(shape[1])
    return params


def _dense(params: Params, layer: str, inputs: jax.Array) -> jax.Array:
    return inputs @ params[f"{layer}.weight"] + params[f"{layer}.bias"]


def _board_features(description: Mapping[str, Any]) -> Callable[[jax.Array], jax.Array]:
    board = description["board"]
    rows, cols, channels = board["rows"], board["cols"], board["channels"]
    start, stop = board["offset"], board["offset"] + rows * cols * channels
    recode, turn = jnp.asarray(recoding(board)), jnp.asarray(turning(board))

    def prepare(observation: jax.Array) -> jax.Array:
        lead = observation.shape[:-1]
        row = jnp.round(observation[..., board["row_at"]] * (rows - 1)).astype(jnp.int32)
        col = jnp.round(observation[..., board["col_at"]] * (cols - 1)).astype(jnp.int32)
        grid = observation[..., start:stop].reshape(*lead, rows * cols, channels) @ recode
        turned = jnp.take_along_axis(grid, turn[row * cols + col][..., None], axis=-2)
        return jnp.concatenate(
            [
                observation[..., :start],
                observation[..., stop:],
                jax.nn.one_hot(row, rows),
                jax.nn.one_hot(col, cols),
                turned.reshape(*lead, -1),
            ],
            axis=-1,
        )

    return prepare
