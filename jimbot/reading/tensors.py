"""`.pt` files of torch, read as plain arrays by name.

A `.pt` file is a zip archive around a pickle, and loading a pickle runs what it says. torch's `weights_only` reads it
with an interpreter that knows tensors and nothing else; the archive is checked before, as every archive is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jimbot.errors import MissingExtraError, UnreadableError
from jimbot.reading.arrays import open_archive

if TYPE_CHECKING:
    import numpy as np


STATE_DICTS = ("model_state_dict", "state_dict", "model")
"""Under which of these names a training script keeps its model, beside its configuration, optimiser and counters."""
PREFIXES = ("_orig_mod.", "module.")
"""What torch.compile and DistributedDataParallel put before every name."""


def read_tensors(path: str | Path) -> dict[str, np.ndarray]:
    """The named tensors of a `.pt` file: what `torch.save` wrote of a state dict, alone or as the model of a training
    checkpoint (`STATE_DICTS`), whose other entries are left alone."""
    try:
        import torch
    except ModuleNotFoundError as problem:
        raise MissingExtraError("'torch', which .pt files need,", "sb3") from problem
    open_archive(path).close()
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as problem:  # torch, pickle and zip readers have a dozen exception types between them
        reason = " ".join(str(problem).split())[:160] or type(problem).__name__
        raise UnreadableError(f"it holds something else than plain tensors, or is damaged ({reason})") from problem
    if isinstance(found, Mapping):
        found = next((found[name] for name in STATE_DICTS if isinstance(found.get(name), Mapping)), found)
    if not isinstance(found, Mapping) or not found:
        raise UnreadableError(f"it holds a {type(found).__name__}; expected tensors by name")
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise UnreadableError(f"its entry {name!r:.60} is a {type(value).__name__}; expected tensors by name")
        if value.layout != torch.strided or value.numel() * value.element_size() > value.untyped_storage().nbytes():
            raise UnreadableError(f"its tensor '{name}' is more than the file holds")
    return {_plain(name): _numbers(value) for name, value in found.items()}


def _plain(name: str) -> str:
    """
    >>> _plain("_orig_mod.module.ff_stack.0.weight")
    'ff_stack.0.weight'
    """
    while prefix := next((prefix for prefix in PREFIXES if name.startswith(prefix)), ""):
        name = name.removeprefix(prefix)
    return name


def _numbers(value: Any) -> np.ndarray:
    """Half precision that NumPy does not know becomes float32."""
    return (value.float() if str(value.dtype) == "torch.bfloat16" else value).detach().numpy()
