"""Named arrays in npz files, strictly: plain numbers and text, never pickle, nothing a hostile file could inflate.

Any NumPy reads what is written here (`numpy.load`). Reading is stricter than `numpy.load`: entries must be stored
uncompressed, as we write them, one after the other, and each header must announce exactly the bytes that follow, so a
file can never ask for more memory than its own size.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from jimbot.errors import CheckpointError, UnreadableError, UsageError
from jimbot.reading.arrays import KINDS, entry_bytes, npy_array, open_archive

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # a fixed time stamp: equal arrays make equal files


def write_npz(path: Path | IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Writes named arrays; any name is fine. Not atomic by itself: checkpoints are, as a whole."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            value = np.asarray(array)
            if value.dtype.kind not in KINDS:
                raise UsageError(f"Array '{name}' is {value.dtype}; only numbers and text can be stored.")
            entry = zipfile.ZipInfo(f"{name}.npy", _EARLIEST)
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, value, allow_pickle=False)


def read_npz(path: Path | IO[bytes]) -> dict[str, np.ndarray]:
    """The named arrays of an npz file written by `write_npz`, or of its bytes."""
    name = path if isinstance(path, Path) else "The data"
    try:
        with open_archive(path) as archive:
            return {_name(entry): _array(archive, entry) for entry in archive.infolist()}
    except FileNotFoundError as problem:
        raise CheckpointError(f"{path} does not exist; expected an npz file of JimBot.") from problem
    except UnreadableError as problem:
        raise CheckpointError(f"{name} is damaged or not an npz file of JimBot: {problem}.") from problem


def _name(entry: zipfile.ZipInfo) -> str:
    if entry.compress_type != zipfile.ZIP_STORED or not entry.filename.endswith(".npy"):
        raise UnreadableError(f"entry '{entry.filename}' is not an array stored as is")
    return entry.filename.removesuffix(".npy")


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    return npy_array(entry_bytes(archive, entry, entry.compress_size), entry.filename)


def under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays whose names begin so, by the rest of their names.

    >>> under("game/", {"game/seed": 1, "steps": 2})
    {'seed': 1}
    """
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def put_under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The inverse of `under`."""
    return {prefix + name: array for name, array in arrays.items()}
