"""Clones of other projects (`--bc-model FILE.pt`): plain state dicts of torch, mapped by names and shapes.

Nothing in such a file says what network it is, so its layers are told apart by their names: heads that judge actions
(`action_head`, `actor`, `policy`, …), heads that judge positions (`win_head`, `value`, `critic`, …: never taken over)
and everything else, which is the trunk, in the order of the file. torch keeps a layer's weights as (outputs, inputs);
ours are (inputs, outputs). A head that knows fewer actions than the game (joint orders without previews) fills the
first ones. What has no counterpart of its shape here is left alone and listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jimbot.policies.networks import param_shapes

ACTION_HEADS = ("action", "actor", "policy", "logit")
VALUE_HEADS = ("value", "win", "critic")
WEIGHT, BIAS = ".weight", ".bias"


class Layer(NamedTuple):
    """One dense layer of such a file."""

    name: str
    weight: np.ndarray  # (inputs, outputs)
    bias: np.ndarray | None

    @property
    def part(self) -> str:
        said = self.name.lower()
        if any(word in said for word in VALUE_HEADS):
            return "value"
        return "policy" if any(word in said for word in ACTION_HEADS) else "trunk"


class Mapped(NamedTuple):
    """What of a file fits a network."""

    params: dict[str, np.ndarray]
    """By our names; an array smaller than its parameter fills the leading part."""
    taken: list[str]
    left: list[str]
    """Sentences' worth of both: "theirs → ours", "theirs (why not)"."""


def map_clone(tensors: Mapping[str, np.ndarray], network: Mapping[str, Any]) -> Mapped:
    """The layers of a state dict, put where they fit."""
    shapes = param_shapes(network)
    params: dict[str, np.ndarray] = {}
    taken, left, trunk = [], [], 0
    for layer in _layers(tensors):
        if layer.part == "value":
            left.append(f"{layer.name} (the value head starts fresh)")
            continue
        ours = "policy" if layer.part == "policy" else f"trunk_{trunk}"
        trunk += layer.part == "trunk"
        wanted = shapes.get(ours + WEIGHT)
        if wanted is None or not _fits(layer, wanted):
            here = f"here {ours} is {wanted}" if wanted else f"here is no {ours}"
            left.append(f"{layer.name} {layer.weight.shape} ({here})")
            continue
        params[ours + WEIGHT] = layer.weight
        if layer.bias is not None:
            params[ours + BIAS] = layer.bias
        taken.append(f"{layer.name} → {ours}")
    others = [name for name in tensors if name.rpartition(".")[0] not in {layer.name for layer in _layers(tensors)}]
    return Mapped(params, taken, left + [f"{name} (no dense layer)" for name in others])


def _fits(layer: Layer, wanted: tuple[int, ...]) -> bool:
    """The same layer; of a policy's head, the same inputs and no more actions."""
    inputs, outputs = layer.weight.shape
    return inputs == wanted[0] and (outputs == wanted[1] or (layer.part == "policy" and outputs < wanted[1]))


def _layers(tensors: Mapping[str, np.ndarray]) -> Iterator[Layer]:
    for name, value in tensors.items():
        if name.endswith(WEIGHT) and value.ndim == 2:
            bias = tensors.get(name.removesuffix(WEIGHT) + BIAS)
            yield Layer(name.removesuffix(WEIGHT), np.asarray(value, np.float32).T, bias)
