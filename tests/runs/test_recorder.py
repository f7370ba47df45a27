"""The recorder: stable rows, trimming on resume, and sinks that fail without harm."""

from __future__ import annotations

import itertools
import json
import logging
import resource
import time
from pathlib import Path

import numpy as np
import pytest

from jimbot.runs.directory import RunDirectory
from jimbot.runs.recorder import Recorder, standard_sinks
from jimbot.runs.sinks import EventLogSink, JsonlSink, TensorBoardSink
from jimbot.runs.sinks import tensorboard as tensorboard_sink
from jimbot.runs.sinks.jsonl import read_rows
from jimbot.runs.sinks.tensorboard import CLASSIC_NAMES, read_events


def scalars(folder: Path) -> dict[str, dict[int, float]]:
    """What a viewer would show: every tag's values by step, over all event files, in order."""
    shown: dict[str, dict[int, float]] = {}
    for path in sorted(folder.glob("*tfevents*")):
        for _, event in read_events(path):
            for value in event.summary.value:
                shown.setdefault(value.tag, {})[event.step] = value.simple_value
    return shown


def test_rows_carry_step_time_and_values(tmp_path: Path) -> None:
    before = time.time()
    recorder = Recorder([JsonlSink(tmp_path / "metrics.jsonl")])
    recorder.record(256, {"train/entropy": np.float32(1.5), "train/num_episodes": 3, "train/value_loss": float("nan")})
    recorder.close()
    (row,) = read_rows(tmp_path / "metrics.jsonl")
    assert before - 1 <= row.pop("time") <= time.time() + 1
    assert row == {
        "step": 256,
        "train/entropy": 1.5,
        "train/num_episodes": 3.0,
        "train/value_loss": None,
        "health/sink_failures": 0.0,
    }


@pytest.mark.parametrize("files_before", [0, 9, 99])
def test_tensorboard_itself_shows_what_was_recorded_and_trimmed(
    files_before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many files a process has written: viewers read them in the order of their names."""
    pytest.importorskip("tensorboard", reason="pip install -e '.[tensorboard]'")
    monkeypatch.setattr(tensorboard_sink, "_file_number", itertools.count(files_before))
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    recorder = Recorder([TensorBoardSink(tmp_path)])
    for step in (100, 200, 300):
        recorder.record(step, {"train/mean_episode_return": step / 100})
    recorder.trim(200)
    recorder.record(250, {"train/mean_episode_return": 2.5})
    recorder.close()
    board = EventAccumulator(str(tmp_path)).Reload()
    for name in ("train/mean_episode_return", "episode_reward_mean"):
        assert [(row.step, row.value) for row in board.Scalars(name)] == [(100, 1.0), (200, 2.0), (250, 2.5)]


def test_rows_are_on_disk_before_the_recorder_is_closed(tmp_path: Path) -> None:
    recorder = Recorder([JsonlSink(tmp_path / "metrics.jsonl"), TensorBoardSink(tmp_path / "tensorboard")])
    recorder.record(1, {"train/entropy": 1.0})
    assert len(read_rows(tmp_path / "metrics.jsonl")) == 1
    assert scalars(tmp_path / "tensorboard")["train/entropy"] == {1: 1.0}


def test_tensorboard_has_our_names_and_the_classic_ones(tmp_path: Path) -> None:
    metrics = {name: float(i) for i, name in enumerate(CLASSIC_NAMES)} | {"reward/step_penalty": -0.25}
    recorder = Recorder([TensorBoardSink(tmp_path)])
    recorder.record(64, metrics)
    recorder.close()
    shown = scalars(tmp_path)
    assert shown["reward/step_penalty"] == {64: -0.25}
    for i, (name, classic) in enumerate(CLASSIC_NAMES.items()):
        assert shown[name] == shown[classic] == {64: float(i)}
    assert set(CLASSIC_NAMES.values()) == {
        "episode_reward_mean", "episode_len_mean", "policy_loss", "value_loss", "entropy", "kl_divergence",
    }  # fmt: skip


def test_event_files_are_valid_to_their_checksums(tmp_path: Path) -> None:
    """Other readers check them, so trimming must keep whole records."""
    from tensorboardX.record_writer import masked_crc32c

    sink = TensorBoardSink(tmp_path)
    for step in (1, 2, 3):
        sink.record(step, 0.0, {"train/entropy": 1.0})
    sink.trim(2)
    records = [raw for path in tmp_path.glob("*tfevents*") for raw, _ in read_events(path)]
    assert len(records) == 3  # the version record and two rows
    for raw in records:
        assert int.from_bytes(raw[8:12], "little") == masked_crc32c(raw[:8])
        assert int.from_bytes(raw[-4:], "little") == masked_crc32c(raw[12:-4])


def test_resume_forgets_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    with RunDirectory(tmp_path, "mine").open_or_create() as run:
        recorder = Recorder(standard_sinks(run))
        for step in range(100, 1000, 100):
            recorder.record(step, {"train/entropy": 1.0})
        recorder.close()
        resumed = Recorder(standard_sinks(run))
        resumed.trim(500)
        resumed.record(600, {"train/entropy": 2.0})
        resumed.close()
        expected = dict.fromkeys(range(100, 600, 100), 1.0) | {600: 2.0}
        assert {row["step"]: row["train/entropy"] for row in read_rows(run.metrics_path)} == expected
        assert scalars(run.tensorboard_path)["train/entropy"] == expected


def test_a_viewer_that_already_read_later_points_is_told_to_drop_them(tmp_path: Path) -> None:
    sink = TensorBoardSink(tmp_path)
    sink.record(900, 0.0, {"train/entropy": 1.0})
    sink.trim(500)
    sink.record(600, 0.0, {"train/entropy": 1.0})
    events = [event for path in sorted(tmp_path.glob("*tfevents*")) for _, event in read_events(path)]
    assert [event.step for event in events if event.HasField("session_log")] == [501]


def test_trimming_twice_and_trimming_nothing_are_fine(tmp_path: Path) -> None:
    recorder = Recorder([JsonlSink(tmp_path / "metrics.jsonl"), TensorBoardSink(tmp_path / "tensorboard")])
    recorder.trim(0)
    recorder.record(100, {"train/entropy": 1.0})
    recorder.trim(100)
    recorder.trim(100)
    recorder.record(200, {"train/entropy": 2.0})
    recorder.close()
    assert recorder.failures == 0
    assert [row["step"] for row in read_rows(tmp_path / "metrics.jsonl")] == [100, 200]
    assert scalars(tmp_path / "tensorboard")["train/entropy"] == {100: 1.0, 200: 2.0}


def test_torn_last_lines_of_a_killed_writer_are_dropped(tmp_path: Path) -> None:
    path, board = tmp_path / "metrics.jsonl", tmp_path / "tensorboard"
    for step in (100, 200):
        recorder = Recorder([JsonlSink(path), TensorBoardSink(board)])
        recorder.record(step, {"train/entropy": 1.0})
        recorder.close()
        with open(path, "ab") as file:
            file.write(b'{"step": 150, "train/entr')
        with open(max(board.iterdir()), "ab") as file:
            file.write(b"\x50\x00\x00")
    assert [row["step"] for row in read_rows(path)] == [100, 200]
    recorder = Recorder([JsonlSink(path), TensorBoardSink(board)])
    recorder.trim(100)
    recorder.record(300, {"train/entropy": 3.0})
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [100, 300]
    assert scalars(board)["train/entropy"] == {100: 1.0, 300: 3.0}


def test_a_failing_sink_is_disabled_counted_and_harmless(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    recorder = Recorder(
        [
            JsonlSink(tmp_path / "file" / "metrics.jsonl"),
            JsonlSink(tmp_path / "metrics.jsonl"),
            TensorBoardSink(tmp_path / "file" / "tensorboard"),
        ]
    )
    with caplog.at_level(logging.WARNING):
        for step in range(5):
            recorder.record(step, {"train/entropy": 1.0})
    assert recorder.failures == 2
    assert [row["health/sink_failures"] for row in read_rows(tmp_path / "metrics.jsonl")] == [0, 2, 2, 2, 2]
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 2
    assert warnings[0].startswith("Metrics no longer go to metrics.jsonl, training continues: NotADirectoryError")


def test_a_full_disk_does_not_stop_or_block_training(tmp_path: Path) -> None:
    recorder = Recorder([JsonlSink(tmp_path / "metrics.jsonl"), TensorBoardSink(tmp_path / "tensorboard")])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, before[1]))
    try:
        for step in range(200):
            recorder.record(step, {"train/entropy": 1.0})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert recorder.failures == 2
    rows = read_rows(tmp_path / "metrics.jsonl")
    assert [row["step"] for row in rows] == list(range(len(rows)))
    assert rows


def test_events_are_dated_lines_and_survive_resume(tmp_path: Path) -> None:
    for text in ("started", "resumed after\na kill"):
        recorder = Recorder([EventLogSink(tmp_path / "events.log")])
        recorder.trim(0)
        recorder.event(512, text)
        recorder.close()
    lines = (tmp_path / "events.log").read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == ["step 512: started", "step 512: resumed after a kill"]
