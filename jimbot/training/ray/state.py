"""RLlib's own state as plain named arrays, so that a checkpoint holds no pickle.

`Algorithm.get_state()` is a tree of dictionaries and lists with numbers, text, arrays and tensors as leaves. Arrays are
stored as they are, under their place in the tree; the tree itself, with everything small, is one JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from jimbot.errors import CheckpointError, UnreadableError
from jimbot.reading.plain import json_value

TREE = "tree"
# Kinds of nodes in the JSON tree: [kind, content]; numbers and text stand for themselves.
DICTIONARY, LIST, TUPLE, ARRAY, TENSOR, SPECIAL = "dict", "list", "tuple", "array", "tensor", "float"


def to_arrays(state: Any) -> dict[str, np.ndarray]:
    """The tree as arrays; `from_arrays` gives it back."""
    arrays: dict[str, np.ndarray] = {}
    tree = _encode(state, arrays, "state")
    return {**arrays, TREE: np.array(json.dumps(tree))}


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Any:
    """The inverse of `to_arrays`."""
    if TREE not in arrays:
        raise CheckpointError("The checkpoint holds no state of RLlib; it was not made by learner ray.")
    try:
        return _decode(json_value(str(arrays[TREE])), arrays)
    except (UnreadableError, KeyError, TypeError, ValueError) as problem:
        raise CheckpointError(f"The checkpoint's state of RLlib is damaged: {problem}.") from problem


def _encode(node: Any, arrays: dict[str, np.ndarray], place: str) -> Any:
    if node is None or isinstance(node, str | bool | int):
        return node
    if isinstance(node, float):
        return node if np.isfinite(node) else [SPECIAL, repr(node)]
    if isinstance(node, np.generic):
        return _encode(node.item(), arrays, place)
    if isinstance(node, Mapping):
        # Pairs: RLlib has keys that are numbers and tuples, which JSON has not.
        pairs = [
            [_encode(key, arrays, f"{place}.key"), _encode(value, arrays, f"{place}/{key}")]
            for key, value in node.items()
        ]
        return [DICTIONARY, pairs]
    if isinstance(node, list | tuple | set | frozenset) or type(node).__name__ == "deque":
        parts = [_encode(value, arrays, f"{place}/{number}") for number, value in enumerate(node)]
        return [TUPLE if isinstance(node, tuple) else LIST, parts]
    if isinstance(node, torch.Tensor):
        return [TENSOR, _store(node.detach().cpu().numpy(), arrays, place)]
    if isinstance(node, np.ndarray) and node.dtype.kind in "biufcU":
        return [ARRAY, _store(node, arrays, place)]
    raise CheckpointError(
        f"RLlib's state holds a {type(node).__name__} at '{place}', which a checkpoint cannot hold. This is a bug in "
        "jimbot/training/ray/state.py; please report it with the version of Ray."
    )


def _store(array: np.ndarray, arrays: dict[str, np.ndarray], place: str) -> str:
    name = place if place not in arrays else f"{place}#{len(arrays)}"
    arrays[name] = array
    return name


def _decode(node: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if not isinstance(node, list):
        return node
    kind, content = node
    if kind == DICTIONARY:
        return {_decode(key, arrays): _decode(value, arrays) for key, value in content}
    if kind in (LIST, TUPLE):
        parts = [_decode(part, arrays) for part in content]
        return tuple(parts) if kind == TUPLE else parts
    if kind == SPECIAL:
        return float(content)
    array = np.array(arrays[content])
    return torch.as_tensor(array) if kind == TENSOR else array
