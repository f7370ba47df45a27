"""Everything under load at once: a run that learns, its policy served, a bot, an adviser, every door, kills in turn."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jimbot.clients import EventBusClient
from jimbot.proto.events_pb2 import GameResultEvent
from jimbot.runs.sinks.prometheus import serve_metrics
from jimbot.services.decision import DecisionService
from jimbot.services.prometheus import Collector
from jimbot.services.stack.components import PORTS
from tests.docs.commands import Line
from tests.docs.test_commands import complaint
from tests.services.buses import free_port
from tools import stack_probes as probes
from tools.stack_probes import Probe
from tools.stack_soak import (
    StackReport,
    StackSoak,
    _met,
    memory_mb,
    metrics_page,
    reloads,
    soak_stack,
    strike_bus,
    training,
)

SETTINGS = {"num_envs": 64, "num_steps": 64, "log_interval": 1, "save_interval_minutes": 0.5}


def asked(probe: Probe, failures: int) -> None:
    probe.start()
    ends = time.monotonic() + 20
    while probe.failed < failures and time.monotonic() < ends:
        time.sleep(0.01)
    probe.close()


@pytest.mark.parametrize("calm", [True, False])
def test_a_failure_counts_where_nothing_explains_it(calm: bool) -> None:
    def ask() -> float:
        raise ConnectionRefusedError("nobody there")

    probe = Probe("page", "ui", ask, 0.01)
    probe.calm = lambda needs: calm and needs == "ui"
    asked(probe, 3)
    assert probe.failed >= 3
    assert bool(probe.unexplained) is calm
    assert ("nobody there" in probe.problem) is calm


def test_probes_that_begin_together_share_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    probes._started_loop.cache_clear()
    make_loop = asyncio.new_event_loop
    monkeypatch.setattr(asyncio, "new_event_loop", lambda: (time.sleep(0.1), make_loop())[1])
    with ThreadPoolExecutor(4) as threads:
        assert len({id(loop) for loop in threads.map(lambda _: probes._loop(), range(4))}) == 1


def test_the_bus_is_heard_and_timed(tmp_path: Path) -> None:
    assert probes.heartbeats(f"embedded:{tmp_path / 'bus.sqlite'}")() > 0


def test_a_bus_whose_server_was_killed_is_heard_again_and_has_lost_nothing(tmp_path: Path) -> None:
    address = f"embedded:{tmp_path / 'bus.sqlite'}"

    async def published() -> int:
        async with EventBusClient(address) as bus:
            return await bus.publish(GameResultEvent(steps=7))

    async def kept() -> list[str]:
        async with EventBusClient(address) as bus:
            return [event.topic async for event in bus.replay(["game.*"])]

    assert asyncio.run(published()) == 1
    assert strike_bus(address) > 0
    assert asyncio.run(kept()) == ["game.result"]


def test_reloads_are_read_from_the_services_own_figures() -> None:
    service = DecisionService()
    service.metrics.reloads["probe", "swapped"] += 3
    service.metrics.reloads["probe", "refused"] += 5
    port, stop = serve_metrics(Collector(service), "127.0.0.1", 0)
    try:
        assert reloads(f"http://127.0.0.1:{port}/metrics") == 3
    finally:
        stop()
    assert reloads(f"http://127.0.0.1:{port}/metrics") == 0


def test_the_metrics_are_looked_for_where_the_stack_shows_them() -> None:
    from jimbot.cli.shared.common import ports_of

    assert metrics_page({}) == "http://127.0.0.1:9101/metrics"
    assert metrics_page(ports_of(["metrics=9200"])) == "http://127.0.0.1:9200/metrics"


def test_the_run_is_started_by_a_command_that_exists(tmp_path: Path) -> None:
    part = training(StackSoak(runs_dir=tmp_path, settings=SETTINGS), "probe", "embedded")
    assert complaint(Line("soak", " ".join(["jimbot", *part.words]))) is None


def test_targets_are_mosts_but_for_the_share_of_speed() -> None:
    assert _met("training_share", 0.81)
    assert not _met("training_share", float("nan"))
    assert _met("memory_mb", memory_mb())
    assert not _met("decisions_p95_ms", 101.0)
    assert json.dumps(StackReport().to_dict())


@pytest.mark.long
@pytest.mark.timeout(2400)
def test_everything_works_together_and_comes_back_after_kills(tmp_path: Path) -> None:
    ports = {name: free_port() for name in PORTS}
    soak = StackSoak(
        hours=0.12, kill_minutes=0.3, alone_minutes=1.0, runs_dir=tmp_path, settings=SETTINGS, ports=ports
    )  # fmt: skip
    said: list[str] = []
    report = soak_stack(soak, said.append)
    assert set(report.kills) == {"bus", "serve", "ui", "graph", "events", "host", "bot", "train"}, said
    assert report.recovery_seconds.keys() == report.kills.keys()
    assert report.unexplained == {}
    assert report.return_at_last > report.return_at_first
    assert report.illegal_actions == 0
    assert report.reloads >= 1
    assert report.events > 0
    assert report.decisions > 100
    assert all(report.shown.values()), report.shown
    assert report.bot.moves > 50
    assert 0 < report.bot.asked <= 0.05 * report.bot.decided + 1
    assert "memory_mb" not in report.missed
    assert json.loads((tmp_path / soak.run / "soak.json").read_text())["decisions"] == report.decisions
