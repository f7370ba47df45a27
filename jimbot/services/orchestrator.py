"""`RayLearningOrchestrator`: questions come over the bus, the decision service answers, answers go back over it.

Several of them on one bus share the questions as one queue. A question stays in the log until its answer is published,
so one that was with a worker that died is answered by another; the answer's id comes from the question's, so there is
one answer whoever gave it. Who asks is never trusted about time: a question's limit counts from its arrival here.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from jimbot.clients.event_bus import EventBusClient, answer_to
from jimbot.errors import BusError
from jimbot.proto.events_pb2 import Event, Heartbeat, LearningDecisionRequest, LearningDecisionResponse
from jimbot.services.decision.refusal import RefusedError, refusal_message
from jimbot.services.decision.service import DecisionService

REQUESTS: Sequence[str] = ("learning.decision.request",)
QUEUE = "decisions"
AT_ONCE = 64
BEAT = 5.0  # seconds between heartbeats


class RayLearningOrchestrator:
    """Subscribes, decides, publishes."""

    def __init__(
        self, event_bus: EventBusClient | None = None, service: DecisionService | None = None, queue: str = QUEUE
    ) -> None:
        self.event_bus = event_bus or EventBusClient()
        self.service = service or DecisionService()
        self.answers: Counter[str] = Counter()
        """By status code."""
        self._queue = queue
        self._asked: set[str] = set()
        self._subscription = self._beating = None
        self._began = time.monotonic()

    async def start(self) -> None:
        """Takes questions from now on, and those that wait."""
        self._subscription = await self.event_bus.subscribe(
            topics=REQUESTS, handler=self.handle_decision_request, durable=self._queue, queue=self._queue,
            at_once=AT_ONCE,
        )  # fmt: skip
        self._beating = asyncio.create_task(self._beat())

    async def handle_decision_request(self, event: Event) -> None:
        """One question: its answer is safe when this returns."""
        request = LearningDecisionRequest()
        event.payload.Unpack(request)
        request.request_id = request.request_id or event.event_id
        self._asked.add(request.request_id)
        try:
            with self.service.figures.answering():
                decision = await self.service.decide_async(request, None, event.trace.traceparent[:64])
            self.answers["OK"] += 1
        except RefusedError as refusal:
            decision = LearningDecisionResponse(request_id=request.request_id, refusal=refusal_message(refusal))
            self.answers[refusal.code.name] += 1
        finally:
            self._asked.discard(request.request_id)
        await self.event_bus.publish(answer_to(event, decision))

    def is_asked(self, request_id: str) -> bool:
        """Whether this question came over the bus and is being decided."""
        return request_id in self._asked

    async def stop(self) -> None:
        """Takes no more; what it holds is answered, by another one where it must be."""
        if self._beating is not None:
            self._beating.cancel()
        if self._subscription is not None:
            await self._subscription.close()
        self._subscription = self._beating = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _beat(self) -> None:
        number = 0
        while True:
            number += 1
            status = "draining" if self.service.draining else "serving"
            beat = Heartbeat(component="decisions", instance=self._queue, beat=number, status=status,
                             uptime_seconds=time.monotonic() - self._began)  # fmt: skip
            with suppress(BusError):
                await self.event_bus.publish(beat)
            await asyncio.sleep(BEAT)
