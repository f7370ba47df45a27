"""The bus over NATS with JetStream: as many processes and machines as there are.

Topics are kept in one stream (`STREAM`, on the server's disk), metrics only for an hour, and only by servers that can
(2.11). A publisher waits for the server's acknowledgement, and tries again until then; the server knows an event by its
id (`Nats-Msg-Id`) for two minutes. A durable name is a JetStream consumer; subscribers under it share its
events. Without `queue` and with `at_once` 1 the server hands out one event at a time, so the order holds through
crashes of either side. When the server is killed the client connects again by itself, and goes on.
"""

from __future__ import annotations

import asyncio
import datetime
import itertools
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from google.protobuf.message import DecodeError

from jimbot.background import Backoff
from jimbot.clients.bus_contract import Bus, BusSettings, Reading, Start, Subscription, check_subscription
from jimbot.errors import BusError, MissingExtraError
from jimbot.proto.events_pb2 import Event
from jimbot.proto.topics import ANY, TOPICS, matches, topic
from jimbot.services.bus.delivery import Delivery, Runner

STREAM = "JIMBOT"
PREFIX = "jimbot."
DELIVER = "_jimbot.deliver."
ATTEMPT_SECONDS = 2.0  # without any acknowledgement, after which an event is sent again
PAUSES = Backoff(0.05, 0.5)
FORGETS_BY_ITSELF = (2, 11)
"""The first version of the server in which a message may say how long it is kept."""
CONNECT_SECONDS = 5.0
DUPLICATE_WINDOW = 120.0
SHARED_AT_ONCE = 256  # events a group may hold unacknowledged
BATCH = 256
_log = logging.getLogger("jimbot.services")


def require_client() -> None:
    try:
        import nats  # noqa: F401
    except ModuleNotFoundError as problem:
        raise MissingExtraError("The client of NATS", "nats") from problem


async def open_bus(
    address: str,
    settings: BusSettings = BusSettings(),
    shown: str = "",
    revive: Callable[[], object] | None = None,
) -> NatsBus:
    """`nats://host:port`; user, password or token as NATS writes them: nats://token@host. `shown` names it to people,
    `revive` is called, in a thread, whenever the server went away."""
    require_client()
    import nats.errors

    bus = NatsBus(address, settings, shown, revive)
    connecting = nats.connect(
        address, max_reconnect_attempts=-1, reconnect_time_wait=0.1, connect_timeout=2, ping_interval=10,
        error_cb=bus.note_error, disconnected_cb=bus.note_loss, reconnected_cb=bus.note_reconnect,
        pending_size=16 * 2**20,
    )  # fmt: skip
    try:
        bus.connection = await asyncio.wait_for(connecting, CONNECT_SECONDS)
        await bus.prepare()
    except (TimeoutError, OSError, nats.errors.Error) as problem:
        await bus.close()
        raise BusError(
            f"No NATS server with JetStream answers at {bus.shown} ({type(problem).__name__}). "
            "Start one: nats-server -js"
        ) from problem
    return bus


class NatsBus(Bus):
    """See the module; made by `open_bus`."""

    def __init__(
        self, address: str, settings: BusSettings, shown: str = "", revive: Callable[[], object] | None = None
    ) -> None:
        super().__init__(settings)
        host = urlsplit(address)
        self.shown = shown or f"{host.scheme}://{host.hostname}:{host.port or 4222}"  # without secrets
        self.connection: Any = None
        self._revive, self._reviving, self._closed = revive, None, False
        self._keeps_metrics = False
        self._stream: Any = None
        self._answers: dict[str, Any] = {}
        self._subscriptions: list[_Durable | _Live] = []
        self._heard_at = 0.0  # when the server last acknowledged an event

    async def prepare(self) -> None:
        """The stream is there and holds all durable topics."""
        from nats.js import api
        from nats.js.errors import NotFoundError

        self._stream = self.connection.jetstream(timeout=self.settings.publish_seconds)
        version = self.connection.connected_server_version
        self._keeps_metrics = (version.major, version.minor) >= FORGETS_BY_ITSELF
        settings = self.settings
        subjects = [_subject(name) for name, about in TOPICS.items() if about.durable or self._keeps_metrics]
        config = api.StreamConfig(
            name=STREAM, subjects=subjects, storage=api.StorageType.FILE, retention=api.RetentionPolicy.LIMITS,
            discard=api.DiscardPolicy.OLD, max_age=settings.keep_seconds, max_msgs=settings.keep_events,
            max_bytes=settings.keep_bytes, duplicate_window=DUPLICATE_WINDOW,
            allow_msg_ttl=self._keeps_metrics or None,
        )  # fmt: skip
        try:
            found = await self._stream.stream_info(STREAM)
        except NotFoundError:
            await self._stream.add_stream(config)
            return
        if missing := set(subjects) - set(found.config.subjects or ()):  # made by an older JimBot
            found.config.subjects = [*(found.config.subjects or ()), *sorted(missing)]
            found.config.allow_msg_ttl = self._keeps_metrics or None
            await self._stream.update_stream(found.config)

    async def store(self, event: Event) -> tuple[int, bool]:
        import nats.errors

        body = self.prepared(event)
        headers = {"Nats-Msg-Id": event.event_id}
        if event.trace.traceparent:
            headers["traceparent"] = event.trace.traceparent
        if not topic(event.topic).durable:
            if self._keeps_metrics:
                headers["Nats-TTL"] = f"{max(1, round(self.settings.keep_metrics_seconds))}s"
            with suppress(nats.errors.Error):
                await self.connection.publish(_subject(event.topic), body, headers=headers)
                self.metrics.published[event.topic] += 1
                return 0, False
            self.metrics.dropped[event.topic] += 1
            return 0, False
        ends = time.monotonic() + self.settings.publish_seconds
        for attempt in itertools.count(1):
            try:
                sent = await self._stream.publish_async(_subject(event.topic), body, headers=headers)
                done = await self._acknowledged(sent, ends)
            except (TimeoutError, OSError, nats.errors.Error) as problem:
                if time.monotonic() >= ends:
                    raise BusError(
                        f"The NATS server at {self.shown} took no event for {self.settings.publish_seconds:g} s "
                        f"({type(problem).__name__}). Is it running?"
                    ) from problem
                await asyncio.sleep(PAUSES.pause(attempt))
            else:
                (self.metrics.repeated if done.duplicate else self.metrics.published)[event.topic] += 1
                return int(done.seq), bool(done.duplicate)
        raise AssertionError("an attempt returns or raises")

    async def _acknowledged(self, sent: asyncio.Future[Any], ends: float) -> Any:
        """The server's word that it has an event. One that is only slow is waited for: sending everything again to a
        server that does not keep up would bury it. Sending again helps where the connection was lost meanwhile, or the
        server says nothing."""
        before = self.metrics.reconnects
        while not sent.done():
            await asyncio.wait((sent,), timeout=max(0.0, min(ATTEMPT_SECONDS, ends - time.monotonic())))
            silent = time.monotonic() - self._heard_at > ATTEMPT_SECONDS
            if not sent.done() and (silent or self.metrics.reconnects != before or time.monotonic() >= ends):
                sent.cancel()
                raise TimeoutError
        self._heard_at = time.monotonic()
        return sent.result()

    async def _hear_answers(self, name: str) -> None:
        if name not in self._answers:
            self._answers[name] = await self.connection.subscribe(_subject(name), cb=self._arrived)

    async def _read(self, reading: Reading) -> Subscription:
        durable, at_once = reading.durable, reading.at_once
        runner = Runner(reading.handler, self.settings, self.metrics, durable, self.publish, at_once)
        if durable is None:
            subscription: _Durable | _Live = _Live(self, reading.topics, runner)
            await subscription.open(reading.queue or "")
        else:
            subscription = _Durable(self, durable, runner)
            pending = 1 if at_once == 1 and reading.queue is None else max(SHARED_AT_ONCE, at_once)
            await self._make_consumer(reading.topics, durable, reading.start, pending)
            await subscription.open()
        self._subscriptions.append(subscription)
        await self.connection.flush()
        return subscription

    async def replay(self, topics: Sequence[str], start: Start = 0) -> AsyncIterator[Event]:
        import nats.errors

        check_subscription(topics, None, None, 1)
        try:
            async for event in self._replayed(topics, start):
                yield event
        except (TimeoutError, OSError, nats.errors.Error) as problem:
            raise BusError(f"The NATS server at {self.shown} went away: {type(problem).__name__}.") from problem

    async def _replayed(self, topics: Sequence[str], start: Start) -> AsyncIterator[Event]:
        from nats.js import api

        config = api.ConsumerConfig(
            filter_subjects=_filters(topics), ack_policy=api.AckPolicy.NONE, mem_storage=True,
            inactive_threshold=60.0, **_deliver(start),
        )  # fmt: skip
        reading = await self._stream.pull_subscribe("", stream=STREAM, config=config)
        try:
            left = (await reading.consumer_info()).num_pending
            while left > 0:
                for message in await reading.fetch(min(BATCH, left), timeout=self.settings.publish_seconds):
                    left -= 1
                    event = _event(message.data)
                    if event is not None:
                        event.sequence = message.metadata.sequence.stream
                        yield event
        finally:
            with suppress(Exception):  # it forgets itself after a minute
                await reading.unsubscribe()

    async def stats(self) -> dict[str, Any]:
        info = await self._stream.stream_info(STREAM, subjects_filter=PREFIX + ">")
        topics = {
            name.removeprefix(PREFIX): {"events": count} for name, count in sorted((info.state.subjects or {}).items())
        }
        readers = {
            about.name: {
                "position": about.ack_floor.stream_seq,
                "lag": about.num_pending + about.num_ack_pending,
                "redelivered": about.num_redelivered,
                "live": bool(about.push_bound),
            }
            for about in await self._stream.consumers_info(STREAM)
            if about.config.durable_name
        }
        return {
            "bus": self.shown, "stream": STREAM, "bytes": info.state.bytes, "end": info.state.last_seq,
            "events": info.state.messages, "topics": topics, "readers": readers,
        }  # fmt: skip

    async def close(self) -> None:
        if self.connection is None or self._closed:
            return
        self._closed = True
        for subscription in list(self._subscriptions):
            await subscription.close()
        with suppress(Exception):  # a subscriber that is away hears nothing
            await asyncio.wait_for(self.connection.flush(), 1)
        with suppress(OSError):  # it was cut off in the middle of something
            await self.connection.close()

    # --- what the connection reports ---

    async def note_error(self, problem: Exception) -> None:
        import nats.errors

        if isinstance(problem, nats.errors.SlowConsumerError):
            self.metrics.dropped[problem.subject.removeprefix(PREFIX)] += 1
        else:
            _log.debug("NATS at %s: %s", self.shown, problem)

    async def note_loss(self) -> None:
        if self._revive is not None and not self._closed:
            self._reviving = asyncio.create_task(asyncio.to_thread(self._revive))

    async def note_reconnect(self) -> None:
        self.metrics.reconnects += 1
        _log.info("The bus is back: %s", self.shown)

    def forget(self, subscription: _Durable | _Live) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    async def _arrived(self, message: Any) -> None:
        event = _event(message.data)
        if event is not None:
            await self._answered(event)

    async def keep_place(self, durable: str, start: Start) -> None:
        """A durable reader that has not come yet begins there; what it wants to read it says when it comes."""
        await self._make_consumer(["*"], durable, start, 1)

    async def _make_consumer(self, topics: Sequence[str], durable: str, start: Start, pending: int) -> None:
        """One that is there keeps its place, and reads what is asked for now."""
        from nats.js import api
        from nats.js.errors import NotFoundError

        config = api.ConsumerConfig(
            durable_name=durable, deliver_subject=DELIVER + durable, deliver_group=durable,
            ack_policy=api.AckPolicy.EXPLICIT, ack_wait=self.settings.ack_wait, max_deliver=-1, **_deliver(start),
        )  # fmt: skip
        with suppress(NotFoundError):
            config = (await self._stream.consumer_info(STREAM, durable)).config
        wanted = config.evolve(filter_subject=None, filter_subjects=_filters(topics), max_ack_pending=pending)
        if config != wanted:
            await self._stream.add_consumer(STREAM, wanted)


class _Live(Subscription):
    """Whatever is published while it is open; the client's own bounded queue drops what comes too fast."""

    def __init__(self, bus: NatsBus, topics: tuple[str, ...], runner: Runner) -> None:
        self._bus, self._topics, self._runner = bus, topics, runner
        self._open: Any = None

    async def open(self, queue: str) -> None:
        """One subject for all its topics, so that their order is kept."""
        subject = _subject(self._topics[0]) if len(self._topics) == 1 else PREFIX + ">"
        self._open = await self._bus.connection.subscribe(
            subject, queue=queue, cb=self._arrived, pending_msgs_limit=self._bus.settings.queue_size
        )

    async def close(self) -> None:
        self._bus.forget(self)
        with suppress(Exception):  # the connection may be gone, and the subscription with it
            await self._open.unsubscribe()
        await self._runner.close()

    async def _arrived(self, message: Any) -> None:
        name = message.subject.removeprefix(PREFIX)
        if any(matches(pattern, name) for pattern in self._topics):
            await self._runner.take(Delivery(name, message.data))


class _Durable(Subscription):
    """A member of a durable consumer. What it holds is bounded by the consumer; signs of life keep it its own."""

    def __init__(self, bus: NatsBus, durable: str, runner: Runner) -> None:
        self._bus, self._durable, self._runner = bus, durable, runner
        self._arrived: asyncio.Queue[Any] = asyncio.Queue()
        self._held: dict[int, Any] = {}
        self._open: Any = None
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        self._open = await self._bus.connection.subscribe(DELIVER + self._durable, queue=self._durable, cb=self._arrive)
        self._tasks = [asyncio.create_task(self._work()), asyncio.create_task(self._live())]

    async def close(self) -> None:
        """What it holds is given back at once."""
        self._bus.forget(self)
        with suppress(Exception):  # the connection may be gone; the server notices by itself
            await self._open.unsubscribe()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._runner.close()
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


def _subject(name: str) -> str:
    """
    >>> _subject("game.result"), _subject("metrics.*"), _subject("*")
    ('jimbot.game.result', 'jimbot.metrics.>', 'jimbot.>')
    """
    return PREFIX + (name.removesuffix(ANY) + ">" if name.endswith(ANY) else name)


def _filters(topics: Sequence[str]) -> list[str]:
    """Subjects of the stream that a reading asks for; NATS wants none of them inside another."""
    wanted = sorted({_subject(name) for name in topics})
    return [one for one in wanted if not any(other != one and _inside(one, other) for other in wanted)]


def _inside(one: str, other: str) -> bool:
    return other.endswith(">") and one.startswith(other.removesuffix(">"))


def _deliver(start: Start) -> dict[str, Any]:
    from nats.js.api import DeliverPolicy

    if start is None:
        return {"deliver_policy": DeliverPolicy.NEW}
    if isinstance(start, float):
        when = datetime.datetime.fromtimestamp(start, datetime.UTC)
        return {"deliver_policy": DeliverPolicy.BY_START_TIME, "opt_start_time": when}
    if start <= 1:
        return {"deliver_policy": DeliverPolicy.ALL}
    return {"deliver_policy": DeliverPolicy.BY_START_SEQUENCE, "opt_start_seq": start}


def _event(body: bytes) -> Event | None:
    event = Event()
    try:
        event.ParseFromString(body)
    except DecodeError:
        return None
    return event
