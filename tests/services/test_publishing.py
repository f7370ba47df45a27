"""Publishing for those who must not wait: a bus that is slow, dead or killed costs them nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

from jimbot.clients import EventBusClient
from jimbot.proto.events_pb2 import GameResultEvent, MetricEvent
from jimbot.services.bus.publisher import BackgroundPublisher


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
