"""`EventBusClient`: the event bus for programs.

    bus = EventBusClient()                                          # this machine
    bus = EventBusClient("nats://127.0.0.1:4222")                   # as many machines as there are
    await bus.subscribe(topics=["game.result"], handler=h)
    await bus.publish(event)
    answer = await bus.publish_and_wait(strategy_request)

It connects when it is first used, in the event loop that uses it. The address, where none is given, is in JIMBOT_BUS.
With `direct`, the address of a decision service, questions for decisions go there by gRPC while the bus is slow or
away, and come back to the bus when it is not; both are counted.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any, Self

from google.protobuf.message import Message

from jimbot.clients.bus_contract import BusMetrics, BusSettings, Handler, Start
from jimbot.clients.decision_client import AsyncDecisionClient
from jimbot.clients.nats_bus import NatsBus, Subscription
from jimbot.clients.resilience import AdaptiveTimeout, CircuitBreaker, RetryPolicy
from jimbot.errors import BusError, UnknownNameError
from jimbot.proto.events_pb2 import Event, LearningDecisionRequest
from jimbot.proto.topics import message_class, topic_of

VARIABLE = "JIMBOT_BUS"
DEFAULT_ADDRESS = "embedded"
OPENERS = {
    "embedded": "jimbot.services.bus.embedded",
    "nats": "jimbot.clients.nats_bus",
    "tls": "jimbot.clients.nats_bus",
}
"""The module whose `open_bus` opens an address, by its scheme; loaded when one is used."""
DECISION = "learning.decision.request"


def check_address(address: str) -> str:
    """The scheme of an address, or an error that names those there are."""
    scheme = address.partition(":")[0]
    if scheme not in OPENERS:
        raise UnknownNameError("bus", scheme, OPENERS, "An address is embedded, embedded:FILE or nats://HOST:PORT.")
    return scheme


async def open_bus(address: str, settings: BusSettings = BusSettings()) -> NatsBus:
    """An open bus, in the running event loop."""
    return await importlib.import_module(OPENERS[check_address(address)]).open_bus(address, settings)


class EventBusClient:
    """See the module."""

    def __init__(
        self,
        address: str | None = None,
        *,
        settings: BusSettings = BusSettings(),
        direct: str | AsyncDecisionClient | None = None,
        patience: RetryPolicy = RetryPolicy(),
    ) -> None:
        """`patience` is for questions: their deadline, and when the bus counts as slow."""
        self.address = address or os.environ.get(VARIABLE) or DEFAULT_ADDRESS
        check_address(self.address)
        self.patience = patience
        self.asked: Counter[str] = Counter()
        """Decisions by the way they came: `bus` or `direct`."""
        self._settings = settings
        self._bus: NatsBus | None = None
        self._opening = asyncio.Lock()
        self._direct = AsyncDecisionClient(direct, patience=patience) if isinstance(direct, str) else direct
        self._breaker = CircuitBreaker(patience.failures, patience.rest)
        self._timeout = AdaptiveTimeout(patience.floor, patience.cap)

    async def connect(self) -> NatsBus:
        """The bus itself; done by the first use."""
        async with self._opening:
            if self._bus is None:
                self._bus = await open_bus(self.address, self._settings)
        return self._bus

    @property
    def metrics(self) -> BusMetrics:
        if self._bus is None:
            raise BusError("The bus was not used yet; its metrics begin with the first use.")
        return self._bus.metrics

    async def publish(self, event: Event | Message) -> int:
        """Returns when the event is safe: its place in the log. A message without an envelope gets one."""
        return await (await self.connect()).publish(enveloped(event))

    async def publish_and_wait(self, question: Event | Message, seconds: float | None = None) -> Any:
        """The answer: an Event to an Event, a message to a message. `seconds` default to the patience's deadline."""
        event = enveloped(question)
        seconds = self.patience.deadline if seconds is None else seconds
        if self._direct is not None and event.topic == DECISION:
            answer = await self._by_either_way(event, seconds)
        else:
            answer = await (await self.connect()).publish_and_wait(event, seconds)
        return answer if isinstance(question, Event) else unpacked(answer)

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
        """Hands events to `handler`; what the names mean stands in jimbot/clients/bus_contract.py."""
        bus = await self.connect()
        return await bus.subscribe(topics, handler, durable, queue, start=start, at_once=at_once)

    async def replay(self, topics: Sequence[str], start: Start = 0) -> AsyncIterator[Event]:
        """What the log has from a sequence (int) or a time (float, seconds since 1970) on."""
        async for event in (await self.connect()).replay(topics, start):
            yield event

    async def stats(self) -> dict[str, Any]:
        return await (await self.connect()).stats()

    async def close(self) -> None:
        if self._bus is not None:
            await self._bus.close()
            self._bus = None
        if self._direct is not None:
            await self._direct.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _by_either_way(self, event: Event, seconds: float) -> Event:
        """Over the bus as long as it answers in its usual time; the service knows ids, so nothing is decided twice."""
        ends = time.monotonic() + seconds
        if self._breaker.may_call():
            began = time.monotonic()
            try:
                bus = await self.connect()
                answer = await bus.publish_and_wait(event, min(seconds / 2, self._timeout.seconds))
            except BusError:
                self._breaker.failed()
            else:
                self._timeout.note(time.monotonic() - began)
                self._breaker.succeeded()
                self.asked["bus"] += 1
                return answer
        self.asked["direct"] += 1
        return await self._ask_directly(event, max(0.001, ends - time.monotonic()))

    async def _ask_directly(self, event: Event, seconds: float) -> Event:
        assert self._direct is not None
        request = LearningDecisionRequest()
        event.payload.Unpack(request)
        request.time_limit_ms = request.time_limit_ms or max(1, round(seconds * 1000))
        return answer_to(event, await self._direct.decide(request))


def enveloped(message: Event | Message) -> Event:
    """An event; a bare message is put into one, on the topic it belongs to.

    A question without a request id gets one, by which its answers are recognised."""
    if isinstance(message, Event):
        return message
    event = Event(topic=topic_of(message), event_id=uuid.uuid4().hex)
    if "request_id" in message.DESCRIPTOR.fields_by_name and not getattr(message, "request_id"):  # noqa: B009
        setattr(message, "request_id", event.event_id)  # noqa: B010
    event.payload.Pack(message)
    return event


def unpacked(event: Event) -> Message:
    """The message an event carries."""
    message = message_class(event.topic)()
    event.payload.Unpack(message)
    return message


def answer_to(question: Event, message: Message) -> Event:
    """The event that answers another: an id that comes from the question's, so that a second answer is the first."""
    event = Event(
        topic=topic_of(message), event_id=f"answer-{question.event_id}", correlation_id=question.event_id,
        order_key=question.order_key, trace=question.trace,
    )  # fmt: skip
    event.payload.Pack(message)
    return event
