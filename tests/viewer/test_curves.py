"""Curves: few points of many, no spike lost, exact where somebody zooms in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jimbot.errors import UnknownNameError, UsageError
from jimbot.viewer.curves import MetricLog, MetricLogs, check_curve
from jimbot.viewer.http.runs import groups

ROWS, SPIKE = 5_000, 3_333


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> MetricLog:
    """Ten million steps with one spike."""
    path = tmp_path_factory.mktemp("run") / "metrics.jsonl"
    rows = [
        {
            "step": 2000 * (i + 1),
            "time": 1000.0 + 36 * i,
            "a/b": 99.0 if i == 3333 else i % 7,
            "train/num_episodes": 2.0,
        }
        for i in range(ROWS)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return MetricLogs().of(path)


def test_a_long_curve_becomes_few_points_that_keep_its_spike(log: MetricLog) -> None:
    curve = log.curve("a/b", points=300)
    assert (len(curve["x"]), curve["exact"], curve["rows"]) == (300, False, ROWS)
    assert max(curve["high"]) == 99.0
    assert max(curve["y"]) < 20


def test_zooming_in_shows_the_rows_themselves(log: MetricLog) -> None:
    curve = log.curve("a/b", points=300, start=6_660_000, end=6_680_000)
    assert curve["exact"]
    assert curve["x"][1:-1] == [float(step) for step in range(6_660_000, 6_680_001, 2000)]
    assert 99.0 in curve["y"]


def test_the_axis_may_be_hours_or_games(log: MetricLog) -> None:
    assert log.curve("a/b", "time", points=ROWS)["x"][-1] == pytest.approx(36 * (ROWS - 1) / 3600)
    assert log.curve("a/b", "games", points=ROWS)["x"][-1] == 2.0 * ROWS


def test_hours_of_training_leave_out_the_night_a_run_stood_still(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    times = [1000.0 + 30 * i + (0 if i < 10 else 8 * 3600) for i in range(20)]
    path.write_text("".join(f"{json.dumps({'step': i + 1, 'time': when, 'a': 1})}\n" for i, when in enumerate(times)))
    log = MetricLogs().of(path)
    assert log.curve("a", "time")["x"][-1] == pytest.approx(19 * 30 / 3600)
    assert log.curve("a", "clock")["x"][-1] == pytest.approx(19 * 30 / 3600 + 8)


def test_smoothing_knows_all_rows_not_only_those_shown(log: MetricLog) -> None:
    smooth = log.curve("a/b", points=300, smooth=0.95)
    assert max(smooth["y"]) < 10
    assert max(smooth["high"]) == 99.0


def test_only_what_was_appended_is_read_and_a_cut_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    log = MetricLogs().of(path)
    assert log.count == 0
    path.write_text('{"step": 1, "a": 1.0}\n{"step": 2, "a": 2.0}\n{"step": 3, "a"')
    log.refresh()
    assert log.curve("a")["y"] == [1.0, 2.0]
    with open(path, "a") as file:
        file.write(': null, "b": NaN}\n')
    log.refresh()
    assert (log.curve("a")["y"], log.names) == ([1.0, 2.0], ["a"])
    path.write_text('{"step": 1, "a": 5.0}\n')
    log.refresh()
    assert log.curve("a")["y"] == [5.0]
    path.unlink()
    log.refresh()
    assert log.count == 0


def test_what_cannot_be_drawn_is_refused_in_a_sentence(log: MetricLog) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'a/b'"):
        log.curve("a/c")
    for axis, points, smooth in (("moon", 10, 0.0), ("step", 0, 0.0), ("step", 10**9, 0.0), ("step", 10, 1.0)):
        with pytest.raises(UsageError):
            check_curve(axis, points, smooth)


def test_every_metric_has_its_place_on_the_page() -> None:
    names = ["train/loss", "reward/win", "actions/play_frac", "stats/won", "health/rss_mb", "speed/x", "<b>/c", "alone"]
    found = groups(names)
    assert sorted(name for group in found for name in group["names"]) == sorted(names)
    assert [group["id"] for group in found][:2] == ["progress", "reward"]
