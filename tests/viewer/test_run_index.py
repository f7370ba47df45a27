"""The table of runs follows what happens on the disk, whatever lies there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from jimbot.errors import CheckpointError
from jimbot.runs.catalogue import holder, note_run, tag_run
from jimbot.runs.directory import RunDirectory
from jimbot.viewer.run_index import LIVE, STOPPED, RunIndex
from tests.viewer.making import make_run


@pytest.fixture
def index(tmp_path: Path) -> RunIndex:
    make_run(tmp_path, "older", rows=30, age=5000)
    make_run(tmp_path, "newer", rows=12, judged=True, age=10)
    found = RunIndex([tmp_path])
    found.refresh()
    return found


def test_a_row_says_what_the_run_is(index: RunIndex) -> None:
    newer, older = index.rows()
    assert (newer.key.name, newer.game, newer.learner, newer.step) == ("newer", "balatro", "jax", 12 * 262_144)
    assert newer.best is not None
    assert older.best is not None
    assert (newer.best.name, older.best.name) == ("won", "return")
    assert len(older.spark) == 30
    assert older.best.mean == pytest.approx(max(older.spark), rel=1e-3)
    assert [row.key.name for row in index.rows(sort="name")] == ["newer", "older"]


def test_every_word_of_a_filter_must_fit(index: RunIndex, tmp_path: Path) -> None:
    tag_run(tmp_path, "older", ("best",))
    note_run(tmp_path, "older", "the one with the longer warm-up")
    index.refresh()
    assert [row.key.name for row in index.rows("#best balatro WARM")] == ["older"]
    assert not index.rows("#best vgc")


def test_growing_and_half_written_files_are_read_up_to_their_last_whole_line(index: RunIndex, tmp_path: Path) -> None:
    version = index.version
    with open(tmp_path / "older" / "metrics.jsonl", "a") as file:
        file.write('{"step": 99000000, "train/mean_episode_return": 7.5}\n{"step": 99000001, "train/mean_epis')
    index.refresh()
    row = next(row for row in index.rows() if row.key.name == "older")
    assert row.best is not None
    assert (row.step, row.best.mean, len(row.spark)) == (99_000_000, 7.5, 31)
    assert index.news(version) == (version + 1, ["0/older"])
    with open(tmp_path / "older" / "metrics.jsonl", "a") as file:
        file.write('ode_return": 9.25}\n')
    index.refresh()
    assert max(row.best.mean for row in index.rows() if row.best and row.best.name == "return") == 9.25


def test_a_run_that_goes_is_no_longer_listed(index: RunIndex, tmp_path: Path) -> None:
    os.rename(tmp_path / "newer", tmp_path / ".gone")
    index.refresh()
    assert [row.key.name for row in index.rows()] == ["older"]
    with pytest.raises(CheckpointError, match="no run 'newer'"):
        index.run(0, "newer")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("metrics.jsonl", b"\xff\xfe nothing\n[1, 2]\n{}\n"),
        ("metrics.jsonl", b'{"step": 1, "train/mean_episode_return": 1e999, "x": "<script>"}\n'),
        ("config.yaml", b"[: not yaml"),
        ("evaluation.json", b'{"win_rate": {"mean": "x"}, "ladder": 3}'),
        ("tags.json", b'{"a": 1}'),
    ],
)
def test_damaged_files_hide_their_figures_and_nothing_else(
    index: RunIndex, tmp_path: Path, file: str, content: bytes
) -> None:
    (tmp_path / "newer" / file).write_bytes(content)
    index.refresh()
    row = next(row for row in index.rows() if row.key.name == "newer")
    json.dumps(row.to_dict())
    assert len(index.rows()) == 2


def test_a_run_is_live_while_somebody_holds_it(index: RunIndex, tmp_path: Path) -> None:
    with RunDirectory(tmp_path, "older").open_or_create():
        index.refresh()
        assert {row.key.name: row.status for row in index.rows()}["older"] == LIVE
    index.refresh()
    assert {row.key.name: row.status for row in index.rows()}["older"] == STOPPED


def test_looking_never_takes_the_lock_of_a_process_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trainer that was killed and starts again must find its lock free, however often somebody looks."""
    run = RunDirectory(tmp_path, "killed")
    run.open_or_create().close()
    (run.path / "lock").write_text("4194305\n")  # above the largest process number
    monkeypatch.setattr("jimbot.runs.catalogue.try_lock", lambda descriptor: pytest.fail("the lock was tried"))
    assert holder(run) is None
