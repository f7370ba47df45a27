"""Run directories: one writer at a time, nothing moved away silently, checkpoints found wherever they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jimbot.errors import SettingsError, StorageError, UsageError
from jimbot.runs import find_checkpoint
from jimbot.runs.directory import RunDirectory
from jimbot.runs.files import TEMPORARY
from tests.runs.checkpoint_making import save

HOLD = "import sys, time; from jimbot.runs.directory import RunDirectory\n"
HOLD += "run = RunDirectory(sys.argv[1], 'mine').open_or_create(); print('held', flush=True); time.sleep(600)"


@pytest.fixture
def other_trainer(tmp_path: Path):
    """Another process that has taken the run 'mine'."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_the_same_command_continues_the_same_run(tmp_path: Path) -> None:
    config = {"learner": "jax", "lr": 2.5e-4, "options": {"horizon": 8}, "name": "größer"}
    with RunDirectory(tmp_path, "mine").open_or_create() as run:
        run.write_config(config)
        path = save(run.checkpoints(), 100)
    with RunDirectory(tmp_path, "mine").open_or_create() as again:
        assert again.read_config() == config
        assert again.checkpoints().latest() == path


def test_a_new_run_has_no_settings_and_broken_settings_are_named(tmp_path: Path) -> None:
    with RunDirectory(tmp_path, "mine").open_or_create() as run:
        assert run.read_config() is None
        for text, words in (("a: [", "cannot be read: line 1"), ("just text", "holds no settings")):
            run.config_path.write_text(text)
            with pytest.raises(SettingsError, match=words):
                run.read_config()


def test_fresh_keeps_the_old_run_under_a_number(tmp_path: Path) -> None:
    for number in range(3):
        with RunDirectory(tmp_path, "mine").open_or_create(fresh=True) as run:
            assert run.read_config() is None
            assert run.checkpoints().latest() is None
            run.write_config({"number": number})
            save(run.checkpoints(), 100)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["mine", "mine.old-1", "mine.old-2"]
    assert RunDirectory(tmp_path, "mine.old-2").read_config() == {"number": 1}
    assert find_checkpoint("mine.old-1", tmp_path).parent.parent.name == "mine.old-1"


def test_fresh_on_an_untouched_run_moves_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        RunDirectory(tmp_path, "mine").open_or_create(fresh=True).close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine"]


def test_two_trainers_never_write_the_same_run(tmp_path: Path, other_trainer: subprocess.Popen) -> None:
    for fresh in (False, True):
        with pytest.raises(StorageError, match=f"written by process {other_trainer.pid};"):
            RunDirectory(tmp_path, "mine").open_or_create(fresh=fresh)
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine"]
    RunDirectory(tmp_path, "another").open_or_create().close()


def test_the_run_of_a_killed_trainer_is_taken_over(tmp_path: Path, other_trainer: subprocess.Popen) -> None:
    os.kill(other_trainer.pid, signal.SIGKILL)
    other_trainer.wait()
    with RunDirectory(tmp_path, "mine").open_or_create() as run:
        assert (run.path / "lock").read_text() == f"{os.getpid()}\n"


def test_checkpoints_kept_elsewhere_are_found_through_the_run(tmp_path: Path) -> None:
    runs, elsewhere = tmp_path / "runs", tmp_path / "big disk"
    for step in (100, 200):
        with RunDirectory(runs, "mine").open_or_create(checkpoint_dir=elsewhere) as run:
            save(run.checkpoints(), step)
    assert sorted(entry.name for entry in (elsewhere / "mine").iterdir())[:2] == ["000000000100", "000000000200"]
    assert find_checkpoint("mine", runs).name == "000000000200"
    with pytest.raises(UsageError, match="keeps its checkpoints in"):
        RunDirectory(runs, "mine").open_or_create(checkpoint_dir=tmp_path / "third")
    with RunDirectory(runs, "mine").open_or_create(fresh=True, checkpoint_dir=elsewhere) as run:
        assert run.checkpoints().latest() is None
    assert find_checkpoint("mine.old-1", runs).name == "000000000200"


def test_leftovers_of_killed_writers_are_swept_when_the_run_is_taken(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, "mine").open_or_create()
    run.close()
    leftover = run.path / f"{TEMPORARY}999999999-aabbccdd-0-config.yaml"
    leftover.write_text("half")
    run.open_or_create().close()
    assert not leftover.exists()


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "..", "a\\b"])
def test_names_that_are_no_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be used"):
        RunDirectory(tmp_path, name)


def test_an_unwritable_root_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"Could not write .*mine: Not a directory"):
        RunDirectory(tmp_path / "file", "mine").open_or_create()
