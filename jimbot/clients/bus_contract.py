"""What a bus promises, whichever carries it.

`publish` returns when the event is safe: a durable topic's event survives kill -9 of every process here. An event id is
taken once; publishing it again changes nothing, so a publisher in doubt may repeat itself.

`subscribe` without a name hears what is published from now on, at most once: who is slow misses events, which are
counted by topic, and nobody waits for him. With `durable` the place in the log is kept under that name: an event is
handed out until its handler has returned, again after a pause where it raised, and goes to `dead.<topic>` after so many
tries. Subscribers of one `queue` share the events. With `at_once` 1 (the usual) events arrive in the order of the log;
with more, those of one `order_key` (a game) still do.

A handler may be a function (run in a thread) or a coroutine function. It may see an event twice after a crash between
its return and the acknowledgement; within one process the bus remembers what was handled.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import time
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from jimbot.clients.bus_tracing import PUBLISH, span
from jimbot.errors import BusError, UsageError
from jimbot.proto.events_pb2 import Event
from jimbot.proto.topics import TOPICS, VERSION, check_event, check_pattern, matches, topic

Handler = Callable[[Event], Awaitable[None] | None]
Start = int | float | None
"""Where a reading begins: an int is a sequence number, a float seconds since 1970; None: from now on."""
LARGEST_EVENT = 1_000_000  # bytes; NATS takes 1 MiB with its headers
LOOK_AGAIN = 0.5  # seconds between two looks whether the bus was away while an answer is waited for


@dataclass(frozen=True)
class BusSettings:
    """How patient the bus is."""

    tries: int = 5
    """How often an event is handed to a durable reader before it goes to the dead letters."""
    first_pause: float = 0.05
    """Seconds before the second try; it doubles."""
    longest_pause: float = 5.0
    queue_size: int = 10_000
    """Events a subscriber without a durable name may lie behind before it misses some."""
    publish_seconds: float = 5.0
    """How long a publisher waits until its event is safe."""
    ack_wait: float = 10.0
    """Seconds without a sign of life after which a reader's event is given to another."""
    keep_seconds: float = 7 * 86_400.0
    keep_events: int = 1_000_000
    """What the log holds at most."""
    keep_bytes: int = 4 * 2**30
    keep_metrics_seconds: float = 3600.0
    """Metrics and heartbeats are kept this long."""
    power_safe: bool = False
    """For the process that starts this machine's own server: sync the disk before an event counts as safe; else the
    last two minutes may be lost with the power."""


@dataclass
class BusMetrics:
    """What happened, by topic. Topics are a fixed list, so the labels are bounded."""

    published: Counter[str] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)
    """Published again under an id that the log has."""
    handled: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    """Tries whose handler raised."""
    redelivered: Counter[str] = field(default_factory=Counter)
    duplicates: Counter[str] = field(default_factory=Counter)
    """Handed out again although handled; the handler did not see them."""
    dead: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    """Missed by a slow subscriber, or not taken from a publisher that does not wait."""
    unreadable: Counter[str] = field(default_factory=Counter)
    reconnects: int = 0
    lag: dict[str, float] = field(default_factory=dict)
    """Events between a durable reader's place and the end of the log, by its name."""

    def counters(self) -> dict[str, Counter[str]]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Counter)}


@dataclass(frozen=True)
class Reading:
    """What a subscriber asked for."""

    topics: tuple[str, ...]
    handler: Handler
    durable: str | None
    queue: str | None
    start: Start
    at_once: int


class Subscription(ABC):
    """An open subscription."""

    @abstractmethod
    async def close(self) -> None:
        """Nothing more is handed out; what the handler holds is finished or handed out again later."""


class Bus(ABC):
    """See the module. Every method belongs to the event loop the bus was opened in."""

    def __init__(self, settings: BusSettings = BusSettings()) -> None:
        self.settings = settings
        self.metrics = BusMetrics()
        self._waiting: dict[str, asyncio.Future[Event]] = {}  # by the id of the question
        self._name, self._numbers = uuid.uuid4().hex, itertools.count(1)  # ids without asking the system for each
        self.source = f"{socket.gethostname()}/{os.getpid()}"

    async def publish(self, event: Event) -> int:
        """Its place in the log once it is safe there; 0 for topics that are not kept."""
        with span(PUBLISH, event):
            return (await self.store(event))[0]

    @abstractmethod
    async def store(self, event: Event) -> tuple[int, bool]:
        """The same, and whether the log had it already."""

    async def publish_and_wait(self, event: Event, seconds: float = 2.0) -> Event:
        """The first event that answers this one: on its topic's answer topic, with its id as correlation id. Asked
        again under the same event id it is not asked twice: the answer is waited for, or found in the log."""
        answer = self.answer_topic(event)
        self.prepared(event)
        await self._hear_answers(answer)
        future = self._waiting.setdefault(event.event_id, asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(seconds):
                with span(PUBLISH, event):
                    place, missed = await self.store(event)
                while not future.done():
                    before = self.metrics.reconnects
                    if missed:
                        with suppress(BusError):  # away again; there is another look
                            async for found in self.replay([answer], place):
                                await self._answered(found)
                    await asyncio.wait((future,), timeout=LOOK_AGAIN)
                    missed = self.metrics.reconnects != before  # what was said while the bus was away was not heard
                return future.result()
        except TimeoutError:
            raise BusError(
                f"Nobody answered the {event.topic} {event.event_id} within {seconds:g} s. "
                "Is a service subscribed (jimbot serve --bus …)?"
            ) from None
        finally:
            self._waiting.pop(event.event_id, None)

    async def subscribe(
        self,
        topics: Sequence[str],
        handler: Handler,
        durable: str | None = None,
        queue: str | None = None,
        *,
        start: Start = None,
        at_once: int = 1,
    ) -> Subscription:
        """Hands events to `handler`; a durable name that was used before goes on where it was and ignores `start`."""
        check_subscription(topics, durable, queue, at_once)
        return await self._read(Reading(tuple(topics), handler, durable, queue, start, at_once))

    @abstractmethod
    def replay(self, topics: Sequence[str], start: Start = 0) -> AsyncIterator[Event]:
        """What the log has from `start` on, to its end as it is now."""

    @abstractmethod
    async def stats(self) -> dict[str, Any]:
        """The log and its readers as plain values."""

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    async def _hear_answers(self, name: str) -> None:
        """From now on every event on this topic comes to `_answered`."""

    @abstractmethod
    async def _read(self, reading: Reading) -> Subscription:
        """Opens a subscription that was checked."""

    async def _answered(self, event: Event) -> None:
        waiting = self._waiting.get(event.correlation_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(event)

    def prepared(self, event: Event) -> bytes:
        """Completes and checks an event; its bytes."""
        if not event.event_id:
            event.event_id = f"{self._name}-{next(self._numbers):x}"
        if not event.timestamp_ns:
            event.timestamp_ns = time.time_ns()
        event.source = event.source or self.source
        event.schema_version = event.schema_version or VERSION
        check_event(event)
        body = event.SerializeToString()
        if len(body) > LARGEST_EVENT:
            raise UsageError(
                f"The event {event.event_id} on '{event.topic}' has {len(body):,} bytes; "
                f"at most {LARGEST_EVENT:,} are taken."
            )
        return body

    def answer_topic(self, event: Event) -> str:
        answer = topic(event.topic).answer
        if not answer:
            asking = ", ".join(name for name, about in TOPICS.items() if about.answer)
            raise UsageError(f"Nobody answers on topic '{event.topic}'; questions are asked on {asking}.")
        return answer


_handled: ContextVar[Event | None] = ContextVar("handled", default=None)


@contextmanager
def handling(event: Event) -> Generator[None]:
    """Within it, this is the event whose handler runs."""
    before = _handled.set(event)
    try:
        yield
    finally:
        _handled.reset(before)


def handled_event() -> Event:
    """The event whose handler asks."""
    event = _handled.get()
    if event is None:
        raise UsageError("No event is being handled; call this from a handler, or answer with answer_to(event, …).")
    return event


def check_subscription(topics: Sequence[str], durable: str | None, queue: str | None, at_once: int) -> None:
    if isinstance(topics, str) or not topics:
        raise UsageError(f"The topics are {topics!r}; expected a list like ['game.result'].")
    for pattern in topics:
        check_pattern(pattern)
    for what, name in (("durable", durable), ("queue", queue)):
        if name is not None and not (0 < len(name) <= 64 and name.replace("-", "").replace("_", "").isalnum()):
            raise UsageError(f"The {what} name is {name!r}; expected letters, digits, - and _, at most 64.")
    if durable is not None and not any(TOPICS[name].durable for name in TOPICS if _asked_for(name, topics)):
        raise UsageError(f"{', '.join(topics)} are not kept, so nobody can go on in them; leave durable out.")
    if at_once < 1:
        raise UsageError(f"at_once is {at_once}; expected 1 (in order) or more.")


def _asked_for(name: str, topics: Sequence[str]) -> bool:
    return any(matches(pattern, name) or matches(name, pattern) for pattern in topics)
