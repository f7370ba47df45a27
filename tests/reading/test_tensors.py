"""`.pt` files: every kind of tensor loads, whatever lies beside it is passed over, and nothing of a file's runs."""

from __future__ import annotations

import builtins
import io
import os
import zipfile
from argparse import Namespace
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from jimbot.errors import UnreadableError
from jimbot.reading.tensors import read_tensors
from tests.reading import hostile
from tests.reading.hostile import by_name, refused


class Does:
    """Pickled as a call that leaves a file."""

    def __init__(self, call: Any, *arguments: Any) -> None:
        self._told = call, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self._told


class Kind(Enum):
    MLP = 1


@dataclass
class Config:
    hidden: int = 64
    kind: Kind = Kind.MLP


MALICE = {
    "a call": Does(os.system, "touch executed"),
    "source": Does(builtins.eval, "open('executed', 'w')"),
    "a call in a call": Does(getattr, Does(__import__, "os"), "mkdir"),
    "with colours": Does(builtins.exec, "raise SystemError('\x1b[31mred'); open('executed', 'w')"),
    "deep in an object": SimpleNamespace(one=[{"two": Does(os.mkdir, "executed")}]),
}
EXTRAS = {
    "dataclass": Config(),
    "namespace": SimpleNamespace(lr=1e-4, layers=[1, 2]),
    "arguments": Namespace(lr=1e-4, out=Path("runs")),
    "path": Path("runs/one"),
    "defaultdict": defaultdict(list, {"loss": [0.1, 0.2]}),
    "enum": Kind.MLP,
    "NumPy scalar": np.float64(0.5),
    "NumPy array": np.arange(3),
    "set, bytes and texts": [{1, 2}, b"a", "b", ("c", None, True), range(3), 1j],
    "optimiser": torch.optim.Adam([torch.nn.Parameter(torch.zeros(2))]).state_dict(),
    "sparse tensor": torch.eye(2).to_sparse(),
}


def saved(value: Any, **settings: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, **settings)
    return file.getvalue()


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_tensors_come_back_in_every_kind_and_shape(tmp_path: Path, protocol: int) -> None:
    numbers = torch.arange(24.0).reshape(2, 3, 4)
    tensors = {
        "turned": numbers.transpose(0, 2), "part": numbers[1:, ::2, 1], "one": torch.tensor(3),
        "none": torch.zeros(0, 5), "parameter": torch.nn.Parameter(numbers), **torch.nn.BatchNorm1d(3).state_dict(),
        **{name: torch.tensor([0, 1, 2]).to(getattr(torch, name)) for name in (
            "float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
        )},
    }  # fmt: skip
    tensors["parameter"].__dict__["note"] = "somebody's"
    found = read_tensors(hostile.written(tmp_path, "a.pt", saved(tensors, pickle_protocol=protocol)))
    assert list(found) == list(tensors)
    for name, value in tensors.items():
        np.testing.assert_array_equal(found[name], value.detach().numpy(), strict=True)
    turned = hostile.written(tmp_path, "big.pt", tensor_of(0, 1, 1, numbers=b"\x40\0\0\0", byteorder=b"big"))
    assert read_tensors(turned)["w"].tolist() == [2]
    half = hostile.written(tmp_path, "half.pt", saved({"w": torch.tensor([1.5, -2.0]).bfloat16()}))
    assert (read_tensors(half)["w"].tolist(), read_tensors(half)["w"].dtype) == ([1.5, -2.0], np.float32)


@by_name(EXTRAS | MALICE)
def test_what_lies_beside_the_tensors_is_passed_over_and_runs_nothing(
    given: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = {"w": torch.ones(2), "beside": given}
    for number, value in enumerate(({"config": given, "model": model, "epoch": 3}, model)):
        found = read_tensors(hostile.written(tmp_path, f"{number}.pt", saved(value)))
        assert {name: array.tolist() for name, array in found.items()} == {"w": [1, 1]}
    assert not (tmp_path / "executed").exists()


@by_name(MALICE | {f"a model that is {name}": {"model": value} for name, value in (EXTRAS | MALICE).items()} | {
    "a list": [torch.zeros(1)], "a number": {"w": 3}, "numbered": {1: torch.zeros(1)}, "nothing": {},
    "a whole module": torch.nn.Linear(2, 2), "colours": {"\x1b[31mred": torch.zeros(1)},
    "expanded": {"w": torch.zeros(1).expand(2**40)},
})  # fmt: skip
def test_pt_files_without_plain_tensors_are_one_reason_and_run_nothing(
    given: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reason = refused(read_tensors, hostile.written(tmp_path, "a.pt", saved(given)))
    assert reason.isprintable()
    assert "weights_only" not in reason
    assert not (tmp_path / "executed").exists()


def tensor_of(offset: int, size: int, step: int, numbers: bytes = b"\0" * 4, byteorder: bytes = b"little") -> bytes:
    """A `.pt` file, written by hand, of one tensor in a storage of one number."""
    storage = b"(S'storage'\nctorch\nFloatStorage\nS'0'\nS'cpu'\nI1\ntQ"
    place = f"I{offset}\n(I{size}\nt(I{step}\ntI00\nNtR".encode()
    pickle = b"}S'w'\nctorch._utils\n_rebuild_tensor_v2\n(" + storage + place + b"s."
    return hostile.archive({"a/data.pkl": pickle, "a/data/0": numbers, "a/byteorder": byteorder})


def test_a_tensor_lies_inside_its_storage(tmp_path: Path) -> None:
    assert read_tensors(hostile.written(tmp_path, "a.pt", tensor_of(0, 1, 1)))["w"].tolist() == [0]
    huge = 2**65
    for wrong in ((-1, 1, 1), (0, -1, 1), (1, 1, 1), (0, 2, 1), (0, 2, 0), (0, 1, huge), (huge, 1, 1), (0, huge, 0)):
        reason = refused(read_tensors, hostile.written(tmp_path, "a.pt", tensor_of(*wrong)))
        assert reason == "its tensor 'w' is more than the file holds"


@pytest.mark.parametrize("pickle", [
    b"", b".", b"(.", b"0.", b"ga\n.", b"r\xff\xff\xff\xff.", b"\x8e" + b"\xff" * 8, b"\x96" + b"\x7f" * 8, b"}}s.",
    b"(" * 100_000 + b"t" * 100_000 + b".", b"}S'w'\nctorch._utils\n_rebuild_tensor_v2\n)Rs.",
])  # fmt: skip
def test_pickles_that_break_the_format_are_one_reason(pickle: bytes, tmp_path: Path) -> None:
    refused(read_tensors, hostile.written(tmp_path, "a.pt", hostile.archive({"a/data.pkl": pickle})))


def test_archives_that_torch_does_not_write_are_one_reason(tmp_path: Path) -> None:
    refused(read_tensors, hostile.written(tmp_path, "text.pt", b"hello"))
    for entries, compression in (({"a/data.pkl": b"}."}, zipfile.ZIP_DEFLATED), ({"a/b": b""}, zipfile.ZIP_STORED)):
        refused(read_tensors, hostile.written(tmp_path, "a.pt", hostile.archive(entries, compression)))


def test_changed_pt_files_never_end_in_anything_but_a_reason(tmp_path: Path) -> None:
    sound = saved({"w": torch.arange(4.0), "config": Config()})
    for number, data in enumerate(hostile.spoiled(sound, 200)):
        with suppress(UnreadableError):
            read_tensors(hostile.written(tmp_path, f"{number % 2}.pt", data))
