"""A real Prometheus from the system's packages scrapes training and serving, and knows our alerts."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from jimbot.runs.alerts import RULES
from jimbot.runs.sinks.prometheus import PrometheusSink
from jimbot.services.decision import DecisionService
from jimbot.services.prometheus import open_metrics
from jimbot.services.serving import Offer, served_policy
from jimbot.training.session.session import Session
from tests.docs.pages import REPOSITORY
from tests.services.buses import free_port
from tests.training.small import small_settings

pytestmark = pytest.mark.long


class Prometheus:
    """A server of the test's own on a loopback port."""

    def __init__(self, folder: Path, targets: dict[str, int]) -> None:
        program = shutil.which("prometheus")
        assert program, "prometheus is missing; install it: apt-get install prometheus"
        jobs = [
            {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]} for name, port in targets.items()
        ]
        rules = (REPOSITORY / "deploy/prometheus/rules.yaml").read_text().replace("for: 1m", "for: 0s")
        (folder / "rules.yaml").write_text(rules)
        config = {
            "global": {"scrape_interval": "200ms", "scrape_timeout": "200ms", "evaluation_interval": "200ms"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": jobs,
        }
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        self._process = subprocess.Popen(
            [program, f"--config.file={folder / 'prometheus.yaml'}", f"--storage.tsdb.path={folder / 'data'}",
             f"--web.listen-address=127.0.0.1:{port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def ask(self, path: str, **query: str) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=5) as answer:
            return json.load(answer)["data"]

    def values(self, expression: str) -> list[float]:
        return [float(one["value"][1]) for one in self.ask("query", query=expression)["result"]]

    def until(self, met: Callable[[], Any], seconds: float = 60.0) -> Any:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            try:
                if found := met():
                    return found
            except OSError:
                pass  # it starts
            time.sleep(0.1)
        raise AssertionError("Prometheus did not see it in time")

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(20)


def test_a_real_prometheus_sees_runs_and_services_and_raises_our_alerts(tmp_path: Path) -> None:
    service = DecisionService()
    service.add(served_policy("random=random", Offer(game="probe")))
    serving, stop = open_metrics(service, "127.0.0.1", 0)
    with Session.open(small_settings(run_name="seen", metrics_port=0, no_wandb=True), tmp_path / "runs") as session:
        training = next(sink.port for sink in session.recorder.sinks if isinstance(sink, PrometheusSink))
        prometheus = Prometheus(tmp_path, {"train": training, "serve": serving})
        try:
            session.log(256, {"train/entropy": 1.25})
            assert prometheus.until(lambda: prometheus.values('jimbot_train_entropy{run="seen"}')) == [1.25]
            assert prometheus.until(lambda: prometheus.values("jimbot_serve_shed_total")) == [0.0]
            rules = prometheus.ask("rules")["groups"][0]["rules"]
            assert {rule["name"] for rule in rules} == {rule.name for rule in RULES}
            assert {rule["health"] for rule in prometheus.until(lambda: _judged(prometheus))} == {"ok"}

            def firing() -> set[str]:
                alerts = prometheus.ask("alerts")["alerts"]
                return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

            assert firing() == set()
            session.log(512, {"health/illegal_actions": 1.0, "health/memory_share": 0.5})
            assert prometheus.until(firing) == {"IllegalActions"}
        finally:
            prometheus.close()
            stop()


def _judged(prometheus: Prometheus) -> list[Any]:
    """The rules, once all were looked at."""
    rules = prometheus.ask("rules")["groups"][0]["rules"]
    return rules if all(rule["health"] != "unknown" for rule in rules) else []
