"""What is the embedded bus's own: one file, several processes, kill -9, and damage."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from jimbot.clients import EventBusClient
from jimbot.clients.event_bus import open_bus
from jimbot.errors import BusError, NotWritableError, UsageError
from jimbot.services.bus import event_log
from jimbot.services.bus.embedded import EmbeddedBus
from jimbot.services.bus.event_log import Entry, EventLog
from tests.services.buses import QUICK, Heard, client, foreign_protobuf, in_loop, result, steps, until

PUBLISH_FOR_EVER = """
import asyncio, sys
from tests.services.buses import client, result
async def main():
    bus, number = client(sys.argv[1]), 0
    while True:
        await asyncio.gather(*(bus.publish(result(number + more)) for more in range(20)))
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


@contextmanager
def child(program: str, address: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", program, address], stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"embedded:{tmp_path / 'bus.sqlite'}"


def test_a_killed_publisher_and_a_killed_reader_lose_nothing(address: str) -> None:
    """A publisher is killed: what it was told is safe is in the log, in order. Then readers are killed one after
    another in the middle of their work: together they have handled everything, none out of order."""

    async def survivors() -> list[int]:
        async with client(address) as bus:
            return [steps(event) async for event in bus.replay(["game.result"])]

    with child(PUBLISH_FOR_EVER, address) as publisher:
        acknowledged = max(int(publisher.stdout.readline()) for _ in range(10))
        publisher.kill()
        acknowledged = max([acknowledged, *map(int, publisher.stdout.read().split())])
    kept = asyncio.run(survivors())
    assert kept[:acknowledged] == list(range(acknowledged))
    with child(READ_FOR_EVER, address) as reader:
        before = [int(reader.stdout.readline()) for _ in range(15)]
        reader.kill()
        before += map(int, reader.stdout.read().split())

    async def rest() -> list[int]:
        async with client(address) as bus:
            heard = Heard()
            await bus.subscribe(["game.result"], heard, durable="reader")  # the dead one's lease is not waited for
            await until(lambda: kept[-1] in heard.numbers)
            return heard.numbers

    after = asyncio.run(rest())
    assert before == list(range(len(before)))
    assert after == list(range(after[0], kept[-1] + 1))
    assert after[0] <= len(before)  # again at most, never skipped
    assert after[0] >= len(before) - 2


def test_processes_hear_each_other_through_the_file(address: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            heard = Heard()
            await bus.subscribe(["game.result"], heard)
            with child(PUBLISH_FOR_EVER, address):
                await until(lambda: len(heard.events) >= 40, 30)
            assert heard.numbers[:40] == list(range(40))

    in_loop(work)


def test_a_durable_name_is_read_once_and_another_one_takes_over(address: str) -> None:
    async def work() -> None:
        log = address.partition(":")[2]
        first, second = Heard(), Heard()
        one = EmbeddedBus(Path(log), QUICK)
        two = EmbeddedBus(Path(log), QUICK)
        await one.subscribe(["game.result"], first, durable="worker")
        await two.subscribe(["game.result"], second, durable="worker")
        await one.publish(result(1))
        await until(lambda: len(first.events) == 1)
        await one.close()
        await two.publish(result(2))
        await until(lambda: len(second.events) == 1)
        assert (first.numbers, second.numbers) == ([1], [2])
        with pytest.raises(UsageError, match="reads already here"):
            await two.subscribe(["game.result"], first, durable="worker")
        await two.close()
        with pytest.raises(BusError, match="closed"):
            await two.publish(result(3))

    in_loop(work)


def test_bytes_of_somebody_else_in_the_log_are_dead_letters_and_stop_nobody(address: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            await bus.connect()
            strange = sqlite3.connect(address.partition(":")[2])
            insert = "INSERT INTO events (event_id, topic, time, body) VALUES (?, 'game.result', 0, ?)"
            for body in (b"\xff\x00nonsense", b"", b"\x12\x0bgame.result", foreign_protobuf()):
                strange.execute(insert, (uuid.uuid4().hex, body))
            strange.commit()
            strange.close()
            heard = Heard()
            await bus.subscribe(["game.result"], heard, durable="reader", start=0)
            await bus.publish(result(5))
            await until(lambda: heard.numbers == [5])
            assert bus.figures.unreadable["game.result"] == 4
            assert len([event async for event in bus.replay(["dead.*"])]) == 4

    in_loop(work)


def test_the_log_stays_within_its_limits_and_keeps_what_a_reader_needs(tmp_path: Path) -> None:
    async def work() -> None:
        path = tmp_path / "bus.sqlite"
        settings = replace(QUICK, keep_seconds=0.0, keep_events=50)
        bus = EmbeddedBus(path, settings)
        bus.log.join("reader", 70, True)
        await asyncio.gather(*(bus.publish(result(number)) for number in range(100)))
        await asyncio.to_thread(trimmed, path, settings)
        kept = [event.sequence async for event in bus.replay(["*"])]
        assert kept == list(range(71, 101))
        assert await bus.publish(result(1)) == 101  # places are never given twice
        await bus.close()

    def trimmed(path: Path, settings: object) -> None:
        log = EventLog(path, settings)
        log._put(log._trim)
        log.close()

    in_loop(work)


def test_a_file_that_is_no_log_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary " * 100)
    with pytest.raises(NotWritableError, match="cannot be used as a bus's log"):
        asyncio.run(open_bus(f"embedded:{path}"))
    newer = tmp_path / "newer.sqlite"
    database = sqlite3.connect(newer)
    database.execute("PRAGMA user_version=99")
    database.close()
    with pytest.raises(UsageError, match="format 99"):
        asyncio.run(open_bus(f"embedded:{newer}"))


def test_without_an_address_the_log_lies_with_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JIMBOT_BUS", raising=False)

    async def work() -> None:
        async with EventBusClient() as bus:
            await bus.publish(result(1))

    in_loop(work)
    assert (tmp_path / "runs" / "bus.sqlite").exists()


def test_who_writes_calls_those_who_listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without waiting for anybody to look by himself; whoever has left or died is not called any more."""
    monkeypatch.setattr(event_log, "LOOK_EVERY", 60.0)
    path, news = tmp_path / "bus.sqlite", threading.Event()
    hearing, writing = EventLog(path, QUICK), EventLog(path, QUICK)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("INSERT INTO ears VALUES (9, 999999999)")  # a process that was killed
        hearing.on_news(news.set)
        hearing.listen()
        hearing.acknowledge("nobody", 1)  # written after the ear
        while not (ears := database.execute("SELECT port FROM ears").fetchall()) or ears == [(9,)]:
            time.sleep(0.01)
        assert len(ears) == 1
        news.clear()
        writing.append(Entry("one", "game.result", b"", None))
        assert news.wait(30)
        hearing.close()
        assert not database.execute("SELECT port FROM ears").fetchall()
    writing.close()


def test_a_file_that_another_process_holds_stops_only_the_writer(address: str) -> None:
    async def work() -> None:
        path = Path(address.partition(":")[2])
        bus, heard = EmbeddedBus(path, QUICK), Heard()
        await bus.subscribe(["game.result"], heard, durable="worker")
        await bus.publish(result(1))
        await until(lambda: heard.numbers == [1])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            answers: list[bool] = []
            bus.log.hold("worker", bus.instance, 5.0, answers.append)
            assert [steps(event) async for event in bus.replay(["game.result"])] == [1]
            assert not answers
            other.execute("COMMIT")
            await until(lambda: answers == [True])
        await bus.close()

    in_loop(work)
