"""The networks, each written once: learning runs this code in JAX or torch, everything after learning as ONNX.

`ops` is the arithmetic it is written in, a handful of named operations beside `+ - * / @`, which all arrays have:
`JaxOps` and `TorchOps` compute, `OnnxOps` writes graph nodes. So a policy that is watched, judged or served
cannot differ from the one that was trained.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from jimbot.policies import doubles, items, network_program
from jimbot.policies.layers import dense


class Ops(Protocol):
    """What a network may do with arrays; the first axis is always the batch."""

    def constant(self, value: np.ndarray) -> Any:
        """A fixed array."""

    def columns(self, array: Any, start: int, stop: int) -> Any:
        """array[:, start:stop], whatever axes follow"""

    def rows(self, array: Any, start: int, stop: int) -> Any:
        """array[start:stop] of a parameter"""

    def split(self, array: Any, sizes: list[int]) -> list[Any]:
        """All of array[:, :sum(sizes)] in pieces; unlike that of many `columns`, its gradient is one concatenation."""

    def take(self, array: Any, indices: list[int]) -> Any:
        """array[..., indices]"""

    def reshape(self, array: Any, shape: tuple[int, ...]) -> Any: ...

    def swapped(self, array: Any) -> Any:
        """(N, K, L) → (N, L, K)"""

    def concat(self, arrays: list[Any], axis: int = -1) -> Any: ...

    def relu(self, array: Any) -> Any: ...

    def above_zero(self, array: Any) -> Any:
        """1.0 where above 0, else 0.0"""

    def maximum_over(self, array: Any, axis: int) -> Any:
        """The maximum over an axis, which stays as length 1."""

    def sum_over(self, array: Any, axis: int) -> Any:
        """The sum over an axis, which goes away."""

    def to_index(self, array: Any) -> Any:
        """Numbers rounded to integers"""

    def one_hot(self, index: Any, count: int) -> Any:
        """(…, count) of integers (…)"""

    def lookup(self, table: Any, index: Any) -> Any:
        """table[index]: rows of a fixed or learned table by integers"""

    def clip(self, array: Any, limit: Any) -> Any:
        """Cut off at ±limit, which may be infinite"""

    def fixed(self, array: Any) -> Any:
        """The same, but no gradient passes"""

    def pick(self, array: Any, index: Any) -> Any:
        """Entries of axis 1 by (N, K) integers, own ones per row of the batch."""


def prepare(ops: Ops, network: Mapping[str, Any], params: Mapping[str, Any], observation: Any) -> Any:
    """(N, D) observation → (N, F) features: what no gradient reaches, computed once per observation.

    Of the parameters only the statistics of networks that normalise are looked at.
    """
    seen = _normalized(ops, params, observation) if network.get("normalize") else observation
    if network["kind"] == "board":
        from jimbot.policies import board

        return board.features(ops, network, seen)
    if network["kind"] == "doubles":
        return doubles.features(ops, network, seen, observation)
    return seen


def _normalized(ops: Ops, params: Mapping[str, Any], observation: Any) -> Any:
    """The observation shifted and scaled by its stored statistics."""
    shifted = (observation - params["normalize.mean"]) * params["normalize.scale"]
    return ops.clip(shifted, params["normalize.limit"])


def outputs(ops: Ops, network: Mapping[str, Any], params: Mapping[str, Any], features: Any) -> tuple[Any, Any]:
    """(N, F) features → ((N, A) logits before masking, (N, 1) value)."""
    if network["kind"] == "items":
        return items.outputs(ops, network, params, features)
    if network["kind"] == "doubles":
        return doubles.outputs(ops, network, params, features)
    if "steps" in network:
        return network_program.outputs(ops, network["steps"], params, features)
    hidden = features
    for layer in range(len(network["hidden"])):
        hidden = ops.relu(dense(params, f"trunk_{layer}", hidden))
    return dense(params, "policy", hidden), dense(params, "value", hidden)
