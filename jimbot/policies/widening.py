"""A network in more room: the same answers from wider layers, which then have more to learn with.

New units begin with random inputs and reach nothing that was there before: the weights from them to old units and to
the heads are 0. So the wider network plays exactly as the narrow one did, and learns on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.policies.networks import layer_shapes

STACKS = ("mlp", "board")
"""Kinds that are one stack of dense layers with the heads on top."""


def can_widen(narrow: Mapping[str, Any], wide: Mapping[str, Any]) -> bool:
    """Whether `wide` is the same network with as many layers, none of them narrower."""
    return (
        narrow.get("kind") in STACKS
        and {**narrow, "hidden": []} == {**wide, "hidden": []}
        and len(narrow["hidden"]) == len(wide["hidden"])
        and all(old <= new for old, new in zip(narrow["hidden"], wide["hidden"], strict=True))
    )


def widened(params: Mapping[str, np.ndarray], wide: Mapping[str, Any], seed: int = 0) -> dict[str, np.ndarray]:
    """The parameters of a narrow network as those of a wide one that answers the same."""
    luck = np.random.default_rng(seed)
    found = dict(params)
    for layer, (inputs, outputs) in layer_shapes(wide).items():
        weight, bias = params[f"{layer}.weight"], params[f"{layer}.bias"]
        old_inputs, old_outputs = weight.shape
        wider = luck.normal(0.0, np.sqrt(2.0 / inputs), (inputs, outputs)).astype(weight.dtype)
        wider[:, :old_outputs] = 0.0
        wider[:old_inputs, :old_outputs] = weight
        found[f"{layer}.weight"] = wider
        found[f"{layer}.bias"] = np.concatenate([bias, np.zeros(outputs - old_outputs, bias.dtype)])
    return found
