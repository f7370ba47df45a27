"""Buses for tests: embedded on a file of the test's own, and a real `nats-server` on a loopback port."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from jimbot.clients.bus_contract import BusSettings
from jimbot.clients.event_bus import EventBusClient
from jimbot.processes import Child, free_port, listens
from jimbot.proto.events_pb2 import Event, GameResultEvent, MetricEvent

QUICK = BusSettings(attempts=3, first_pause=0.01, longest_pause=0.02, ack_wait=2.0)


def nats_program() -> str | None:
    beside = Path(sys.executable).parent / "nats-server"
    return str(beside) if beside.exists() else shutil.which("nats-server")


class NatsServer:
    """A server that can be killed and started again on the same port and store."""

    def __init__(self, store: Path) -> None:
        self.port = free_port()
        self.store = store
        self._process: Any = None
        self.start()

    @property
    def address(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [nats_program() or "", "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.store)]
        self._process = Child(command)
        assert self._process.becomes(lambda: listens(self.port), 10), "nats-server does not listen"

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(10)


def result(number: int = 0, game: str = "", event_id: str = "") -> Event:
    event = Event(topic="game.result", order_key=game, event_id=event_id)
    event.payload.Pack(GameResultEvent(game="probe", game_id=game, steps=number))
    return event


def foreign_protobuf() -> bytes:
    """A good event of a topic that carries another message than its topic does."""
    event = Event(topic="game.result", event_id="foreign")
    event.payload.Pack(MetricEvent(run="elsewhere"))
    return event.SerializeToString()


def steps(event: Event) -> int:
    message = GameResultEvent()
    event.payload.Unpack(message)
    return message.steps


class Heard:
    """A handler that notes what it hears."""

    def __init__(self, fails: Callable[[Event], bool] = lambda event: False, seconds: float = 0.0) -> None:
        self.events: list[Event] = []
        self.tries: list[int] = []
        self._fails, self._seconds = fails, seconds

    async def __call__(self, event: Event) -> None:
        self.tries.append(steps(event) if event.topic == "game.result" else -1)
        await asyncio.sleep(self._seconds)
        if self._fails(event):
            raise RuntimeError("not today")
        copy = Event()
        copy.CopyFrom(event)
        self.events.append(copy)

    @property
    def numbers(self) -> list[int]:
        return [steps(event) for event in self.events]


async def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


def in_loop(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(work())


def client(address: str, settings: BusSettings = QUICK, **rest: Any) -> EventBusClient:
    return EventBusClient(address, settings=settings, **rest)
