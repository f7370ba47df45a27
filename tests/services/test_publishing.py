"""Publishing for those who must not wait: a bus that is slow, dead or killed costs them nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from jimbot.clients import EventBusClient
from jimbot.proto.events_pb2 import GameResultEvent, MetricEvent, RunEvent
from jimbot.runs.checkpoint import CheckpointStore
from jimbot.services.bus.publisher import BackgroundPublisher
from jimbot.training.run import run_training
from tests.services.buses import NatsServer, nats_program
from tests.training.small import small_settings


def read(address: str) -> list:
    async def all_of_it() -> list:
        async with EventBusClient(address) as bus:
            return [event async for event in bus.replay(["*"])]

    return asyncio.run(all_of_it())


def test_what_is_offered_arrives_in_order(tmp_path: Path) -> None:
    address = f"embedded:{tmp_path / 'bus.sqlite'}"
    publisher = BackgroundPublisher(address)
    for number in range(1000):
        publisher.offer("game.result", GameResultEvent(steps=number), "game")
    publisher.close()
    publisher.close()
    publisher.offer("game.result", GameResultEvent(), "late")
    steps = []
    for event in read(address):
        message = GameResultEvent()
        event.payload.Unpack(message)
        steps.append(message.steps)
    assert steps == list(range(1000))
    assert publisher.published == 1000
    assert publisher.dropped == {"game.result": 1}


def test_a_bus_that_never_comes_costs_memory_only_up_to_the_bound() -> None:
    publisher = BackgroundPublisher("nats://127.0.0.1:9", most_waiting=50, grace=0.2)
    for number in range(80):
        publisher.offer("metrics.train", MetricEvent(step=number))
    publisher.close()
    assert publisher.dropped["metrics.train"] == 80
    assert publisher.published == 0


def weights(root: Path, name: str) -> dict[str, np.ndarray]:
    store = CheckpointStore(root / name / "checkpoints")
    newest = store.latest()
    assert newest is not None
    with np.load(next(newest.glob("params_*.npz"))) as file:
        return {key: file[key] for key in file.files if key != "__manifest__"}  # which says when and where


@pytest.mark.skipif(nats_program() is None, reason="nats-server is not installed")
def test_training_tells_its_progress_and_a_bus_killed_in_it_changes_no_bit(tmp_path: Path) -> None:
    pytest.importorskip("nats")
    server = NatsServer(tmp_path / "nats")
    log = f"embedded:{tmp_path / 'bus.sqlite'}"
    killer = asyncio.run(_kill_at_first_event(server, lambda: train(tmp_path, "killed", server.address)))
    assert killer, "the bus was there when training began"
    train(tmp_path, "quiet", None)
    train(tmp_path, "told", log)
    quiet = weights(tmp_path, "quiet")
    for name in ("told", "killed"):
        other = weights(tmp_path, name)
        assert all(np.array_equal(quiet[key], other[key]) for key in quiet)
    events = read(log)
    kinds = Counter(event.topic for event in events)
    assert kinds["metrics.train"] >= 2
    told = []
    for event in events:
        if event.topic == "run.event":
            message = RunEvent()
            event.payload.Unpack(message)
            told.append(message.kind)
    assert {"progress", "closed"} <= set(told)
    assert {"checkpoint", "best"} & set(told)


def train(root: Path, name: str, bus: str | None) -> None:
    settings = small_settings(bus=bus, run_name=name, total_timesteps=1024, log_interval=1)
    run_training(settings, root, quiet=True)


async def _kill_at_first_event(server: NatsServer, work: object) -> bool:
    """Runs `work` in a thread and kills the server as soon as something was published."""
    heard = asyncio.Event()

    async def note(_: object) -> None:
        heard.set()

    bus = EventBusClient(server.address)
    await bus.subscribe(["*"], note)
    running = asyncio.create_task(asyncio.to_thread(work))
    await asyncio.wait((running, asyncio.create_task(heard.wait())), return_when=asyncio.FIRST_COMPLETED)
    server.kill()
    await running
    await bus.close()
    return heard.is_set()
