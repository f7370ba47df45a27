"""A store on disk: one npz file that any NumPy opens, complete or absent, verified when it is read."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from jimbot.errors import CheckpointError
from jimbot.runs.arrays import read_npz, write_npz
from jimbot.runs.files import file_in_progress
from jimbot.training.replay.store import ReplayStore

FORMAT_VERSION = 1
"""Raised when a reader of the version before could not read the new files; its reader then stays."""


def save_store(path: str | Path, store: ReplayStore) -> None:
    """Writes everything a store holds; a file appears at `path` when it is complete."""
    arrays = store.arrays()
    head = {"format_version": np.array(FORMAT_VERSION), "sha256": np.array(_digest(arrays))}
    with file_in_progress(Path(path)) as temporary:
        write_npz(temporary, {**head, **arrays})


def load_store(path: str | Path, store: ReplayStore) -> None:
    """Fills a store from a file of the same game; a damaged or foreign file is one sentence."""
    arrays = read_npz(Path(path))
    version, digest = arrays.pop("format_version", None), arrays.pop("sha256", None)
    if version is None or digest is None:
        raise CheckpointError(f"{path} is not a replay of JimBot: it has no format version. Give a file it saved.")
    if version.tolist() != FORMAT_VERSION:
        raise CheckpointError(
            f"Replay {path} has format {version.tolist()}; this JimBot reads format {FORMAT_VERSION}. Use a newer one."
        )
    if str(digest) != _digest(arrays):
        raise CheckpointError(f"Replay {path} is damaged: its content differs from its digest. Start a new one.")
    store.load_arrays(arrays)


def _digest(arrays: dict[str, np.ndarray]) -> str:
    total = hashlib.sha256()
    for name in sorted(arrays):
        total.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}".encode())
        total.update(np.ascontiguousarray(arrays[name]).data)
    return total.hexdigest()
