"""`.pt` files of torch, read as plain arrays by name, without torch and without running anything of the file's.

A `.pt` file is a zip archive: a pickle that names and shapes the tensors, and their numbers beside it. The pickle is
followed for plain values only (`reading/pickles.py`), so a training checkpoint may hold whatever its script kept beside
the model: those entries are passed over. Numbers are read of the tensors that are asked for, not of an optimiser.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jimbot.errors import UnreadableError
from jimbot.reading.arrays import entry_bytes, open_archive
from jimbot.reading.pickles import OTHER, Named, pickled_values

STATE_DICTS = ("model_state_dict", "state_dict", "model")
"""Under which of these names a training script keeps its model, beside its configuration, optimiser and counters."""
PREFIXES = ("_orig_mod.", "module.")
"""What torch.compile and DistributedDataParallel put before every name."""
BFLOAT16 = "torch BFloat16Storage"
"""The upper halves of float32 numbers, which NumPy does not know."""
KINDS = {
    "torch DoubleStorage": "f8", "torch FloatStorage": "f4", "torch HalfStorage": "f2", BFLOAT16: "u2",
    "torch LongStorage": "i8", "torch IntStorage": "i4", "torch ShortStorage": "i2", "torch CharStorage": "i1",
    "torch ByteStorage": "u1", "torch BoolStorage": "?",
    "torch ComplexFloatStorage": "c8", "torch ComplexDoubleStorage": "c16",
}  # fmt: skip


class Storage(NamedTuple):
    """Where a tensor's numbers lie: an entry of the archive."""

    kind: str
    key: str


class Tensor(NamedTuple):
    """A tensor as the pickle tells it: which numbers of its storage, in which shape."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_tensors(path: str | Path) -> dict[str, np.ndarray]:
    """The named tensors of a `.pt` file: what `torch.save` wrote of a state dict, alone or as the model of a training
    checkpoint (`STATE_DICTS`), whose other entries are left alone."""
    with open_archive(path) as archive:
        numbers = _Numbers(archive)
        found = pickled_values(numbers.entry("data.pkl"), MAKERS, _storage)
        return {_plain(name): numbers.of(name, tensor) for name, tensor in _model(found).items()}


def _model(found: Any) -> dict[str, Tensor]:
    """The tensors of the first part that has any."""
    whole = found if isinstance(found, dict) else {}
    for part in (*(whole.get(name) for name in STATE_DICTS), whole):
        if isinstance(part, dict) and (found := {name: one for name, one in part.items() if isinstance(one, Tensor)}):
            if unclear := next((name for name in found if not name.isprintable()), ""):
                raise UnreadableError(f"its entry {unclear[:60]!a} has a name that cannot be shown")
            return found
    raise UnreadableError("it holds no tensors by name, as in torch.save(model.state_dict(), …)")


class _Numbers:
    """The arrays in an archive; tensors that share a storage share its bytes."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._entries = {entry.filename.partition("/")[2]: entry for entry in archive.infolist()}
        self._order = ">" if "byteorder" in self._entries and self.entry("byteorder") == b"big" else "<"
        self._read: dict[Storage, np.ndarray] = {}

    def entry(self, name: str) -> bytes:
        """The content of an entry, which must be stored as it is: no larger than the file."""
        entry = self._entries.get(name)
        if entry is None or entry.compress_type != zipfile.ZIP_STORED:
            raise UnreadableError(f"it has no entry {name[:60]!a} as torch.save writes it")
        return entry_bytes(self._archive, entry, entry.compress_size)

    def of(self, name: str, tensor: Tensor) -> np.ndarray:
        """A view of the storage: strides of 0 could make a small file a large array, which is refused."""
        values = self._values(tensor.storage)
        try:
            size = math.prod(tensor.shape)
            fits = size <= len(values) and min(0, tensor.offset, *tensor.shape, *tensor.strides) == 0
            if fits and not size:
                return np.zeros(tensor.shape, values.dtype)
            last = tensor.offset + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.strides, strict=True))
            if fits and last < len(values):
                steps = [step * values.itemsize for step in tensor.strides]
                return np.lib.stride_tricks.as_strided(values[tensor.offset :], tensor.shape, steps)
        except (ValueError, OverflowError):  # more dimensions, or longer ones, than NumPy knows
            pass
        raise UnreadableError(f"its tensor '{name[:60]}' is more than the file holds")

    def _values(self, storage: Storage) -> np.ndarray:
        if storage not in self._read:
            kind = np.dtype(self._order + KINDS[storage.kind])
            data = self.entry(f"data/{storage.key}")
            values = np.frombuffer(data, kind, len(data) // kind.itemsize).astype(KINDS[storage.kind], copy=False)
            self._read[storage] = (values.astype("u4") << 16).view("f4") if storage.kind == BFLOAT16 else values
        return self._read[storage]


# --- what stands in for torch's own functions ---


def _storage(identity: Any) -> Any:
    match identity:
        case ("storage", Named(kind), str(key), *_) if kind in KINDS:
            return Storage(kind, key)
    return OTHER


def _tensor(storage: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any) -> Any:
    plain = all(type(number) is int for number in (offset, *shape, *strides)) and len(shape) == len(strides)
    return Tensor(storage, offset, shape, strides) if isinstance(storage, Storage) and plain else OTHER


def _parameter(tensor: Any, *_: Any) -> Any:
    return tensor


def _with_attributes(maker: Any, kind: Any, arguments: Any, *_: Any) -> Any:
    """A tensor on which another program left attributes."""
    known = MAKERS.get(maker.name) if isinstance(maker, Named) else None
    return OTHER if known is None else known(*arguments)


MAKERS: Mapping[str, Callable[..., Any]] = {
    "collections OrderedDict": lambda *_: {},
    "torch._utils _rebuild_tensor": _tensor,
    "torch._utils _rebuild_tensor_v2": _tensor,
    "torch._utils _rebuild_parameter": _parameter,
    "torch._utils _rebuild_parameter_with_state": _parameter,
    "torch._tensor _rebuild_from_type_v2": _with_attributes,
}


def _plain(name: str) -> str:
    """
    >>> _plain("_orig_mod.module.ff_stack.0.weight")
    'ff_stack.0.weight'
    """
    while prefix := next((prefix for prefix in PREFIXES if name.startswith(prefix)), ""):
        name = name.removeprefix(prefix)
    return name
