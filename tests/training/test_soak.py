"""The soak: a real training process, killed and continued, and its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jimbot.cli.main import run
from tools.soak import Sample, memory_slope


@pytest.mark.long
def test_training_survives_being_killed_and_the_report_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = ("num_envs=64", "num_steps=32", "hidden_dim=32", "log_interval=1", "save_interval=4096")
    flags = [f"--set={setting}" for setting in settings]
    assert run(["soak", "probe", "--hours=0.06", "--kill-minutes=0.2", "--json", *flags]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["kills"] >= 2
    assert report["crashes"] == 0
    assert report["restarts"] >= 1
    assert report["steps"] > 0
    assert 0 < report["uptime"] <= 1
    assert report["illegal_actions"] == 0
    assert report["memory_mb"] > 50
    assert 0 <= report["lost_steps"] < report["steps"]
    assert json.loads((tmp_path / "runs/soak/soak.json").read_text())["kills"] == report["kills"]


def test_the_slope_is_that_within_lives_and_not_across_restarts() -> None:
    def life(number: int, start: float, slope: float) -> list[Sample]:
        return [Sample(number, start + 3600 * i / 20, 100 + slope * i / 20, i) for i in range(40)]

    assert memory_slope(life(0, 0, 6.0)) == pytest.approx(6.0)
    assert memory_slope([*life(0, 0, 0.0), *life(1, 7200, 0.0)]) == pytest.approx(0.0, abs=1e-9)
    assert memory_slope(life(0, 0, 5.0)[:3]) == 0.0
