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
import os
import socket
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from google.protobuf.message import DecodeError

from jimbot.background import Backoff
from jimbot.clients.bus_contract import LARGEST_EVENT, BusMetrics, BusSettings, Handler, Start, check_subscription
from jimbot.clients.bus_tracing import PUBLISH, span
from jimbot.clients.delivery import (
    DELIVER,
    PREFIX,
    DurableSubscription,
    LiveSubscription,
    Runner,
    Subscription,
    subject,
)
from jimbot.errors import BusError, MissingExtraError, UsageError
from jimbot.proto.events_pb2 import Event
from jimbot.proto.topics import TOPICS, VERSION, check_event, topic

STREAM = "JIMBOT"
ATTEMPT_SECONDS = 2.0  # without any acknowledgement, after which an event is sent again
PAUSES = Backoff(0.05, 0.5)
FORGETS_BY_ITSELF = (2, 11)
"""The first version of the server in which a message may say how long it is kept."""
CONNECT_SECONDS = 5.0
DUPLICATE_WINDOW = 120.0
SHARED_AT_ONCE = 256  # events a group may hold unacknowledged
BATCH = 256
LOOK_AGAIN = 0.5  # seconds between two looks whether the bus was away while an answer is waited for
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


class LogBounds(NamedTuple):
    """Of the log of a bus."""

    first: int
    last: int
    created: int
    """Microseconds since 1970: a log that was thrown away is another one afterwards."""


class NatsBus:
    """See the module; made by `open_bus`. Every method belongs to the event loop the bus was opened in."""

    def __init__(
        self, address: str, settings: BusSettings, shown: str = "", revive: Callable[[], object] | None = None
    ) -> None:
        host = urlsplit(address)
        self.shown = shown or f"{host.scheme}://{host.hostname}:{host.port or 4222}"  # without secrets
        self.settings, self.metrics = settings, BusMetrics()
        self.connection: Any = None
        self.source = f"{socket.gethostname()}/{os.getpid()}"
        self._name, self._numbers = uuid.uuid4().hex, itertools.count(1)  # ids without asking the system for each
        self._revive, self._reviving, self._closed = revive, None, False
        self._keeps_metrics = False
        self._stream: Any = None
        self._waiting: dict[str, asyncio.Future[Event]] = {}  # by the id of the question
        self._answers: dict[str, Any] = {}
        self._subscriptions: list[Subscription] = []
        self._heard_at = 0.0  # when the server last acknowledged an event

    async def prepare(self) -> None:
        """The stream is there and holds all durable topics."""
        from nats.js import api
        from nats.js.errors import NotFoundError

        self._stream = self.connection.jetstream(timeout=self.settings.publish_seconds)
        version = self.connection.connected_server_version
        self._keeps_metrics = (version.major, version.minor) >= FORGETS_BY_ITSELF
        settings = self.settings
        subjects = [subject(name) for name, about in TOPICS.items() if about.durable or self._keeps_metrics]
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

    async def publish(self, event: Event) -> int:
        """Its place in the log once it is safe there; 0 for topics that are not kept."""
        with span(PUBLISH, event):
            return (await self.store(event))[0]

    async def store(self, event: Event) -> tuple[int, bool]:
        """The same, and whether the log had it already."""
        import nats.errors

        body = self.prepared(event)
        headers = {"Nats-Msg-Id": event.event_id}
        if event.trace.traceparent:
            headers["traceparent"] = event.trace.traceparent
        if not topic(event.topic).durable:
            if self._keeps_metrics:
                headers["Nats-TTL"] = f"{max(1, round(self.settings.keep_metrics_seconds))}s"
            with suppress(nats.errors.Error):
                await self.connection.publish(subject(event.topic), body, headers=headers)
                self.metrics.published[event.topic] += 1
                return 0, False
            self.metrics.dropped[event.topic] += 1
            return 0, False
        ends = time.monotonic() + self.settings.publish_seconds
        for attempt in itertools.count(1):
            try:
                sent = await self._stream.publish_async(subject(event.topic), body, headers=headers)
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

    def prepared(self, event: Event) -> bytes:
        """Completes and checks an event; its bytes."""
        event.event_id = event.event_id or f"{self._name}-{next(self._numbers):x}"
        event.timestamp_ns = event.timestamp_ns or time.time_ns()
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

    async def publish_and_wait(self, event: Event, seconds: float = 2.0) -> Event:
        """The first event that answers this one: on its topic's answer topic, with its id as correlation id. Asked
        again under the same event id it is not asked twice: the answer is waited for, or found in the log."""
        answer = _answer_topic(event)
        self.prepared(event)
        if answer not in self._answers:
            self._answers[answer] = await self.connection.subscribe(subject(answer), cb=self._arrived)
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
                                self._answered(found)
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
        runner = Runner(handler, self.settings, self.metrics, durable, self.publish, at_once)
        if durable is None:
            subscription: Subscription = LiveSubscription(self, runner, tuple(topics), queue or "")
        else:
            subscription = DurableSubscription(self, runner, durable)
            pending = 1 if at_once == 1 and queue is None else max(SHARED_AT_ONCE, at_once)
            await self._make_consumer(topics, durable, start, pending)
        await subscription.open()
        self._subscriptions.append(subscription)
        await self.connection.flush()
        return subscription

    async def replay(self, topics: Sequence[str], start: Start = 0) -> AsyncGenerator[Event]:
        """What the log has from `start` on, to its end as it is now."""
        import nats.errors

        check_subscription(topics, None, None, 1)
        try:
            async for event in self._replayed(topics, start):
                yield event
        except (TimeoutError, OSError, nats.errors.Error) as problem:
            raise BusError(f"The NATS server at {self.shown} went away: {type(problem).__name__}.") from problem

    async def _replayed(self, topics: Sequence[str], start: Start) -> AsyncGenerator[Event]:
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

    async def bounds(self) -> LogBounds:
        """What the log holds from where to where, and which log it is."""
        import nats.errors

        try:
            info = await self._stream.stream_info(STREAM)
        except (TimeoutError, OSError, nats.errors.Error) as problem:
            raise BusError(f"The NATS server at {self.shown} went away: {type(problem).__name__}.") from problem
        created = info.created.timestamp() if info.created is not None else 0.0
        return LogBounds(int(info.state.first_seq), int(info.state.last_seq), round(created * 1e6))

    async def stats(self) -> dict[str, Any]:
        """The log and its readers as plain values."""
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

    def forget(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    async def _arrived(self, message: Any) -> None:
        event = _event(message.data)
        if event is not None:
            self._answered(event)

    def _answered(self, event: Event) -> None:
        waiting = self._waiting.get(event.correlation_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(event)

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


def _answer_topic(event: Event) -> str:
    answer = topic(event.topic).answer
    if not answer:
        asking = ", ".join(name for name, about in TOPICS.items() if about.answer)
        raise UsageError(f"Nobody answers on topic '{event.topic}'; questions are asked on {asking}.")
    return answer


def _filters(topics: Sequence[str]) -> list[str]:
    """Subjects of the stream that a reading asks for; NATS wants none of them inside another."""
    wanted = sorted({subject(name) for name in topics})
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
