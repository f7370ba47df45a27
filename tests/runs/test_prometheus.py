"""Prometheus: the newest row under names it allows, for as long as the run is open."""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path

import pytest

from jimbot.errors import MissingExtraError, SettingsError
from jimbot.runs.recorder import Recorder
from jimbot.runs.sinks.prometheus import PrometheusSink


def scraped(port: int) -> dict[str, float]:
    """What is shown: name with labels → value."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/metrics") as page:
        text = page.read().decode()
    rows = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in rows}


def test_the_newest_row_is_shown_and_the_port_closes_with_the_run(tmp_path: Path) -> None:
    sink = PrometheusSink(0, 'r"1', "probe")
    recorder = Recorder([sink])
    assert scraped(sink.port)['jimbot_run_events_total{game="probe",run="r\\"1"}'] == 0
    recorder.record(256, {"train/entropy": 1.5, "stats/a-b": 1, "stats/a.b": 2})
    recorder.record(512, {"train/entropy": 1.25, "stats/a-b": 1, "stats/a.b": 2})
    recorder.event(512, "saved")
    recorder.checkpoint(512, tmp_path)
    shown = {name.partition("{")[0]: value for name, value in scraped(sink.port).items()}
    assert shown["jimbot_train_entropy"] == 1.25
    assert shown["jimbot_stats_a_b"] == 1
    assert shown["jimbot_run_step"] == 512
    assert shown["jimbot_run_events_total"] == shown["jimbot_run_checkpoints_total"] == 1
    assert shown["jimbot_run_row_time"] > 1.7e9
    recorder.close()
    with pytest.raises(OSError):
        scraped(sink.port)


def test_a_port_that_is_taken_is_one_sentence() -> None:
    sink = PrometheusSink(0, "r", "probe")
    try:
        with pytest.raises(SettingsError, match=rf"127.0.0.1:{sink.port}: .*Choose another port"):
            PrometheusSink(sink.port, "r", "probe")
    finally:
        sink.close()


def test_without_its_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingExtraError, match=r"\[serve\]"):
        PrometheusSink(0, "r", "probe")
