"""Every reader answers with a value or with one reason, whatever it is given."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.errors import JimbotError, UnreadableError
from jimbot.reading.arrays import npy_array
from jimbot.reading.models import checked_model
from jimbot.reading.plain import as_text, file_bytes, gunzipped, json_value
from jimbot.reading.yaml_values import yaml_value
from jimbot.runs.arrays import read_npz, write_npz
from tests.reading import hostile
from tests.reading.hostile import by_name, refused

MODEL = Path(__file__).parents[1] / "runs/fixtures/format-1/000000004096/policy.onnx"


# --- JSON and YAML ---


@by_name(hostile.JSON)
def test_json_that_breaks_the_format_is_one_reason(given: str) -> None:
    refused(json_value, given)


def test_json_is_read_as_the_standard_library_reads_it() -> None:
    text = '{"a": [1, -2.5e3, true, null, "\\u00e9\\ud83c\\udccf"], "b": 18446744073709551615}'
    assert json_value(text) == {"a": [1, -2500.0, True, None, "é🃏"], "b": 2**64 - 1}
    assert json_value(text.encode()) == json_value(text)


def test_json_of_our_own_figures_may_hold_nan() -> None:
    assert str(json_value("[NaN, -Infinity]", constants=True)) == "[nan, -inf]"


@by_name(hostile.YAML)
def test_yaml_that_breaks_the_format_is_one_reason(given: str) -> None:
    refused(yaml_value, given)


def test_yaml_is_read_with_its_anchors_and_merges() -> None:
    text = "base: &base {lr: 0.1, layers: [64, 64]}\nmine: {<<: *base, lr: 0.2}\nagain: *base\n"
    assert yaml_value(text)["mine"] == {"lr": 0.2, "layers": [64, 64]}
    assert yaml_value("") is None
    assert yaml_value("2023-12-31").year == 2023


@pytest.mark.parametrize("read", [json_value, yaml_value])
def test_changed_texts_never_end_in_anything_but_a_reason(read: Callable[[Any], Any]) -> None:
    text = '{"game": "probe", "seed": 12, "when": "2023-01-31", "moves": ["a", [1.5, {"b": null}]], "at": 2023-01-31}'
    for data in hostile.spoiled(text.encode(), 600):
        with suppress(UnreadableError):
            read(as_text(data))


# --- files ---


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = hostile.written(tmp_path, "file", b"12345")
    assert file_bytes(path, 5) == b"12345"
    assert "larger than 4 bytes" in refused(lambda path: file_bytes(path, 4), path)
    assert "larger" in refused(lambda path: file_bytes(path, 1000), "/dev/zero")


@pytest.mark.parametrize("name", ["", "missing", "a\0b", "x" * 5000])
def test_names_that_cannot_be_opened_are_one_reason(tmp_path: Path, name: str) -> None:
    refused(file_bytes, f"{tmp_path}/{name}")


def test_gzip_is_bounded_by_what_comes_out() -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)
    assert len(bomb) < 20_000
    assert "more than 1,000,000 bytes" in refused(lambda data: gunzipped(data, 1_000_000), bomb)
    assert "more than" in refused(lambda data: gunzipped(data, 1_000_000), gzip.compress(b"a" * 600_000) * 2)
    assert gunzipped(gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"
    assert "too early" in refused(gunzipped, gzip.compress(b"hello" * 50)[:-12])
    assert "not gzip" in refused(gunzipped, b"plain text")


def test_changed_gzip_files_never_end_in_anything_but_a_reason() -> None:
    for data in hostile.spoiled(gzip.compress(os.urandom(300) + b"a" * 3000), 400):
        with suppress(UnreadableError):
            gunzipped(data, 100_000)


# --- arrays ---


@by_name(hostile.NPY)
def test_npy_headers_that_lie_are_one_reason(given: bytes) -> None:
    refused(lambda data: npy_array(data, "a"), given)


def test_plain_arrays_come_back(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b/c": np.array("text é"), "d": np.zeros((0, 4), bool)}
    write_npz(tmp_path / "file.npz", arrays)
    found = read_npz(tmp_path / "file.npz")
    assert all((found[name] == value).all() and found[name].dtype == value.dtype for name, value in arrays.items())


def test_an_archive_whose_entries_share_bytes_is_refused(tmp_path: Path) -> None:
    path = hostile.written(tmp_path, "bomb.npz", hostile.overlapping())
    with np.load(path) as loaded:  # NumPy hands out sixty times what the file holds
        assert sum(loaded[name].nbytes for name in loaded.files) > 50 * path.stat().st_size
    with pytest.raises(JimbotError, match="overlaps"):
        read_npz(path)


def test_compressed_and_doubled_entries_are_refused(tmp_path: Path) -> None:
    array = io.BytesIO()
    np.save(array, np.zeros(1_000_000))
    for name, data in {
        "deflated": hostile.archive({"a.npy": array.getvalue()}, zipfile.ZIP_DEFLATED),
        "twice": hostile.archive({"a.npy": hostile.npy(), "b.npy": hostile.npy()}).replace(b"b.npy", b"a.npy"),
        "no array": hostile.archive({"a.txt": b"hello"}),
        "no archive": b"PK\x05\x06 nothing",
    }.items():
        with pytest.raises(JimbotError, match="is damaged or not an npz file"):
            read_npz(hostile.written(tmp_path, name, data))


def test_changed_archives_never_end_in_anything_but_a_reason(tmp_path: Path) -> None:
    write_npz(tmp_path / "sound.npz", {"a": np.arange(20), "b": np.array("text"), "c": np.ones((3, 3), np.float32)})
    for number, data in enumerate(hostile.spoiled((tmp_path / "sound.npz").read_bytes(), 400)):
        with suppress(JimbotError):
            read_npz(hostile.written(tmp_path, f"{number % 2}.npz", data))


# --- models ---


def graph(nodes: list[Any], initializers: list[Any] = [], **changes: Any) -> bytes:  # noqa: B006 - only read
    import onnx
    from onnx import TensorProto, helper

    inputs = [
        helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["N", 4]),
        helper.make_tensor_value_info("legal_mask", TensorProto.BOOL, ["N", 4]),
    ]
    outputs = [helper.make_tensor_value_info("log_probabilities", TensorProto.FLOAT, None)]
    made = helper.make_graph(nodes, "policy", inputs, outputs, initializers, **changes)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("evil", 1)])
    assert isinstance(model, onnx.ModelProto)
    return model.SerializeToString()


def bombs() -> dict[str, bytes]:
    from onnx import TensorProto, helper, numpy_helper

    huge = numpy_helper.from_array(np.array([2**20, 2**20]), "huge")
    node = helper.make_node
    outside = helper.make_tensor("outside", TensorProto.FLOAT, [4], np.zeros(4))
    outside.ClearField("float_data")
    outside.data_location = TensorProto.EXTERNAL
    outside.external_data.add(key="location", value="/etc/passwd")
    announced = TensorProto(name="announced", data_type=TensorProto.FLOAT, dims=[2**40])
    inner = helper.make_graph([node("Add", ["observation", "observation"], ["x"])], "inner", [], [])
    doubling = [node("Concat", [f"x{n}", f"x{n}"], [f"x{n + 1}"], axis=0) for n in range(40)]
    return {
        "zeros": graph([node("ConstantOfShape", ["huge"], ["log_probabilities"])], [huge]),
        "expand": graph([node("Expand", ["observation", "huge"], ["log_probabilities"])], [huge]),
        "tile": graph([node("Tile", ["observation", "huge"], ["log_probabilities"])], [huge]),
        "doubling": graph([node("Identity", ["observation"], ["x0"]), *doubling]),
        "unknown size": graph([node("NonZero", ["observation"], ["log_probabilities"])]),
        "other file": graph([node("Add", ["observation", "outside"], ["log_probabilities"])], [outside]),
        "announced": graph([node("Add", ["observation", "announced"], ["log_probabilities"])], [announced]),
        "branch": graph([node("If", ["c"], ["log_probabilities"], then_branch=inner, else_branch=inner)]),
        "foreign operator": graph([node("Run", ["observation"], ["log_probabilities"], domain="evil")]),
        "unknown operator": graph([node("Nonsense", ["observation"], ["log_probabilities"])]),
        "missing input": graph([node("Add", ["observation", "nobody"], ["log_probabilities"])]),
        "nothing": graph([]),
        "empty": b"",
        "no model": b"\xff" * 100,
        "cut off": MODEL.read_bytes()[:400],
    }


@by_name(bombs())
def test_models_that_are_no_policy_are_refused_before_anything_is_computed(given: bytes) -> None:
    refused(checked_model, given)


def test_our_own_models_pass() -> None:
    for path in (MODEL, *(Path(__file__).parents[2] / "jimbot/pretrained").glob("*/policy.onnx")):
        checked_model(path.read_bytes())


def test_changed_models_never_end_in_anything_but_a_reason() -> None:
    for data in hostile.spoiled(MODEL.read_bytes(), 400):
        with suppress(UnreadableError):
            checked_model(data)
