"""Clones of other projects (`--bc-model FILE.pt`): plain state dicts of torch, mapped by names and shapes.

Nothing in such a file says what network it is, so its layers are told apart by their names: heads that judge actions
(`action_head`, `actor`, `policy`, …), heads that judge positions (`win_head`, `value`, `critic`, …: never taken over),
other heads and tables of embeddings (never, either) and everything else, which is the trunk: each layer goes to the
next place of its shape. torch keeps a layer's weights as (outputs, inputs); ours are (inputs, outputs). A head that
knows fewer actions than the game (joint orders without previews) fills the first ones. What has no counterpart of its
shape here is left alone and listed. `network_for_clone` says which network of ours has the most to take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jimbot.policies.networks import param_shapes

ACTION_HEADS = ("action", "actor", "policy", "logit")
VALUE_HEADS = ("value", "win", "critic")
OTHER_HEADS = ("preview", "head", "aux")
TABLES = ("embed",)
NOT_TAKEN = {"value": "the value head starts fresh", "other": "a head of its own kind"}
WEIGHT, BIAS = ".weight", ".bias"
FEWEST_LAYERS, MOST_LAYERS = 2, 4


class Layer(NamedTuple):
    """One dense layer of such a file."""

    name: str
    weight: np.ndarray  # (inputs, outputs)
    bias: np.ndarray | None

    @property
    def part(self) -> str:
        said = self.name.lower()
        for part, words in (("value", VALUE_HEADS), ("other", ("preview",)), ("policy", ACTION_HEADS)):
            if any(word in said for word in words):
                return part
        return "other" if any(word in said for word in OTHER_HEADS) else "trunk"


class Mapped(NamedTuple):
    """What of a file fits a network."""

    params: dict[str, np.ndarray]
    """By our names; an array smaller than its parameter fills the leading part."""
    taken: list[str]
    left: list[str]
    """Sentences' worth of both: "theirs → ours", "theirs (why not)"."""


def network_for_clone(tensors: Mapping[str, np.ndarray], actions: int) -> dict[str, Any]:
    """The settings of the network that a file's policy fits: dense layers as wide as what its head takes in, as many as
    have that width. Nothing where no head fits a game of so many actions."""
    layers = list(_layers(tensors))
    if (head := _head(layers, actions)) is None:
        return {}
    width = head.weight.shape[0]
    square = sum(layer.weight.shape == (width, width) for layer in layers if layer.part in ("trunk", "policy"))
    return {"network": "mlp", "hidden_dim": width, "num_layers": min(MOST_LAYERS, max(FEWEST_LAYERS, 1 + square))}


def map_clone(tensors: Mapping[str, np.ndarray], network: Mapping[str, Any]) -> Mapped:
    """The layers of a state dict, put where they fit."""
    shapes = param_shapes(network)
    layers = list(_layers(tensors))
    head = _head(layers, shapes.get("policy" + WEIGHT, (0, 0))[1])
    places = [name.removesuffix(WEIGHT) for name in shapes if name.startswith("trunk_") and name.endswith(WEIGHT)]
    params: dict[str, np.ndarray] = {}
    taken, left = [], []
    for layer in layers:
        if layer.part in NOT_TAKEN:
            left.append(f"{layer.name} ({NOT_TAKEN[layer.part]})")
            continue
        wanted = ["policy"] if layer is head or (head is None and layer.part == "policy") else places
        ours = next((name for name in wanted if _fits(layer, shapes.get(name + WEIGHT), layer is head)), None)
        if ours is None:
            here = ", ".join(f"{name} is {shapes.get(name + WEIGHT)}" for name in wanted[:1]) or "is no such layer"
            left.append(f"{layer.name} {layer.weight.shape} (here {here})")
            continue
        if ours in places:
            places = places[places.index(ours) + 1 :]
        params[ours + WEIGHT] = layer.weight
        if layer.bias is not None:
            params[ours + BIAS] = layer.bias
        taken.append(f"{layer.name} → {ours}")
    others = [name for name in tensors if name.rpartition(".")[0] not in {layer.name for layer in layers}]
    return Mapped(params, taken, left + [f"{name} (no dense layer)" for name in others])


def _head(layers: Sequence[Layer], actions: int) -> Layer | None:
    """The layer that judges actions: the last one of the most actions the game has room for."""
    heads = [layer for layer in layers if layer.part == "policy" and layer.weight.shape[1] <= actions]
    return max(reversed(heads), key=lambda layer: layer.weight.shape[1]) if heads else None


def _fits(layer: Layer, wanted: tuple[int, ...] | None, is_head: bool) -> bool:
    """The same layer; of a policy's head, the same inputs and no more actions."""
    inputs, outputs = layer.weight.shape
    return wanted is not None and inputs == wanted[0] and (outputs == wanted[1] or (is_head and outputs < wanted[1]))


def _layers(tensors: Mapping[str, np.ndarray]) -> Iterator[Layer]:
    for name, value in tensors.items():
        if name.endswith(WEIGHT) and value.ndim == 2 and not any(word in name.lower() for word in TABLES):
            bias = tensors.get(name.removesuffix(WEIGHT) + BIAS)
            yield Layer(name.removesuffix(WEIGHT), np.asarray(value, np.float32).T, bias)
