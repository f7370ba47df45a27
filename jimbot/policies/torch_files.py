"""Policies as `.pt` files: plain tensors under the shared names, and nothing that could run when it is loaded.

The manifest lies among them as the bytes of its JSON, so that the file alone says which game and network it is of.
Read one yourself with `torch.load(path, weights_only=True)`.

A module file is for programs that have torch and not JimBot: `torch.jit.load(path)(observation, legal_mask)` answers
masked log-probabilities and values. The same arrays and manifest lie beside its code, and they are all that is read of
it here.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from jimbot.errors import CheckpointError, MissingExtraError, UnreadableError
from jimbot.policies import torch_masking
from jimbot.policies.torch_networks import TorchNetwork
from jimbot.reading.arrays import entry_bytes, open_archive
from jimbot.reading.tensors import read_tensors
from jimbot.runs.arrays import read_npz, write_npz
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


ARRAYS = "jimbot.npz"
"""The entry of a module file that is read here."""
LARGEST = 2**31  # bytes of it


class PlayingModule(torch.nn.Module):
    """((N, D) observations, (N, A) legal masks) → (N, A) masked log-probabilities, (N,) values."""

    def __init__(self, manifest: Manifest, params: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        self.network = TorchNetwork(manifest.network)
        self.network.load_arrays(params)

    def forward(self, observation: torch.Tensor, legal_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits, value = self.network(observation)
        return torch_masking.log_probabilities(logits, legal_mask), value


def module_file(manifest: Manifest, params: Mapping[str, np.ndarray], observation_size: int, num_actions: int) -> bytes:
    """The content of a module file."""
    module = PlayingModule(manifest, params).eval().requires_grad_(False)
    example = torch.zeros(2, observation_size), torch.ones(2, num_actions, dtype=torch.bool)
    arrays, file = io.BytesIO(), io.BytesIO()
    write_npz(arrays, {**params, MANIFEST_ENTRY: np.array(manifest.portable_text())})
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)  # tables of ids are meant to be constants
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.export files run in few versions
        traced = torch.jit.trace(module, example, check_trace=False)
        torch.jit.save(traced, file, _extra_files={ARRAYS: arrays.getvalue()})
    return file.getvalue()


def _arrays_of_module(path: Path) -> dict[str, np.ndarray] | None:
    """What lies beside the code of a module file; None where it is none. Nothing of its code is looked at."""
    with open_archive(path) as archive:
        found = [entry for entry in archive.infolist() if entry.filename.endswith(f"/extra/{ARRAYS}")]
        return dict(read_npz(io.BytesIO(entry_bytes(archive, found[0], LARGEST)))) if found else None


def manifest_in_tensor_file(path: Path) -> tuple[Manifest, dict[str, np.ndarray]]:
    """The manifest and parameters inside a `.pt` file of ours."""
    try:
        found = _arrays_of_module(path)
        if found is not None:
            text = found.pop(MANIFEST_ENTRY, np.array(""))
            return parse_manifest(str(text).encode(), path), found
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
