"""A network in more room, or with fewer eyes: how a policy goes on as another network of its kind.

In more room it gives the same answers and has more to learn with.
It may have wider layers (`mlp`, `board`) and see more behind what it saw (`mlp`; the insight of a game).
New units begin with random inputs and reach nothing that was there before: the weights from them to old units and to
the heads are 0, and so are the weights of what is newly seen. So the larger network plays exactly as the small one did,
and learns on from there.

With fewer eyes it no longer sees the last entries of the observation, such as helpers that a game only shows on
request; what they usually were goes into the bias of the first layer (`mlp`, `board`). It may play worse than it did,
and learns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jimbot.policies.networks import INITIAL, layer_shapes, param_shapes

STACKS = ("mlp", "board")
"""Kinds that are one stack of dense layers with the heads on top."""
SEE_MORE = ("mlp",)
"""Kinds that can be shown more: new entries come after all others."""


def can_widen(narrow: Mapping[str, Any], wide: Mapping[str, Any]) -> bool:
    """Whether `wide` is the same network with as many layers, none of them narrower, that sees no less."""
    old, new = dict(narrow), dict(wide)
    kind = old.get("kind")
    if kind in STACKS and len(old["hidden"]) == len(new["hidden"]):
        if any(a > b for a, b in zip(old["hidden"], new["hidden"], strict=True)):
            return False
        old["hidden"] = new["hidden"] = []
    if kind in SEE_MORE and kind == new["kind"] and old["observation_size"] <= new["observation_size"]:
        old["observation_size"] = new["observation_size"] = 0
    return old == new


def can_narrow(wide: Mapping[str, Any], narrow: Mapping[str, Any]) -> bool:
    """Whether `narrow` is the same network, seeing less."""
    old, new = dict(wide), dict(narrow)
    if old.get("normalize") or old["observation_size"] <= new["observation_size"]:
        return False
    return old.get("kind") in STACKS and {**old, "observation_size": 0} == {**new, "observation_size": 0}


def narrowed(
    params: Mapping[str, np.ndarray], narrow: Mapping[str, Any], usual_sight: Callable[[], np.ndarray]
) -> dict[str, np.ndarray]:
    """The parameters of a network that saw more, behind what `narrow` sees; `usual_sight` tells what, on average (its
    whole observation)."""
    found = {name: params[name] for name in param_shapes(narrow)}
    usual = usual_sight()[narrow["observation_size"] :]
    board = narrow.get("board")
    on_board = board["rows"] * board["cols"] * board["channels"] if board else 0  # what is off the board comes first
    first = narrow["observation_size"] - on_board
    weight = params["trunk_0.weight"]
    unseen = slice(first, first + len(usual))
    found["trunk_0.bias"] = params["trunk_0.bias"] + (usual @ weight[unseen]).astype(weight.dtype)
    found["trunk_0.weight"] = np.delete(weight, unseen, axis=0)
    return found


def widened(params: Mapping[str, np.ndarray], wide: Mapping[str, Any], seed: int = 0) -> dict[str, np.ndarray]:
    """The parameters of a narrow network as those of a wide one that answers the same."""
    rng = np.random.default_rng(seed)
    found = {name: params[name] for name in param_shapes(wide) if name in params}
    for layer, (inputs, outputs) in layer_shapes(wide).items():
        weight, bias = (params[f"{layer}.{part}"] for part in ("weight", "bias"))
        old_inputs, old_outputs = weight.shape
        wider = rng.normal(0.0, np.sqrt(2.0 / inputs), (inputs, outputs)).astype(weight.dtype)
        wider[:, :old_outputs] = 0.0
        wider[:old_inputs, :old_outputs] = weight
        found[f"{layer}.weight"] = wider
        found[f"{layer}.bias"] = np.concatenate([bias, np.zeros(outputs - old_outputs, bias.dtype)])
    for name in INITIAL:
        if name in found:
            more = np.full(wide["observation_size"] - len(found[name]), INITIAL[name], np.float32)
            found[name] = np.concatenate([found[name], more])
    return found
