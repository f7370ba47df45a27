"""Datasets from outside are checked before they are used; every complaint is one sentence with exit code 2."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.errors import DatasetError
from jimbot.games.contract import game_entry
from jimbot.training.imitation.dataset import Dataset, writing_dataset
from tests.training.imitation.teachers import record_perfect


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_perfect(tmp_path_factory.mktemp("recorded"))[0]


def changed(path: Path, target: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """The dataset with some entries replaced (or, by None, left out)."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            data = change(entry.filename, old.read(entry))
            if data is not None:
                new.writestr(entry.filename, data)
    return target


def info_with(**values: Any) -> Callable[[str, bytes], bytes]:
    def change(name: str, data: bytes) -> bytes:
        return json.dumps({**json.loads(data), **values}).encode() if name == "info.json" else data

    return change


def without(part: str) -> Callable[[str, bytes], bytes | None]:
    return lambda name, data: None if part in name else data


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (info_with(game="chess"), "is of game 'chess', which this JimBot does not have"),
        (info_with(game="hackmatrix"), "of dataset"),
        (info_with(game_version=99), "The version of the game of dataset"),
        (info_with(observation_fingerprint="0"), "The observation table of dataset"),
        (info_with(action_fingerprint="0"), "The action table of dataset"),
        (info_with(format_version=7), "has format 7"),
        (info_with(chunks=[10**9]), "a chunk of 1000000000 rows"),
        (info_with(chunks=[]), "damaged"),
        (info_with(policy=None), "field 'policy'"),
        (without("info.json"), "not a dataset of JimBot"),
        (without("reward"), "is damaged"),
        (lambda name, data: data[:-8] if "action" in name else data, "announces int32"),
        (lambda name, data: np.zeros(3).tobytes() if "info" in name else data, "not a dataset of JimBot"),
    ],
)
def test_a_dataset_that_does_not_fit_is_refused_in_one_sentence(
    change: Callable, words: str, recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed(recorded, tmp_path / "bad.npz", change)
    assert run(["clone", str(path), "--runs-dir", str(tmp_path / "runs")]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


def test_bytes_that_changed_on_the_disk_are_noticed(recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "flipped.npz"
    shutil.copy(recorded, path)
    with zipfile.ZipFile(path) as archive:
        at = archive.getinfo("chunk_00000/observation.npy").header_offset + 200
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(DatasetError, match="is damaged"), Dataset.open(path) as dataset:
        dataset.chunk(0)


def test_half_a_file_and_no_file_and_no_zip_are_refused(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half = tmp_path / "half.npz"
    half.write_bytes(recorded.read_bytes()[:1000])
    for path, words in (
        (half, "is damaged or not a dataset"),
        (tmp_path / "none.npz", "There is no dataset"),
        (tmp_path, "is damaged or not a dataset"),
    ):
        assert run(["clone", str(path)]) == 2
        assert words in capsys.readouterr().err


def test_a_dataset_without_a_finished_game_is_empty(recorded: Path, tmp_path: Path) -> None:
    def unfinished(name: str, data: bytes) -> bytes:
        return data[:-64] + bytes(64) if "ended" in name else data

    with pytest.raises(DatasetError, match="is empty: it holds no finished game"):
        Dataset.open(changed(recorded, tmp_path / "empty.npz", unfinished))


def test_a_dataset_of_a_game_that_reported_less_is_read(recorded: Path, tmp_path: Path) -> None:
    def older(name: str, data: bytes) -> bytes:
        if name == "trajectories/stats.npy":
            file = io.BytesIO()
            np.save(file, np.load(io.BytesIO(data))[:, :1])
            return file.getvalue()
        if name == "info.json":
            info = json.loads(data)
            return json.dumps({**info, "stats": dict([next(iter(info["stats"].items()))])}).encode()
        return data

    with Dataset.open(changed(recorded, tmp_path / "older.npz", older)) as dataset:
        assert dataset.stats.shape == (dataset.info.trajectories, 1)


def test_masks_that_observations_do_not_tell_are_kept(recorded: Path, tmp_path: Path) -> None:
    def all_legal(observation: np.ndarray) -> np.ndarray:
        return np.ones((len(observation), game_entry("probe").spec.actions.size), bool)

    with Dataset.open(recorded) as dataset:
        chunk = dataset.chunk(0)
    part = {"observation": chunk.observation, "action": chunk.action, "legal_mask": chunk.legal_mask}
    easy = {**part, "legal_mask": np.ones_like(chunk.legal_mask)}
    with writing_dataset(tmp_path / "lean.npz", all_legal) as writer:
        writer.add_chunk(easy)
        writer.add_chunk(part)
    names = zipfile.ZipFile(tmp_path / "lean.npz").namelist()
    assert "chunk_00000/legal_mask.npy" not in names
    assert "chunk_00001/legal_mask.npy" in names


def test_an_action_that_was_not_legal_is_noticed(recorded: Path, tmp_path: Path) -> None:
    def closed(name: str, data: bytes) -> bytes:
        return data[:128] + bytes(len(data) - 128) if "legal_mask" in name else data

    with (
        pytest.raises(DatasetError, match="an action that was not legal"),
        Dataset.open(changed(recorded, tmp_path / "illegal.npz", closed)) as dataset,
    ):
        dataset.chunk(0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["record", "prob"], "Unknown game 'prob'. Did you mean 'probe'"),
        (["record", "probe", "--policy", "heuristik"], "Unknown policy 'heuristik': no heuristic player of probe"),
        (["record", "probe", "--policy", "random", "--games", "0"], "--games is 0"),
        (["record", "probe", "--policy", "random", "--noise", "1.5"], "noise is 1.5"),
        (["record", "probe", "--policy", "random", "--output", "there.npz"], "there.npz exists already"),
        (["clone", "there.npz"], "not a dataset of JimBot"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use_is_one_sentence_and_exit_code_2(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.npz").write_text("something")
    assert run(arguments) == 2
    assert words in capsys.readouterr().err
    assert (tmp_path / "there.npz").read_text() == "something"
