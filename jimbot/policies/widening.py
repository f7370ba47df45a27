"""A network in more room: the same answers from a network that has more to learn with.

It may have wider layers (`mlp`, `board`), see more behind what it saw (`mlp`, `doubles`; the insight of a game), and
have the head for the rival, or have it no longer. New units begin with random inputs and reach nothing that was there
before: the weights from them to old units and to the heads are 0, and so are the weights of what is newly seen. So the
larger network plays exactly as the small one did, and learns on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.policies.networks import INITIAL, as_played, layer_shapes, param_shapes

STACKS = ("mlp", "board")
"""Kinds that are one stack of dense layers with the heads on top."""
SEE_MORE = ("mlp", "doubles")
"""Kinds that can be shown more: new entries come after all others, or have layers of their own."""


def can_widen(narrow: Mapping[str, Any], wide: Mapping[str, Any]) -> bool:
    """Whether `wide` is the same network with as many layers, none of them narrower, that sees no less."""
    old, new = as_played(narrow), as_played(wide)
    kind = old.get("kind")
    if kind in STACKS and len(old["hidden"]) == len(new["hidden"]):
        if any(a > b for a, b in zip(old["hidden"], new["hidden"], strict=True)):
            return False
        old["hidden"] = new["hidden"] = []
    if kind in SEE_MORE and kind == new["kind"] and old["observation_size"] <= new["observation_size"]:
        old, new = _without_insight(old), _without_insight(new)
    return old == new


def _without_insight(network: Mapping[str, Any]) -> dict[str, Any]:
    doubles = {name: part for name, part in network.get("doubles", {}).items() if name != "insight"}
    return {**network, "observation_size": 0, "doubles": doubles}


def widened(params: Mapping[str, np.ndarray], wide: Mapping[str, Any], seed: int = 0) -> dict[str, np.ndarray]:
    """The parameters of a narrow network as those of a wide one that answers the same."""
    luck = np.random.default_rng(seed)
    found = {name: params[name] for name in param_shapes(wide) if name in params}
    for layer, (inputs, outputs) in layer_shapes(wide).items():
        weight, bias = (params.get(f"{layer}.{part}") for part in ("weight", "bias"))
        if weight is None or bias is None:  # a layer that is new: it adds nothing yet
            found[f"{layer}.weight"] = np.zeros((inputs, outputs), np.float32)
            found[f"{layer}.bias"] = np.zeros(outputs, np.float32)
            continue
        old_inputs, old_outputs = weight.shape
        wider = luck.normal(0.0, np.sqrt(2.0 / inputs), (inputs, outputs)).astype(weight.dtype)
        wider[:, :old_outputs] = 0.0
        wider[:old_inputs, :old_outputs] = weight
        found[f"{layer}.weight"] = wider
        found[f"{layer}.bias"] = np.concatenate([bias, np.zeros(outputs - old_outputs, bias.dtype)])
    for name in INITIAL:
        if name in found:
            more = np.full(wide["observation_size"] - len(found[name]), INITIAL[name], np.float32)
            found[name] = np.concatenate([found[name], more])
    return found
