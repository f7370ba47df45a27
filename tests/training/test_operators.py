"""What operators are shown of a run: QuestDB, Prometheus, alerts, the bus, all at once and from one session."""

from __future__ import annotations

import asyncio
import urllib.error
from pathlib import Path

import pytest

from jimbot.clients import EventBusClient
from jimbot.errors import SettingsError
from jimbot.proto.events_pb2 import RunEvent
from jimbot.runs.sinks.prometheus import PrometheusSink
from jimbot.training.session.session import Session
from tests.runs.questdb_server import QuestDB
from tests.runs.test_alerts import Hook, hook
from tests.runs.test_prometheus import scraped
from tests.training.small import small_settings

__all__ = ["hook"]


def told_on(address: str) -> list[RunEvent]:
    async def read() -> list[RunEvent]:
        found = []
        async with EventBusClient(address) as bus:
            async for event in bus.replay(["run.event"]):
                message = RunEvent()
                event.payload.Unpack(message)
                found.append(message)
        return found

    return asyncio.run(read())


def test_figures_and_alerts_go_everywhere_they_were_asked_for(
    tmp_path: Path, hook: Hook, capsys: pytest.CaptureFixture[str]
) -> None:
    bus = f"embedded:{tmp_path / 'bus.sqlite'}"
    with QuestDB() as server:
        settings = small_settings(
            run_name="shown", questdb=server.url, metrics_port=0, alert_webhook=hook.url, bus=bus, no_wandb=True
        )
        with Session.open(settings, tmp_path / "runs") as session:
            page = next(sink for sink in session.recorder.sinks if isinstance(sink, PrometheusSink))
            session.log(256, {"train/entropy": 1.5, "health/illegal_actions": 1.0})
            shown = {name.partition("{")[0]: value for name, value in scraped(page.port).items()}
        assert shown["jimbot_train_entropy"] == 1.5
        assert 0 < shown["jimbot_health_disk_share"] < 1
        figures = {row["metric"]: row["value"] for row in server.rows["jimbot_metrics"]}
        assert figures["health/illegal_actions"] == 1.0
        assert [row["kind"] for row in server.rows["jimbot_events"]] == ["alert"]
    assert [said["alert"] for said in hook.heard] == ["IllegalActions"]
    assert "Alert IllegalActions: 1 illegal actions" in (tmp_path / "runs/shown/events.log").read_text()
    assert "Alert IllegalActions" in capsys.readouterr().err
    (alert,) = [event for event in told_on(bus) if event.kind == "alert"]
    assert (alert.run, alert.path) == ("shown", "docs/operations/runbook.md#illegalactions")


@pytest.mark.parametrize("setting", ["questdb", "alert_webhook"])
def test_an_address_that_is_none_is_told_before_a_run_is_made(tmp_path: Path, setting: str) -> None:
    with pytest.raises(SettingsError, match=f"{setting} is 'nowhere'"):
        Session.open(small_settings(**{setting: "nowhere"}), tmp_path)
    assert not list(tmp_path.iterdir())


def test_figures_for_other_machines_need_a_token_and_ask_for_it(tmp_path: Path) -> None:
    tokens, runs = tmp_path / "tokens", tmp_path / "runs"
    with pytest.raises(SettingsError, match="add --metrics-token-file"):
        Session.open(small_settings(metrics_port=0, metrics_host="0.0.0.0"), runs)
    assert not runs.exists() or not list(runs.iterdir())
    tokens.write_text("a-token-of-many-letters\n")
    settings = small_settings(metrics_port=0, metrics_host="0.0.0.0", metrics_token_file=str(tokens), no_wandb=True)
    with Session.open(settings, runs) as session:
        page = next(sink for sink in session.recorder.sinks if isinstance(sink, PrometheusSink))
        with pytest.raises(urllib.error.HTTPError, match="401"):
            scraped(page.port)
