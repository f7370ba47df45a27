"""Alerts: told once when they begin, once when they are over; the same for Prometheus, with a runbook entry each."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from jimbot.runs.alerts import RULES, Alert, AlertThread, AlertWatch, Kind, Rule, rules_file
from jimbot.runs.recorder import Recorder
from jimbot.runs.sinks import EventLogSink
from jimbot.runs.sinks.http import VARIABLE, WebhookSink, open_webhook
from jimbot.runs.sinks.prometheus import RUN_METRICS, prometheus_name
from jimbot.services.decision.metrics import ServiceMetrics
from jimbot.services.prometheus import BUS_PREFIX, COUNTERS, PREFIX
from jimbot.services.serving import ServiceAlerts
from tests.docs.names import words
from tests.docs.pages import REPOSITORY, anchors

RULES_FILE = REPOSITORY / "deploy" / "prometheus" / "rules.yaml"
BY_NAME = {rule.name: rule for rule in RULES}
START = 1.7e9


def told(rule: Rule, *rows: tuple[float, float | None]) -> list[tuple[float, bool]]:
    """(seconds, begun or over) for rows of (seconds, value); None: only the clock moves on."""
    watch = AlertWatch([rule])
    found = []
    for seconds, value in rows:
        figures = {} if value is None else {rule.metric: value}
        found += [(seconds, alert.firing) for alert in watch.look(START + seconds, figures)]
    return found


def test_a_limit_must_be_reached_for_long_enough() -> None:
    memory = BY_NAME["MemoryNearlyFull"]
    assert told(memory, (0, 0.79), (10, 0.8), (40, 0.9), (69, 0.85), (70, 0.81), (80, 0.9)) == [(70, True)]
    assert told(memory, (0, 0.9), (30, 0.5), (31, 0.9), (61, 0.9), (91, 0.9)) == [(91, True)]
    assert told(memory, (0, 0.9), (60, None), (61, None), (62, 0.5), (63, 0.5)) == [(60, True), (62, False)]
    assert told(memory, (0, float("nan")), (100, None)) == []


def test_one_illegal_action_is_told_at_once() -> None:
    assert told(BY_NAME["IllegalActions"], (0, 0.0), (5, 1.0), (6, 2.0)) == [(5, True)]


def test_a_speed_is_compared_with_its_own_past() -> None:
    speed = BY_NAME["SpeedHalved"]
    steady = [(second, 1000.0) for second in range(0, 1200, 60)]
    assert told(speed, *steady) == []
    assert told(speed, *steady, *((1200 + second, 400.0) for second in range(0, 360, 60))) == [(1500, True)]
    slowly = [(60.0 * minute, 1000.0 - 5 * minute) for minute in range(120)]
    assert told(speed, *slowly) == []


def test_what_rises_is_told_and_forgotten_with_its_window() -> None:
    restarts = BY_NAME["RunnersRestart"]
    assert told(restarts, (0, 0), (60, 2), (120, 3), (400, 3), (721, 3), (800, 3)) == [(120, True), (721, False)]
    assert told(restarts, (0, 50), (60, 0), (120, 2)) == []  # a new process counts from 0


def test_silence_needs_no_row_to_be_noticed() -> None:
    silent = BY_NAME["NoProgress"]
    assert told(silent, (0, START), (899, None), (901, None), (962, None), (970, START + 970)) == [
        (962, True),
        (970, False),
    ]


def test_the_bell_rings_from_its_thread_where_no_row_comes() -> None:
    heard: list[Alert] = []
    rule = Rule("Quiet", "run/row_time", Kind.SILENT, 0.05, 0.0, "nothing for {value} s.")
    with AlertThread(heard.append, rules=[rule], beat=0.01) as alerts:
        alerts.look({"run/row_time": time.time()})
        while not heard:
            time.sleep(0.01)
    assert heard[0].firing
    assert "docs/operations/runbook.md#quiet" in heard[0].text


def test_a_look_is_cheap_however_long_a_run_is() -> None:
    watch = AlertWatch()
    for second in range(4_000):
        watch.look(START + second, {"speed/steps_per_second": 1000.0, "health/memory_share": 0.5})
    kept = max(len(standing.values) for standing in watch._standings)
    assert kept <= max(rule.window for rule in RULES) + 2


# --- where they go ---


class Hook:
    """An address that takes alerts."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Silence."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def hook() -> Generator[Hook]:
    opened = Hook()
    yield opened
    opened.server.shutdown()
    opened.server.server_close()


def test_an_alert_is_a_line_of_events_log_and_a_post(tmp_path: Path, hook: Hook) -> None:
    recorder = Recorder([EventLogSink(tmp_path / "events.log"), WebhookSink(hook.url, "my-run", "probe")])
    recorder.alert(256, Alert(BY_NAME["MemoryNearlyFull"], 0.83, True))
    recorder.alert(512, Alert(BY_NAME["MemoryNearlyFull"], 0.4, False))
    recorder.event(512, "saved")
    recorder.close()
    lines = (tmp_path / "events.log").read_text().splitlines()
    assert lines[0].endswith(
        "step 256: Alert MemoryNearlyFull: the run uses 83% of its memory limit. "
        "See docs/operations/runbook.md#memorynearlyfull"
    )
    assert lines[1].endswith("step 512: Alert MemoryNearlyFull is over.")
    assert [(said["alert"], said["status"], said["severity"], said["run"], said["step"]) for said in hook.heard] == [
        ("MemoryNearlyFull", "firing", "warning", "my-run", 256),
        ("MemoryNearlyFull", "resolved", "warning", "my-run", 512),
    ]


def test_an_address_that_is_a_secret_stands_in_the_environment(monkeypatch: pytest.MonkeyPatch, hook: Hook) -> None:
    assert open_webhook(None, "r") is None
    monkeypatch.setenv(VARIABLE, hook.url)
    found = open_webhook(None, "r")
    assert found is not None
    found.close()


def test_a_service_tells_what_it_refused(hook: Hook, caplog: pytest.LogCaptureFixture) -> None:
    figures = ServiceMetrics()
    alerts = ServiceAlerts(figures, None, None, WebhookSink(hook.url, "serve", ""))
    figures.illegal["probe"] += 2
    alerts._alerts.look(alerts.read())
    alerts.close()
    assert [said["alert"] for said in hook.heard] == ["IllegalDecisions"]
    assert "2 illegal moves" in caplog.text


# --- the same for Prometheus ---


def test_the_committed_rules_are_the_table() -> None:
    assert RULES_FILE.read_text() == rules_file(), "type: make rules"
    found = yaml.safe_load(RULES_FILE.read_text())["groups"][0]["rules"]
    assert [rule["alert"] for rule in found] == [rule.name for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_names_a_figure_and_a_runbook_entry_that_exist(rule: Rule) -> None:
    path, _, anchor = rule.runbook.partition("#")
    assert anchor in anchors(REPOSITORY / path)
    served = {f"{PREFIX}{name}_total" for name in COUNTERS} | {f"{BUS_PREFIX}lag"}
    known = served | {prometheus_name(name) for name in RUN_METRICS}
    assert prometheus_name(rule.metric) in known or rule.metric.split("/")[1] in words()


@pytest.mark.long
def test_promtool_takes_the_rules() -> None:
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing; install it: apt-get install prometheus"
    done = subprocess.run([promtool, "check", "rules", RULES_FILE], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(RULES)} rules found" in done.stdout
