"""A run is never written by the wrong process, never brought back, never buried and never left behind for nothing."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from jimbot import machine
from jimbot.errors import CheckpointError, NotWritableError, StorageError, UsageError
from jimbot.runs import files
from jimbot.runs.checkpoint import CheckpointStore, Manifest, find_checkpoint
from jimbot.runs.directory import RunDirectory
from jimbot.runs.files import check_target, storing
from jimbot.runs.recorder import Recorder, standard_sinks
from jimbot.runs.sinks.jsonl import read_rows
from tests.runs.checkpoint_making import save


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def deleted(path: Path) -> None:
    shutil.rmtree(path)


def replaced(path: Path) -> None:
    moved(path)
    RunDirectory(path.parent, path.name).open_or_create().close()


@pytest.mark.parametrize("happened", [moved, deleted, replaced])
def test_a_run_that_is_no_longer_at_its_place_is_not_written_any_more(
    tmp_path: Path, happened: Callable[[Path], None]
) -> None:
    run = RunDirectory(tmp_path, "mine").open_or_create()
    store, recorder = run.checkpoints(), Recorder(standard_sinks(run), run.check_held)
    best = save(store, 100)
    recorder.record(100, {"a": 1.0})
    happened(run.path)
    there = sorted(path for path in tmp_path.rglob("*"))
    content = {path: path.read_bytes() for path in there if path.is_file()}
    for write in (
        lambda: save(store, 200),
        lambda: store.mark_best(best),
        lambda: recorder.record(200, {"a": 2.0}),
        lambda: recorder.event(200, "saved"),
        lambda: recorder.trim(0),
    ):
        with pytest.raises(StorageError, match="moved, deleted or replaced"):
            write()
    recorder.close()
    run.close()
    assert sorted(path for path in tmp_path.rglob("*")) == there
    assert {path: path.read_bytes() for path in there if path.is_file()} == content


def test_a_moved_run_cannot_be_taken_by_another_while_its_writer_lives(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, "mine").open_or_create()
    moved(run.path)
    with pytest.raises(NotWritableError, match="being written by process"):
        RunDirectory(tmp_path, "elsewhere").open_or_create()
    run.close()
    RunDirectory(tmp_path, "elsewhere").open_or_create().close()


def test_damaged_checkpoints_are_not_buried_under_a_new_start(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "mine" / "checkpoints")
    store.refuse_damage()  # nothing was ever saved: a first start
    for step in (100, 200):
        (save(store, step) / "policy.onnx").write_bytes(b"damaged")
    assert store.latest() is None
    with pytest.raises(CheckpointError, match=r"all are damaged: 000000000100, 000000000200.*--fresh"):
        store.refuse_damage()
    for step in (100, 200):
        shutil.rmtree(store.root / f"{step:012d}")
    with pytest.raises(CheckpointError, match="they are gone"):
        store.refuse_damage()


def score(manifest: Manifest) -> float | None:
    return manifest.metrics.get("score")


def test_best_never_points_at_a_line_that_was_left(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep_last=9)
    for step, value in ((100, 1.0), (200, 5.0), (300, 3.0), (400, 9.0)):
        save(store, step, is_best=step == 400, metrics={"score": value})
    store.rewind(400, score)
    assert store.best() == tmp_path / "000000000400"
    store.rewind(300, score)
    assert store.best() == tmp_path / "000000000200", "the best of what came before"
    store.rewind(50, score)
    assert store.best() is None
    store.rewind(50, score)


def test_a_directory_that_nothing_came_of_goes_and_the_old_run_comes_back(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, "mine").open_or_create()
    run.write_config({"lr": 1})
    run.close()
    run.discard()
    assert not run.path.exists()

    with RunDirectory(tmp_path, "mine").open_or_create(checkpoint_dir=tmp_path / "big") as run:
        save(run.checkpoints(), 100)
    again = RunDirectory(tmp_path, "mine").open_or_create()
    again.close()
    again.discard()  # it was there before this call
    assert find_checkpoint("mine", tmp_path).name == "000000000100"
    fresh = RunDirectory(tmp_path, "mine").open_or_create(fresh=True, checkpoint_dir=tmp_path / "big")
    fresh.write_config({"lr": 2})
    fresh.close()
    fresh.discard()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big", "mine"]
    assert find_checkpoint("mine", tmp_path).name == "000000000100"


def test_a_directory_with_work_in_it_is_never_discarded(tmp_path: Path) -> None:
    for name in ("metrics.jsonl", "population.json", "checkpoints/000000000100"):
        run = RunDirectory(tmp_path, name.replace("/", "-")).open_or_create()
        (run.path / name).write_text("work")
        run.close()
        run.discard()
        assert (run.path / name).exists()


@pytest.mark.parametrize("name", ["a\0b", "a\ud800", "a\nb", "x" * 300])
def test_names_that_no_system_bears_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be used"):
        RunDirectory(tmp_path, name)


def test_existing_files_are_told_what_they_are(tmp_path: Path) -> None:
    checkpoint = save(CheckpointStore(tmp_path / "mine" / "checkpoints"), 100)
    for name, content in {
        "config.yaml": b"lr: 1",
        "empty.txt": b"",
        "game.json": b'{"game": "probe", "moves": []}',
        "notes.txt": b"hello",
        "broken.npz": b"PK",
    }.items():
        (tmp_path / name).write_bytes(content)
    for path, words in {
        tmp_path / "config.yaml": "a file of settings",
        tmp_path / "empty.txt": "an empty file",
        tmp_path / "game.json": "a recorded game of probe",
        tmp_path / "notes.txt": "a file of another kind",
        tmp_path / "broken.npz": "a damaged archive",
        checkpoint / "manifest.json": "the manifest of a checkpoint; give the folder",
        checkpoint / "policy.onnx": "a policy for playing",
        checkpoint / "params_100.npz": "the parameters of a policy",
        checkpoint / "state/state.npz": "an archive of another program",
    }.items():
        with pytest.raises(CheckpointError, match=words):
            find_checkpoint(path, tmp_path)


def test_metrics_that_are_no_numbers_are_refused_by_name_and_read_around(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, "mine").open_or_create()
    recorder = Recorder(standard_sinks(run))
    for value in ("high", None, [1], {"a": 1}, 10**400):
        with pytest.raises(UsageError, match="Metric 'loss' is"):
            recorder.record(1, {"loss": value})
    recorder.close()
    run.close()
    rows = ('{"step": 1, "a": 2.5, "b": "x", "c": [1], "d": null, "e": true}', '{"step": "1"}', "[1]", "9" * 5000)
    run.metrics_path.write_text("\n".join(rows) + "\n")
    assert read_rows(run.metrics_path) == [{"step": 1, "a": 2.5, "d": None}]


def test_a_wrong_place_is_wrong_use_and_a_full_disk_a_failure(tmp_path: Path) -> None:
    for number, code in ((errno.EROFS, 2), (errno.EACCES, 2), (errno.ENOSPC, 1), (errno.EIO, 1)):
        with pytest.raises(StorageError) as caught, storing(tmp_path):
            raise OSError(number, os.strerror(number))
        assert caught.value.exit_code == code


def test_a_target_is_tried_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there.html").write_text("kept")
    check_target(tmp_path / "there.html")
    check_target(tmp_path / "new.html")
    assert [path.name for path in tmp_path.iterdir()] == ["there.html"]
    for place in (tmp_path, tmp_path / "missing" / "a.html", tmp_path / "there.html" / "a.html", Path("/proc/a.html")):
        with pytest.raises(NotWritableError):
            check_target(place)


def test_windows_locks_and_syncs_in_its_own_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[tuple[int, int]] = []

    def lock(descriptor: int, mode: int, count: int) -> None:
        if held:
            raise OSError(errno.EACCES, "held")
        held.append((os.lseek(descriptor, 0, os.SEEK_CUR), count))

    monkeypatch.setattr(machine, "_system", SimpleNamespace(locking=lock, LK_NBLCK=2))
    monkeypatch.setattr(files.os, "open", lambda *_: pytest.fail("Windows opens no directories"), raising=True)
    with monkeypatch.context() as windows:
        windows.setattr(files.os, "name", "nt")
        files.sync_directory(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(machine, "_system", SimpleNamespace(locking=lock, LK_NBLCK=2))
    with RunDirectory(tmp_path, "mine").open_or_create():
        assert held == [(machine.FAR, 1)]
        with pytest.raises(NotWritableError, match=f"written by process {os.getpid()}"):
            RunDirectory(tmp_path, "mine").open_or_create()
