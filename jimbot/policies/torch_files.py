"""Policies as `.pt` files: plain tensors under the shared names, and nothing that could run when it is loaded.

The manifest lies among them as the bytes of its JSON, so that the file alone says which game and network it is of.
Read one yourself with `torch.load(path, weights_only=True)`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from jimbot.errors import CheckpointError, MissingExtraError, UnreadableError
from jimbot.reading.tensors import read_tensors
from jimbot.runs.checkpoint import MANIFEST_ENTRY
from jimbot.runs.manifest import Manifest, parse_manifest

try:
    import torch
except ModuleNotFoundError as problem:
    raise MissingExtraError("'torch', which .pt files need,", "sb3") from problem


def tensor_file(manifest: Manifest, params: Mapping[str, np.ndarray]) -> bytes:
    """The content of a `.pt` file."""
    text = np.frombuffer(manifest.portable_text().encode(), np.uint8)
    tensors = {name: torch.as_tensor(value) for name, value in {**params, MANIFEST_ENTRY: text.copy()}.items()}
    file = io.BytesIO()
    torch.save(tensors, file)
    return file.getvalue()


def manifest_in_tensor_file(path: Path) -> tuple[Manifest, dict[str, np.ndarray]]:
    """The manifest and parameters inside a `.pt` file of ours."""
    try:
        found = read_tensors(path)
    except FileNotFoundError as problem:
        raise CheckpointError(f"{path} does not exist. Give an existing .pt file.") from problem
    except UnreadableError as problem:
        raise CheckpointError(f"{path} is not a file of plain tensors: {problem}.") from problem
    if MANIFEST_ENTRY not in found:
        raise CheckpointError(
            f"{path} has no '{MANIFEST_ENTRY}' entry, so it does not say which game and network it is of; expected a "
            ".pt file written by `jimbot export`."
        )
    return parse_manifest(found.pop(MANIFEST_ENTRY).astype(np.uint8).tobytes(), path), found
