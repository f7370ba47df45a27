"""What the bus costs: questions and answers, durable events per second.

Questions are due at times drawn before (open loop) and count from when they were due. The responder is in the same
process and event loop, so a round trip is twice through the bus and nothing else.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.clients.event_bus import answer_to, open_bus
from jimbot.clients.nats_bus import NatsBus
from jimbot.proto.events_pb2 import Event, GameResultEvent, StrategyRequest, StrategyResponse
from jimbot.services.bus.embedded import store_of
from jimbot.services.bus.local_server import stop

RATE = 200.0  # questions per second
IN_FLIGHT = 256
PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p99_9": 99.9}


def bench_bus(seconds: float) -> dict[str, Any]:
    """All figures, on a server of this machine."""
    figures: dict[str, Any] = {"load_average": os.getloadavg()[0], "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        address = f"embedded:{Path(folder) / 'bus.sqlite'}"
        try:
            figures |= asyncio.run(_measured("nats", address, seconds))
        finally:
            stop(store_of(address))
    figures["load_average_after"] = os.getloadavg()[0]
    return figures


async def _measured(name: str, address: str, seconds: float) -> dict[str, float]:
    bus = await open_bus(address)
    try:
        await _answering(bus)
        await _questions(bus, RATE, 0.5)  # warm
        taken = await _questions(bus, RATE, seconds)
        found = {f"{name}_request_reply_{key}_ms": value for key, value in _percentiles(taken).items()}
        found[f"{name}_questions_per_second"] = RATE
        found[f"{name}_durable_events_per_second"] = await _published(bus, seconds)
        return found
    finally:
        await bus.close()


async def _answering(bus: NatsBus) -> None:
    async def answer(event: Event) -> None:
        await bus.publish(answer_to(event, StrategyResponse(advice="yes")))

    await bus.subscribe(["strategy.request"], answer, at_once=64)


async def _questions(bus: NatsBus, rate: float, seconds: float) -> list[float]:
    due = np.cumsum(np.random.default_rng(3).exponential(1 / rate, max(1, int(rate * seconds))))
    taken: list[float] = []
    began = time.perf_counter() + 0.05

    async def one(when: float) -> None:
        event = Event(topic="strategy.request")
        event.payload.Pack(StrategyRequest(context="bench"))
        await bus.publish_and_wait(event, 30)
        taken.append(time.perf_counter() - when)

    tasks = []
    for after in due.tolist():
        await asyncio.sleep(max(0.0, began + after - time.perf_counter()))
        tasks.append(asyncio.create_task(one(began + after)))
    await asyncio.gather(*tasks)
    return taken


async def _published(bus: NatsBus, seconds: float) -> float:
    """Acknowledged events per second, so many under way at once."""
    began, done = time.perf_counter(), 0

    async def publisher(number: int) -> None:
        nonlocal done
        while time.perf_counter() < began + seconds:
            event = Event(topic="game.result", order_key=str(number))
            event.payload.Pack(GameResultEvent(game="probe", steps=done))
            await bus.publish(event)
            done += 1

    await asyncio.gather(*(publisher(number) for number in range(IN_FLIGHT)))
    return done / (time.perf_counter() - began)


def _percentiles(seconds: list[float]) -> dict[str, float]:
    values = np.array(seconds) * 1000
    return {name: float(np.percentile(values, share)) for name, share in PERCENTILES.items()}
