"""The bus without a server: a log in one SQLite file (`event_log.py`), and every subscription a place in it.

The log is the queue. A subscriber that is slow lies behind and costs nobody anything; one without a durable name that
lies too far behind is set forward, and what it missed is counted. Buses on the same file in one process share the log's
thread; processes on the same machine call each other when they have written. A durable name, and a queue, is read by
one process at a time: the others stand by and take over when it ends or has died (`LEASE` seconds). Within that
process the members of a queue share the events, those of one game always with the same member.
"""

from __future__ import annotations

import asyncio
import os
import threading
import uuid
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from jimbot.clients.bus_contract import Bus, BusSettings, Handler, Reading, Start, Subscription, check_subscription
from jimbot.errors import BusError, UsageError
from jimbot.proto.events_pb2 import Event
from jimbot.proto.topics import matches, topic
from jimbot.services.bus.delivery import Delivery, Runner
from jimbot.services.bus.event_log import Entry, EventLog, Row

SCHEME = "embedded"
DEFAULT_PATH = Path("runs/bus.sqlite")
LEASE = 5.0  # seconds a process that stopped renewing keeps its readers
RENEW = 1.0
BATCH = 256

_shared: dict[Path, tuple[EventLog, int]] = {}
_sharing = threading.Lock()


async def open_bus(address: str, settings: BusSettings = BusSettings()) -> EmbeddedBus:
    """`embedded` or `embedded:FILE`."""
    _, _, path = address.partition(":")
    return EmbeddedBus(Path(path) if path else DEFAULT_PATH, settings)


class EmbeddedBus(Bus):
    """See the module."""

    def __init__(self, path: Path, settings: BusSettings = BusSettings()) -> None:
        super().__init__(settings)
        self._loop = asyncio.get_running_loop()
        self.log = _take_log(path, settings)
        self.path = path.resolve()
        self.instance = f"{os.getpid()}-{uuid.uuid4().hex}"
        self._readers: dict[str, Reader] = {}
        self._answers: dict[str, Reader] = {}
        self._told: list[tuple[asyncio.Future[tuple[int, bool]], int | Exception, bool]] = []
        self._telling = threading.Lock()
        self._closed = False
        self._quiet = self.log.on_news(self._news)

    async def store(self, event: Event) -> tuple[int, bool]:
        self._require_open()
        body = self.prepared(event)
        if not topic(event.topic).durable:
            self.log.append(Entry(event.event_id, event.topic, body, None))
            self.figures.published[event.topic] += 1
            return 0, False
        future: asyncio.Future[tuple[int, bool]] = self._loop.create_future()
        self.log.append(Entry(event.event_id, event.topic, body, partial(self._written, event.topic, future)))
        try:
            return await asyncio.wait_for(future, self.settings.publish_seconds)
        except TimeoutError:
            raise BusError(
                f"The bus's log {self.path} took no event for {self.settings.publish_seconds:g} s; is its disk full?"
            ) from None

    async def _hear_answers(self, name: str) -> None:
        if name not in self._answers:
            self._answers[name] = Reader(self, (name,), None, 1)
            self._answers[name].add(self._answered)

    async def _read(self, reading: Reading) -> Subscription:
        self._require_open()
        topics, durable, queue = reading.topics, reading.durable, reading.queue
        name = durable or (f"queue:{queue}" if queue else uuid.uuid4().hex)
        reader = self._readers.get(name)
        if reader is not None and (queue is None or reader.topics != topics):
            raise UsageError(
                f"'{name}' reads already here; members of a group give the same queue and topics, others another name."
            )
        if reader is None:
            shared = name if durable or queue else None
            reader = Reader(self, topics, shared, reading.at_once, durable is not None, reading.start)
            self._readers[name] = reader
        member = reader.add(reading.handler, reading.at_once)
        return _Member(self, name, reader, member)

    async def replay(self, topics: Sequence[str], start: Start = 0) -> AsyncIterator[Event]:
        check_subscription(topics, None, None, 1)
        place, end = self.place(start), self.log.end()
        while rows := [row for row in self.log.read(place, BATCH) if row.sequence <= end]:
            place = rows[-1].sequence
            for row in rows:
                event = _event(row) if any(matches(pattern, row.topic) for pattern in topics) else None
                if event is not None:
                    yield event
            await asyncio.sleep(0)

    async def stats(self) -> dict[str, Any]:
        return {"bus": f"{SCHEME}:{self.path}", **self.log.described()}

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._quiet()
        for reader in (*self._readers.values(), *self._answers.values()):
            await reader.close()
        await asyncio.to_thread(_give_log_back, self.path)

    def place(self, start: Start) -> int:
        """The place after which a reading begins."""
        if start is None:
            return self.log.end()
        return self.log.before(start) if isinstance(start, float) else max(0, start - 1)

    async def leave(self, name: str, reader: Reader) -> None:
        if self._readers.get(name) is reader:
            del self._readers[name]
            await reader.close()

    def _require_open(self) -> None:
        if self._closed:
            raise BusError("The bus is closed; open another one.")

    def _written(
        self, name: str, future: asyncio.Future[tuple[int, bool]], place: int | Exception, again: bool
    ) -> None:
        """In the log's thread: collected, and told in the loop together with the news."""
        (self.figures.repeated if again else self.figures.published)[name] += not isinstance(place, Exception)
        with self._telling:
            self._told.append((future, place, again))
            first = len(self._told) == 1
        if first:
            with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
                self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        with self._telling:
            told, self._told = self._told, []
        for future, place, again in told:
            if future.done():
                continue
            if isinstance(place, Exception):
                future.set_exception(place)
            else:
                future.set_result((place, again))

    def _news(self) -> None:
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for reader in (*self._readers.values(), *self._answers.values()):
            reader.news.set()


class Reader:
    """A place in the log and those who are handed what comes after it."""

    def __init__(
        self, bus: EmbeddedBus, topics: tuple[str, ...], shared: str | None, at_once: int,
        durable: bool = False, start: Start = None,
    ) -> None:  # fmt: skip
        """`shared` is the name under which only one process reads; None: this reader is nobody else's business."""
        self.bus, self.topics, self.shared, self.durable = bus, topics, shared, durable
        self.news = asyncio.Event()
        self.news.set()
        self._at_once = at_once
        self._members: dict[int, Runner] = {}
        self._place = bus.place(start)
        if shared is not None:
            self._place = bus.log.join(shared, self._place, durable)
        self._open: dict[int, bool] = {}  # events handed out, by place: whether they are done
        self._held = shared is None
        self._tasks = [asyncio.create_task(self._run())]
        bus.log.listen()
        if shared is not None:
            self._tasks.append(asyncio.create_task(self._stay()))

    def add(self, handler: Handler, at_once: int | None = None) -> int:
        number = max(self._members, default=0) + 1
        name = self.shared if self.durable else None
        bus = self.bus
        runner = Runner(handler, bus.settings, bus.figures, name, bus.publish, at_once or self._at_once)
        self._members[number] = runner
        return number

    async def remove(self, number: int) -> bool:
        """Whether others are left."""
        runner = self._members.pop(number, None)
        if runner is not None:
            await runner.finished()
        return bool(self._members)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for runner in self._members.values():
            await runner.close()
        if self.shared is not None:
            with suppress(BusError):
                self.bus.log.leave(self.shared, self.bus.instance)

    async def _run(self) -> None:
        while True:
            await self.news.wait()
            self.news.clear()
            try:
                if self._held:
                    await self._read_on()
            except BusError:  # the file is busy or away for the moment; what it holds is not lost
                await asyncio.sleep(0.1)
                self.news.set()

    async def _stay(self) -> None:
        """Renews the right to read under a shared name, however long a handler takes, or waits for it."""
        while True:
            with suppress(BusError):
                await self._renew()
            await asyncio.sleep(RENEW if self._held else RENEW / 4)

    async def _renew(self) -> None:
        assert self.shared is not None
        log, loop = self.bus.log, asyncio.get_running_loop()
        answer: asyncio.Future[bool] = loop.create_future()

        def tell(held: bool) -> None:
            if not answer.done():
                answer.set_result(held)

        def told(held: bool) -> None:
            with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
                loop.call_soon_threadsafe(tell, held)

        log.hold(self.shared, self.bus.instance, LEASE, told)
        held = await answer
        if held and not self._held:  # from where the one before stopped
            self._place = log.position(self.shared) if self.durable else self._place
            self._open.clear()
            self.news.set()
        self._held = held

    async def _read_on(self) -> None:
        log = self.bus.log
        if not self.durable:
            self._skip()
        while self._held and (rows := log.read(self._place, BATCH)):
            for row in rows:
                if not self._held:
                    return
                self._place = row.sequence
                if not any(matches(pattern, row.topic) for pattern in self.topics):
                    continue
                self._open[row.sequence] = False
                await self._member(row).take(Delivery(row.topic, row.body, row.sequence, done=partial(self._done, row)))
            self._acknowledge()
            if self.durable and self.shared is not None:
                self.bus.figures.lag[self.shared] = log.end() - min(self._open, default=self._place + 1) + 1
            if not self.durable:
                self._skip()

    def _skip(self) -> None:
        """Sets a subscriber forward that lies too far behind; events that were trimmed away are no drops of ours."""
        log, most = self.bus.log, self.bus.settings.queue_size
        end = log.end()
        if end - self._place <= most:
            return
        for name, count in log.topics_between(self._place, end - most).items():
            if any(matches(pattern, name) for pattern in self.topics):
                self.bus.figures.dropped[name] += count
        self._place = end - most

    def _member(self, row: Row) -> Runner:
        """Always the same for one game, as long as the members are."""
        members = list(self._members.values())
        if len(members) == 1:
            return members[0]
        event = _event(row)
        key = (event.order_key if event is not None else "") or str(row.sequence)
        return members[zlib.crc32(key.encode()) % len(members)]

    async def _done(self, row: Row) -> None:
        self._open[row.sequence] = True
        self._acknowledge()

    def _acknowledge(self) -> None:
        """Up to the first event that is not done yet; what nobody here wants counts as done."""
        for place in sorted(self._open):
            if not self._open[place]:
                break
            del self._open[place]
        if self.durable and self.shared is not None:
            self.bus.log.acknowledge(self.shared, min(self._open, default=self._place + 1) - 1)


class _Member(Subscription):
    def __init__(self, bus: EmbeddedBus, name: str, reader: Reader, number: int) -> None:
        self._bus, self._name, self._reader, self._number = bus, name, reader, number

    async def close(self) -> None:
        if not await self._reader.remove(self._number):
            await self._bus.leave(self._name, self._reader)


def _event(row: Row) -> Event | None:
    """The event of a row; None where something else has written into the file."""
    event = Event()
    try:
        event.ParseFromString(row.body)
    except DecodeError:
        return None
    event.sequence = row.sequence
    return event


def _take_log(path: Path, settings: BusSettings) -> EventLog:
    path = path.resolve()
    with _sharing:
        log, users = _shared.get(path) or (EventLog(path, settings), 0)
        _shared[path] = log, users + 1
    return log


def _give_log_back(path: Path) -> None:
    with _sharing:
        log, users = _shared.pop(path)
        if users > 1:
            _shared[path] = log, users - 1
            return
    log.close()
