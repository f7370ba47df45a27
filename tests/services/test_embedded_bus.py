"""The bus of one machine: several processes, kill -9 of each of them and of the server, limits, and logs of old."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from jimbot.clients import EventBusClient
from jimbot.clients.event_bus import open_bus
from jimbot.errors import NotWritableError, UsageError
from jimbot.proto.events_pb2 import Event, MetricEvent
from jimbot.services.bus import embedded, local_server
from jimbot.services.bus.embedded import store_of
from tests.services.buses import QUICK, Heard, client, in_loop, nats_program, result, steps, until
from tests.services.test_nats_bus import through_crashes

pytest.importorskip("nats")
pytestmark = pytest.mark.skipif(nats_program() is None, reason="nats-server is not installed")

PUBLISH_FOR_EVER = """
import asyncio, sys
from tests.services.buses import client, result
async def main():
    bus, number = client(sys.argv[1]), 0
    while True:
        await asyncio.gather(*(bus.publish(result(number + more, sys.argv[2])) for more in range(20)))
        number += 20
        print(number, flush=True)
asyncio.run(main())
"""
READ_FOR_EVER = """
import asyncio, sys
from tests.services.buses import client, steps
async def main():
    bus = client(sys.argv[1])
    async def handle(event):
        print(steps(event), flush=True)
        await asyncio.sleep(0.01)
    await bus.subscribe(["game.result"], handle, durable="reader", start=0)
    await asyncio.sleep(1000)
asyncio.run(main())
"""
OPEN_AND_DIE = """
import asyncio, os, signal, sys
from jimbot.clients import nats_bus
from tests.services.buses import client
nats_bus.DUPLICATE_WINDOW, store, stored = 0.1, nats_bus.NatsBus.store, []
async def deadly(self, event):
    stored.append(event)
    if len(stored) == 400:
        os.kill(os.getpid(), signal.SIGKILL)
    return await store(self, event)
nats_bus.NatsBus.store = deadly
asyncio.run(client(sys.argv[1]).connect())
"""
OLD_TABLES = """
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, event_id TEXT NOT NULL UNIQUE, topic TEXT NOT NULL,
    time REAL NOT NULL, body BLOB NOT NULL);
CREATE TABLE readers (
    name TEXT PRIMARY KEY, position INTEGER NOT NULL, durable INTEGER NOT NULL, holder TEXT NOT NULL DEFAULT '',
    lease REAL NOT NULL DEFAULT 0);
PRAGMA user_version=1;
"""


@contextmanager
def child(program: str, address: str, game: str = "") -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", program, address, game], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    found = f"embedded:{tmp_path / 'bus.sqlite'}"
    yield found
    local_server.stop(store_of(found))


class Killable:
    """This machine's server, as `through_crashes` kills one; it is started again by its supervisor."""

    def __init__(self, address: str) -> None:
        self.address = address

    def kill(self) -> None:
        server = local_server.read_state(store_of(self.address))
        os.kill(server.pid, signal.SIGKILL)

    def start(self) -> None:
        pass


async def replayed(address: str, *topics: str) -> list[Event]:
    async with client(address) as bus:
        return [event async for event in bus.replay(topics or ["game.result"])]


def test_a_killed_publisher_and_a_killed_reader_lose_nothing(address: str) -> None:
    """A publisher is killed: what it was told is safe is in the log, in order. Then readers are killed one after
    another in the middle of their work: together they have handled everything, none out of order."""
    with child(PUBLISH_FOR_EVER, address) as publisher:
        acknowledged = max(int(publisher.stdout.readline()) for _ in range(10))
        publisher.kill()
        acknowledged = max([acknowledged, *map(int, publisher.stdout.read().split())])
    kept = [steps(event) for event in asyncio.run(replayed(address))]
    assert kept[:acknowledged] == list(range(acknowledged))
    with child(READ_FOR_EVER, address) as reader:
        before = [int(reader.stdout.readline()) for _ in range(15)]
        reader.kill()
        before += map(int, reader.stdout.read().split())

    async def rest() -> list[int]:
        async with client(address) as bus:
            heard = Heard()
            await bus.subscribe(["game.result"], heard, durable="reader")
            await until(lambda: kept[-1] in heard.numbers, 30)
            return heard.numbers

    after = asyncio.run(rest())
    assert before == list(range(len(before)))
    assert after == list(range(after[0], kept[-1] + 1))
    assert after[0] <= len(before)  # again at most, never skipped
    assert after[0] >= len(before) - 2


def test_many_publishers_keep_their_orders(address: str) -> None:
    games = ("one", "two", "three")
    with ExitStack() as publishers:
        children = [publishers.enter_context(child(PUBLISH_FOR_EVER, address, game)) for game in games]
        acknowledged = {
            game: max(int(one.stdout.readline()) for _ in range(5)) for game, one in zip(games, children, strict=True)
        }
    found = asyncio.run(replayed(address))
    for game in games:
        mine = [steps(event) for event in found if event.order_key == game]
        assert mine[: acknowledged[game]] == list(range(acknowledged[game]))
        assert mine == sorted(mine)


def test_a_killed_server_loses_nothing_acknowledged_and_keeps_the_order(address: str) -> None:
    in_loop(lambda: through_crashes(Killable(address), "here", 2, 0.5, 0.005))


def test_whoever_is_left_starts_the_bus_again_where_its_supervisor_was_killed_too(address: str) -> None:
    async def work() -> None:
        async with client(address, replace(QUICK, publish_seconds=30.0)) as bus:
            heard = Heard()
            await bus.subscribe(["game.result"], heard, durable="reader")
            await bus.publish(result(1))
            server = local_server.read_state(store_of(address))
            for pid in (server.supervisor, server.pid):
                os.kill(pid, signal.SIGKILL)
            await bus.publish(result(2))
            await until(lambda: heard.numbers == [1, 2], 30)

    in_loop(work)


def test_the_log_stays_within_its_limits_and_forgets_figures(address: str) -> None:
    async def work() -> None:
        settings = replace(QUICK, keep_events=50, keep_metrics_seconds=1.0)
        async with client(address, settings) as bus:
            figure = Event(topic="metrics.train")
            figure.payload.Pack(MetricEvent(run="r"))
            await bus.publish(figure)
            assert len([event async for event in bus.replay(["metrics.*"])]) == 1
            await asyncio.gather(*(bus.publish(result(number)) for number in range(45)))
            began = time.monotonic()
            while [event async for event in bus.replay(["metrics.*"])]:
                assert time.monotonic() - began < 20
                await asyncio.sleep(0.1)
            await asyncio.gather(*(bus.publish(result(number)) for number in range(45, 100)))
            assert [steps(event) async for event in bus.replay(["*"])] == list(range(50, 100))

    in_loop(work)


def test_without_an_address_the_log_lies_with_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JIMBOT_BUS", raising=False)

    async def work() -> None:
        async with EventBusClient() as bus:
            assert await bus.publish(result(1)) == 1

    in_loop(work)
    assert local_server.stop(tmp_path / "runs" / "bus.nats")


def test_a_file_that_is_no_log_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary " * 100)
    with pytest.raises(NotWritableError, match="no bus's log"):
        asyncio.run(open_bus(f"embedded:{path}"))
    newer = tmp_path / "newer.sqlite"
    with closing(sqlite3.connect(newer)) as database:
        database.execute("PRAGMA user_version=99")
    with pytest.raises(UsageError, match="format 99"):
        asyncio.run(open_bus(f"embedded:{newer}"))
    assert path.exists()


def old_log(address: str, events: int, position: int) -> Path:
    """A log as earlier versions wrote it, with a figure and somebody else's bytes in it."""
    path = embedded.file_of(address)
    figure = Event(topic="metrics.train", event_id="figure")
    bodies = [(f"old-{n}", "game.result", result(n, event_id=f"old-{n}").SerializeToString()) for n in range(events)]
    bodies[3:3] = [("figure", "metrics.train", figure.SerializeToString()), ("foreign", "game.result", b"\xff\x00")]
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(OLD_TABLES)
        database.executemany("INSERT INTO events (event_id, topic, time, body) VALUES (?, ?, 0, ?)", bodies)
        database.execute("INSERT INTO readers (name, position, durable) VALUES ('reader', ?, 1)", (position,))
    return path


def test_a_log_of_an_earlier_version_is_read_once_and_its_readers_go_on(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = old_log(address, 300, 292)  # 290 events, a figure and foreign bytes are behind the reader

    async def work() -> None:
        async with client(address) as bus:
            await bus.publish(result(300))
            heard = Heard()
            await bus.subscribe(["game.result"], heard, durable="reader", at_once=4)
            await until(lambda: len(heard.events) == 11)
            assert sorted(heard.numbers) == list(range(290, 301))

    in_loop(work)
    assert f"The 300 events of {path}" in caplog.text
    assert not path.exists()
    assert path.with_name("bus.sqlite.migrated").exists()
    assert [steps(event) for event in asyncio.run(replayed(address, "*"))] == list(range(301))


def test_whoever_is_killed_while_reading_an_old_log_goes_on_where_he_was(address: str) -> None:
    """However much later: the server itself knows ids for a while only, here a moment."""
    path = old_log(address, 700, 0)
    with child(OPEN_AND_DIE, address) as opening:
        assert opening.wait(60) == -signal.SIGKILL
    assert path.exists()
    time.sleep(0.3)
    for _ in range(2):
        assert [steps(event) for event in asyncio.run(replayed(address))] == list(range(700))
    assert not path.exists()
