"""Everything at once for minutes: a decision server and the NATS server are killed again and again while others ask,
publish and read, one of them too slowly, with a poison message in every hundred events. A second decision server, never
killed, shares the questions on the bus; its memory is watched.

    JIMBOT_SOAK_SECONDS=120 pytest -m long tests/services/test_soak.py      # 600 unless said otherwise

What must hold: no acknowledged event is lost or handled twice, no request id gets two answers, no move is illegal,
every poison message is one dead letter, and memory stays where it was.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

pytest.importorskip("grpc")
pytest.importorskip("nats")

from jimbot.clients import AsyncDecisionClient, EventBusClient
from jimbot.clients.bus_contract import BusSettings
from jimbot.clients.event_bus import enveloped, unpacked
from jimbot.clients.resilience import RetryPolicy
from jimbot.errors import BusError
from jimbot.proto.events_pb2 import DeadLetter, Event, LearningDecisionRequest, LearningDecisionResponse
from tests.services.asking import GAME, LEGAL, request
from tests.services.buses import NatsServer, nats_program, result, steps, until

SECONDS = float(os.environ.get("JIMBOT_SOAK_SECONDS", "600"))
KILL_SERVER, KILL_NATS = 30.0, 45.0
POISON = 100
PATIENT = RetryPolicy(deadline=600.0, cap=5.0, attempts=1000, longest_pause=0.5, budget=1000.0, failures=10**6)
BUS = BusSettings(attempts=3, first_pause=0.01, longest_pause=0.1, ack_wait=3.0, publish_seconds=60.0)
GROWTH = 24 * 2**20  # bytes this process may grow after the first third: caches that fill, no slope

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(SECONDS + 900),
    pytest.mark.skipif(nats_program() is None, reason="nats-server is not installed"),
]


class Server:
    """`jimbot serve` as people start it, on one port through all its lives."""

    def __init__(self, bus: str, log: Path) -> None:
        self._bus, self._log = bus, log
        self.port, self.kills = 0, 0

    async def start(self) -> None:
        command = [sys.executable, "-m", "jimbot", "serve", GAME, "--port", str(self.port), "--bus", self._bus,
                   "--log", str(self._log)]  # fmt: skip
        self.process: Any = await asyncio.create_subprocess_exec(*command, stderr=subprocess.PIPE)
        told = ""
        async for line in self.process.stderr:
            told += line.decode()
            if found := re.search(r"Listening on \S+:(\d+)\.", told):
                self.port = int(found[1])
                return
        pytest.fail(f"the service did not start: {told}")

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()
        self.kills += 1


class Soak:
    """What happened so far, in little memory."""

    def __init__(self, nats: NatsServer, server: Server) -> None:
        self.nats, self.server = nats, server
        self.over = asyncio.Event()
        self.acknowledged = np.zeros(2_000_000, np.uint8)  # by number of the event
        self.handled = np.zeros(2_000_000, np.uint8)
        self.answered: Counter[str] = Counter()  # by way
        self.answers = np.zeros(2_000_000, np.uint8)  # of questions over the bus, by number
        self.buried: set[int] = set()
        self.memory: dict[int, list[int]] = {}  # bytes, by process

    def client(self) -> EventBusClient:
        return EventBusClient(self.nats.address, settings=BUS)

    async def publish(self) -> None:
        number = 0
        async with self.client() as bus:
            while not self.over.is_set():
                event = result(number, f"game {number % 3}", f"event {number}")
                await bus.publish(event)
                self.acknowledged[number] += 1
                number += 1
                await asyncio.sleep(0.005)

    async def read(self, bus: EventBusClient) -> None:
        async def handle(event: Event) -> None:
            if steps(event) % POISON == POISON - 1:
                raise ValueError("poison")
            self.handled[steps(event)] += 1

        async def bury(event: Event) -> None:
            letter, inner = DeadLetter(), Event()
            event.payload.Unpack(letter)
            inner.ParseFromString(letter.event)
            self.buried.add(steps(inner))

        async def crawl(event: Event) -> None:
            await asyncio.sleep(1)

        async def note(event: Event) -> None:
            answer = LearningDecisionResponse()
            event.payload.Unpack(answer)
            if answer.request_id.startswith("bus "):
                self.answers[int(answer.request_id.split()[1])] += 1

        await bus.subscribe(["game.result"], handle, durable="reader")
        await bus.subscribe(["dead.*"], bury, durable="undertaker")
        await bus.subscribe(["game.result"], crawl)
        await bus.subscribe(["learning.decision.response"], note, durable="auditor")

    async def ask_directly(self) -> None:
        number = 0
        async with AsyncDecisionClient(f"127.0.0.1:{self.server.port}", patience=PATIENT) as client:
            while not self.over.is_set():
                await self._check(client.decide, number, f"grpc {number}", "grpc")
                number += 1
                await asyncio.sleep(0.01)

    async def ask_over_bus(self) -> None:
        number = 0
        async with self.client() as bus:

            async def decide(question: LearningDecisionRequest) -> Any:
                event = enveloped(question)  # asked again under the same id, it is one question
                while True:
                    try:
                        return unpacked(await bus.publish_and_wait(event, 5))
                    except BusError:
                        continue

            while not self.over.is_set():
                await self._check(decide, number, f"bus {number}", "bus")
                number += 1
                await asyncio.sleep(0.05)

    async def _check(self, decide: Callable[[Any], Awaitable[Any]], number: int, name: str, way: str) -> None:
        row = number % 64
        answer = await decide(request(row, request_id=name))
        assert answer.request_id == name
        assert LEGAL[row, answer.selected_action.number], f"{name}: an illegal move"
        self.answered[way] += 1

    async def kill_server(self) -> None:
        last = time.monotonic()
        while not await self._is_over(max(0.0, last + KILL_SERVER - time.monotonic())):
            last = time.monotonic()
            await self.server.kill()
            await self.server.start()

    async def kill_nats(self) -> None:
        while not await self._is_over(KILL_NATS):
            self.nats.kill()
            await asyncio.sleep(0.5)
            await asyncio.to_thread(self.nats.start)

    async def watch_memory(self, *processes: int) -> None:
        watched = {process: psutil.Process(process) for process in processes}
        while not await self._is_over(1.0):
            for process, about in watched.items():
                self.memory.setdefault(process, []).append(about.memory_info().rss)

    async def _is_over(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self.over.wait(), seconds)
        except TimeoutError:
            return False
        return True


async def soak(nats: NatsServer, log: Path) -> None:
    server, steady = Server(nats.address, log), Server(nats.address, log.with_suffix(".steady"))
    await asyncio.gather(server.start(), steady.start())
    run = Soak(nats, server)
    async with run.client() as reader:
        await run.read(reader)
        work = [run.publish(), run.ask_directly(), run.ask_over_bus(), run.kill_server(), run.kill_nats(),
                run.watch_memory(os.getpid(), steady.process.pid)]  # fmt: skip
        tasks = [asyncio.create_task(one) for one in work]
        done, _ = await asyncio.wait(tasks, timeout=SECONDS, return_when=asyncio.FIRST_EXCEPTION)
        run.over.set()
        for task in done:
            task.result()  # whatever went wrong before the end
        await asyncio.wait_for(asyncio.gather(*tasks), 180)
        good = (run.acknowledged > 0) & (np.arange(len(run.acknowledged)) % POISON != POISON - 1)
        poison = {number for number in np.flatnonzero(run.acknowledged).tolist() if number % POISON == POISON - 1}
        await until(lambda: bool((run.handled[good] > 0).all()) and poison <= run.buried, 120)
        await until(lambda: bool((run.answers[: run.answered["bus"]] > 0).all()), 120)
        print(f"{int(run.acknowledged.sum())} events, {dict(run.answered)} answers, {len(poison)} poison messages, "
              f"{server.kills} kills of the server, {reader.metrics.reconnects} of NATS, "
              f"{reader.metrics.duplicates.total()} duplicates known, "
              f"{sum(reader.metrics.dropped.values())} dropped by the slow one")  # fmt: skip
    for one in (server, steady):
        one.process.terminate()
        assert await one.process.wait() == 0, "it ends in order, after all"
    assert run.handled.max() == 1, "nothing is handled twice"
    assert (run.handled[good] == 1).all(), "nothing acknowledged is lost"
    assert run.answers.max() == 1, "one answer per question"
    assert run.answered["grpc"] > SECONDS
    assert run.answered["bus"] > SECONDS / 4
    assert server.kills >= max(1, int(SECONDS // KILL_SERVER) - 2)
    for process, memory in run.memory.items():
        third = len(memory) // 3
        grown = np.median(memory[-third:]) - np.median(memory[third : 2 * third])
        print(f"process {process}: {memory[-1] / 2**20:.0f} MB, grown by {grown / 2**20:.1f} MB")
        assert grown < GROWTH, "memory is flat"


def test_nothing_is_lost_doubled_or_illegal_while_everything_is_killed(tmp_path: Path) -> None:
    nats = NatsServer(tmp_path / "nats")
    try:
        asyncio.run(soak(nats, tmp_path / "decisions.jsonl"))
    finally:
        nats.kill()
