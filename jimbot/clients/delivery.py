"""From a subscription to its handler: order, retries, dead letters, nothing twice."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from jimbot.background import Backoff
from jimbot.clients.bus_contract import LARGEST_EVENT, BusMetrics, BusSettings, Handler, handling
from jimbot.clients.bus_tracing import HANDLE, span
from jimbot.errors import BusError, UsageError
from jimbot.proto.events_pb2 import DeadLetter, Event
from jimbot.proto.topics import ANY, check_event, matches

if TYPE_CHECKING:
    from jimbot.clients.nats_bus import NatsBus

PREFIX = "jimbot."
DELIVER = "_jimbot.deliver."

REMEMBERED = 20_000  # ids of handled events
LONGEST_ERROR = 500
MOST_BURIED = LARGEST_EVENT - 10_000  # bytes of an event inside a dead letter
DEAD = "dead."
_log = logging.getLogger("jimbot.services")


async def _nothing() -> None:
    pass


@dataclass
class Delivery:
    """One event on its way to a handler."""

    topic: str
    body: bytes
    sequence: int = 0
    attempt: int = 1
    """Which hand-out this is, as far as the bus knows."""
    done: Callable[[], Awaitable[None]] = _nothing
    """Acknowledges it."""


class Runner:
    """Calls one handler. `take` returns when there is room for the next event."""

    def __init__(
        self,
        handler: Handler,
        settings: BusSettings,
        metrics: BusMetrics,
        consumer: str | None,
        bury: Callable[[Event], Awaitable[Any]],
        at_once: int = 1,
    ) -> None:
        """`consumer` is the durable name; without one an event is tried once. `bury` publishes a dead letter."""
        self._call = _awaitable(handler)
        self._settings, self._metrics, self._consumer, self._bury = settings, metrics, consumer, bury
        self._pauses = Backoff(settings.first_pause, settings.longest_pause)
        self._room = asyncio.Semaphore(at_once)
        self._in_order = at_once == 1
        self._latest: dict[str, asyncio.Task[None]] = {}  # the last task of each order key
        self._tasks: set[asyncio.Task[None]] = set()
        self._handled: OrderedDict[str, None] = OrderedDict()

    async def take(self, delivery: Delivery) -> None:
        if self._in_order:
            await self._deliver(delivery)
            return
        await self._room.acquire()
        event = self._read(delivery)
        key = event.order_key if event is not None else ""
        before = self._latest.get(key) if key else None
        task = asyncio.create_task(self._after(before, delivery))
        self._tasks.add(task)
        if key:
            self._latest[key] = task
        task.add_done_callback(lambda done: self._over(done, key))

    async def close(self) -> None:
        """What is being handled is given up; it was not acknowledged."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def finished(self) -> None:
        """What was taken is handled."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _after(self, before: asyncio.Task[None] | None, delivery: Delivery) -> None:
        try:
            if before is not None:
                await asyncio.wait((before,))
            await self._deliver(delivery)
        finally:
            self._room.release()

    def _over(self, task: asyncio.Task[None], key: str) -> None:
        self._tasks.discard(task)
        if self._latest.get(key) is task:
            del self._latest[key]
        if not task.cancelled() and task.exception() is not None:
            _log.error("The bus failed to hand out an event: %s", task.exception())

    def _read(self, delivery: Delivery) -> Event | None:
        """The event, if the bytes are one and it is what its topic carries."""
        event = Event()
        try:
            event.ParseFromString(delivery.body)
            check_event(event)
        except (DecodeError, UsageError):
            return None
        return event

    async def _deliver(self, delivery: Delivery) -> None:
        event = self._read(delivery)
        if event is None:
            self._metrics.unreadable[delivery.topic] += 1
            await self._dead(delivery, "These bytes are no event of this topic.", time.time_ns())
        elif event.event_id in self._handled:
            self._metrics.duplicates[delivery.topic] += 1
        else:
            await self._try(event, delivery)
            self._handled[event.event_id] = None
            while len(self._handled) > REMEMBERED:
                self._handled.popitem(last=False)
        await delivery.done()

    async def _try(self, event: Event, delivery: Delivery) -> None:
        settings, began = self._settings, time.time_ns()
        event.sequence = delivery.sequence
        last = settings.attempts if self._consumer is not None else 1
        attempt = delivery.attempt
        if attempt > max(last, 1) and self._consumer is not None:
            await self._dead(delivery, f"It was handed out {attempt - 1} times and never finished.", began)
            return
        while True:
            event.attempt = attempt
            if attempt > 1:
                self._metrics.redelivered[delivery.topic] += 1
            try:
                with span(HANDLE, event), handling(event):
                    await self._call(event)
            except Exception as problem:  # whatever a handler raises is its own; the bus goes on
                self._metrics.failed[delivery.topic] += 1
                error = f"{type(problem).__name__}: {problem}"[:LONGEST_ERROR]
                if attempt >= last:
                    _log.warning("Event %s on %s failed %d times: %s", event.event_id, event.topic, attempt, error)
                    delivery.attempt = attempt
                    await self._dead(delivery, error, began)
                    return
            else:
                self._metrics.handled[delivery.topic] += 1
                return
            await asyncio.sleep(self._pauses.pause(attempt))
            attempt += 1

    async def _dead(self, delivery: Delivery, error: str, began: int) -> None:
        """Durable readers' failures are kept for people; a dead letter that fails itself is only counted."""
        if self._consumer is None or delivery.topic.startswith(DEAD):
            return
        self._metrics.dead[delivery.topic] += 1
        letter = DeadLetter(
            event=delivery.body[:MOST_BURIED], topic=delivery.topic, consumer=self._consumer, error=error,
            attempts=delivery.attempt, sequence=delivery.sequence, first_attempt_ns=began,
            last_attempt_ns=time.time_ns(),
        )  # fmt: skip
        event = Event(topic=DEAD + delivery.topic, event_id=f"dead-{self._consumer}-{delivery.sequence}")
        event.payload.Pack(letter)
        for attempt in itertools.count(1):
            try:
                await self._bury(event)
            except BusError:  # the bus is away: neither is the event lost nor the next one taken
                await asyncio.sleep(self._pauses.pause(attempt))
            else:
                return


def _awaitable(handler: Handler) -> Callable[[Event], Awaitable[None]]:
    """A handler that is no coroutine function may take its time, so it runs in a thread."""
    if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None)):  # noqa: B004

        async def call(event: Event) -> None:
            await handler(event)  # ty: ignore[invalid-await]

    else:

        async def call(event: Event) -> None:
            answer = await asyncio.to_thread(handler, event)
            if answer is not None:
                await answer

    return call


class Subscription:
    """An open subscription. Once it is closed nothing more is handed out; what its handler holds is finished, or handed
    out again later."""

    def __init__(self, bus: NatsBus, runner: Runner) -> None:
        self._bus, self._runner = bus, runner
        self._open: Any = None

    async def open(self) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        self._bus.forget(self)
        with suppress(Exception):  # the connection may be gone, and the subscription with it; the server notices
            await self._open.unsubscribe()
        await self._runner.close()


class LiveSubscription(Subscription):
    """Whatever is published while it is open; the client's own bounded queue drops what comes too fast."""

    def __init__(self, bus: NatsBus, runner: Runner, topics: tuple[str, ...], queue: str) -> None:
        super().__init__(bus, runner)
        self._topics, self._queue = topics, queue

    async def open(self) -> None:
        """One subject for all its topics, so that their order is kept."""
        heard = subject(self._topics[0]) if len(self._topics) == 1 else PREFIX + ">"
        self._open = await self._bus.connection.subscribe(
            heard, queue=self._queue, cb=self._arrived, pending_msgs_limit=self._bus.settings.queue_size
        )

    async def _arrived(self, message: Any) -> None:
        name = message.subject.removeprefix(PREFIX)
        if any(matches(pattern, name) for pattern in self._topics):
            await self._runner.take(Delivery(name, message.data))


class DurableSubscription(Subscription):
    """A member of a durable consumer. What it holds is bounded by the consumer; signs of life keep it its own."""

    def __init__(self, bus: NatsBus, runner: Runner, durable: str) -> None:
        super().__init__(bus, runner)
        self._durable = durable
        self._arrived: asyncio.Queue[Any] = asyncio.Queue()
        self._held: dict[int, Any] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        self._open = await self._bus.connection.subscribe(DELIVER + self._durable, queue=self._durable, cb=self._arrive)
        self._tasks = [asyncio.create_task(self._work()), asyncio.create_task(self._live())]

    async def close(self) -> None:
        """What it holds is given back at once."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await super().close()
        for message in list(self._held.values()):
            with suppress(Exception):
                await message.nak()

    async def _arrive(self, message: Any) -> None:
        self._held[message.metadata.sequence.stream] = message
        self._arrived.put_nowait(message)

    async def _work(self) -> None:
        while True:
            message = await self._arrived.get()
            about = message.metadata
            self._bus.metrics.lag[self._durable] = about.num_pending
            await self._runner.take(
                Delivery(
                    message.subject.removeprefix(PREFIX), message.data, about.sequence.stream, about.num_delivered,
                    partial(self._done, message),
                )
            )  # fmt: skip

    async def _done(self, message: Any) -> None:
        import nats.errors

        self._held.pop(message.metadata.sequence.stream, None)
        with suppress(nats.errors.Error):  # it comes again, and is known by its id
            await message.ack()

    async def _live(self) -> None:
        import nats.errors

        while True:
            await asyncio.sleep(self._bus.settings.ack_wait / 3)
            for message in list(self._held.values()):
                with suppress(nats.errors.Error):
                    await message.in_progress()


def subject(name: str) -> str:
    """
    >>> subject("game.result"), subject("metrics.*"), subject("*")
    ('jimbot.game.result', 'jimbot.metrics.>', 'jimbot.>')
    """
    return PREFIX + (name.removesuffix(ANY) + ">" if name.endswith(ANY) else name)
