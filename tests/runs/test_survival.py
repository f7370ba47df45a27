"""Kills, full disks and unwritable places: a run directory never needs repair by hand."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import StorageError
from jimbot.runs import CheckpointStore, load_checkpoint
from jimbot.runs.files import write_atomically, write_directory_atomically
from tests.runs.checkpoint_making import arrays, save

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kills", [50, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("replacing", ["swap", "rename"])
def test_the_newest_complete_checkpoint_loads_after_every_kill(tmp_path: Path, kills: int, replacing: str) -> None:
    module = [sys.executable, "-m", "tests.runs.kill_while_saving"]
    program = [*module, tmp_path / "checkpoints", str(kills), "5", replacing]
    ended = subprocess.run(program, cwd=REPOSITORY, capture_output=True, text=True, timeout=500)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report["struck_inside"] >= kills // 5, "too few kills fell into a save to prove anything"
    assert report["reached"] > 0


LIMITED = """
import resource
from pathlib import Path
from tests.runs.checkpoint_making import save
from jimbot.errors import StorageError
from jimbot.runs import CheckpointStore
store = CheckpointStore(Path({root!r}))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    save(store, 200, size=100_000)
except StorageError as problem:
    print(problem)
"""


def run_limited(root: Path) -> str:
    """Saves in a process that may not write a file above 20 kB: the same failure path as a full disk."""
    code = LIMITED.format(root=str(root))
    program = [sys.executable, "-c", code]
    return subprocess.run(program, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.strip()


def test_a_save_that_runs_out_of_room_is_one_sentence_and_loses_nothing(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    save(store, 100)
    sentence = run_limited(tmp_path)
    assert sentence.startswith(f"Could not write {tmp_path / '000000000200'}: File too large.")
    assert "\n" not in sentence
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["000000000100", "latest"]
    assert np.array_equal(load_checkpoint(store.latest() or "").state()["weights"], arrays(100)["weights"])


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 64 kB; needs the right to mount."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "jimbot-test", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("mounting is not allowed here; the size limit test covers the same path")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_really_full_is_one_sentence_and_loses_nothing(tiny_disk: Path) -> None:
    store = CheckpointStore(tiny_disk, keep_last=100)

    def fill_the_disk() -> None:
        for step in range(100, 2000, 100):
            save(store, step, size=500)

    with pytest.raises(StorageError, match="No space left on device") as caught:
        fill_the_disk()
    newest = store.latest()
    assert newest is not None
    assert str(tiny_disk) in str(caught.value)
    assert not [entry for entry in tiny_disk.iterdir() if entry.name.startswith(".tmp-")]
    assert load_checkpoint(newest).state()["weights"][0] == load_checkpoint(newest).manifest.step


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="Not a directory"):
        save(CheckpointStore(tmp_path / "file" / "checkpoints"), 100)
    with pytest.raises(StorageError, match=r"config\.yaml: Not a directory"):
        write_atomically(tmp_path / "file" / "config.yaml", b"x")


def test_a_read_only_disk_is_one_sentence(tiny_disk: Path) -> None:
    store = CheckpointStore(tiny_disk)
    save(store, 100)
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)
    with pytest.raises(StorageError, match="Read-only file system"):
        save(store, 200)
    assert load_checkpoint(store.latest() or "").manifest.step == 100


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits do not bind root")
def test_a_read_only_directory_is_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="Permission denied"):
            write_atomically(tmp_path / "config.yaml", b"x")
    finally:
        tmp_path.chmod(0o700)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    write_atomically(path, b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(StorageError, match="File too large"):
            write_atomically(path, b"n" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["config.yaml"]


def test_a_directory_whose_filling_fails_never_appears(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_directory_atomically(tmp_path / "whole", fill)
    assert list(tmp_path.iterdir()) == []


def test_everything_is_synced_before_it_becomes_visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill cannot show what a power cut would: that the data reach the disk before the name does."""
    happened: list[tuple[str, str]] = []

    def watched(name: str) -> None:
        real = getattr(os, name)

        def call(what, *rest, **more):
            path = os.readlink(f"/proc/self/fd/{what}") if name == "fsync" else str(what)
            happened.append((name, path))
            return real(what, *rest, **more)

        monkeypatch.setattr(os, name, call)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc to tell which file is synced")
    for name in ("fsync", "rename", "replace"):
        watched(name)
    save(CheckpointStore(tmp_path), 100)
    renamed = next(i for i, (name, _) in enumerate(happened) if name == "rename")
    temporary = happened[renamed][1]
    synced = {path.removeprefix(temporary) for name, path in happened[:renamed] if name == "fsync"}
    assert synced == {
        "", "/manifest.json", "/policy.onnx", "/params_100.npz", "/state", "/state/state.npz",
    }  # fmt: skip
    assert happened[renamed + 1] == ("fsync", str(tmp_path))
    pointer = next(i for i, (name, _) in enumerate(happened) if name == "replace")
    assert ("fsync", happened[pointer][1]) in happened[renamed + 1 : pointer]
    assert happened[pointer + 1] == ("fsync", str(tmp_path))
