"""`RayLearningOrchestrator`: questions come over the bus, the decision service answers, answers go back over it.

Several of them on one bus share the questions as one queue. A question stays in the log until its answer is published,
so one that was with a worker that died is answered by another; the answer's id comes from the question's, so there is
one answer. Clients are never trusted about time: a question's limit counts from its arrival here.

Without a service of its own it serves the policies that come with JimBot. What decides is its `ray_server`: another
object with `get_decision` there (an actor, a deployment of Ray Serve) answers in its place. A subclass may make that
(`_init_ray_server`), or handle questions itself: `_create_response_event` makes the answer to the question.

Where the service has an adviser, questions for advice (`strategy.request`) are answered too; `request_claude_advice` is
the other end of that: it asks over the bus where the last decision was not sure.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

from jimbot.clients.bus_contract import handled_event, handling
from jimbot.clients.event_bus import EventBusClient, answer_to
from jimbot.errors import BusError
from jimbot.games.contract import game_entry
from jimbot.policies.portable import load_policy
from jimbot.proto import events_pb2
from jimbot.runs.checkpoint import shipped_games
from jimbot.services.decision.refusal import RefusedError, refusal_message
from jimbot.services.decision.served import ServedPolicy
from jimbot.services.decision.service import DecisionService
from jimbot.services.ray_policies import on_ray

REQUESTS: Sequence[str] = ("learning.decision.request",)
STRATEGIES: Sequence[str] = ("strategy.request",)
QUEUE = "decisions"
ADVICE_QUEUE = "advice"
DOUBT = "low_confidence_decision"
MOST_ASKED = 0.05  # of the decisions made here
ADVICE_SECONDS = 20.0
AT_ONCE = 64
BEAT = 5.0  # seconds between heartbeats


class PolicyServer:
    """What decides for an orchestrator."""

    def __init__(self, service: DecisionService) -> None:
        self.service = service

    async def get_decision(
        self, request: events_pb2.LearningDecisionRequest, traceparent: str = ""
    ) -> events_pb2.LearningDecisionResponse:
        """A RefusedError says why there is none."""
        return await self.service.decide_async(request, None, traceparent)


def shipped_service(actors: int = 0) -> DecisionService:
    """A service with the policy of every game that ships one, computed by so many Ray actors each, if any."""
    service = DecisionService()
    for game in shipped_games():
        service.add(on_ray(ServedPolicy.make(game_entry(game), *load_policy(game)), actors))
    return service


class RayLearningOrchestrator:
    """Subscribes, decides, publishes."""

    def __init__(
        self, event_bus: EventBusClient | None = None, service: DecisionService | None = None, queue: str = QUEUE,
        actors: int = 0,
    ) -> None:  # fmt: skip
        """`actors`: Ray computes the policies that ship; a service of one's own says so itself (`on_ray`)."""
        self.event_bus = event_bus or EventBusClient()
        self.service = service or shipped_service(actors)
        self.ray_server = self._init_ray_server()
        self.answers: Counter[str] = Counter()
        """By status code."""
        self.decision_confidence = 1.0
        """Of the last decision made here."""
        self.advice_asked = 0
        self._queue = queue
        self._asked: set[str] = set()
        self._subscription = self._advising = self._beating = None
        self._began = time.monotonic()

    def _init_ray_server(self) -> PolicyServer:
        """What decides: the service; where a subclass begins without one, the policies that ship."""
        return PolicyServer(self.service if "service" in vars(self) else shipped_service())

    def _create_response_event(
        self, decision: events_pb2.LearningDecisionResponse | events_pb2.StrategyResponse
    ) -> events_pb2.Event:
        """The answer to the event that is being handled."""
        return answer_to(handled_event(), decision)

    async def start(self) -> None:
        """Takes questions from now on, and those that wait."""
        self._subscription = await self.event_bus.subscribe(
            topics=REQUESTS, handler=self.handle_decision_request, durable=self._queue, queue=self._queue,
            at_once=AT_ONCE,
        )  # fmt: skip
        if self.service.advising.advisers:
            self._advising = await self.event_bus.subscribe(
                topics=STRATEGIES, handler=self.handle_strategy_request, durable=ADVICE_QUEUE, queue=ADVICE_QUEUE,
                at_once=AT_ONCE,
            )  # fmt: skip
        self._beating = asyncio.create_task(self._beat())

    async def handle_decision_request(self, event: events_pb2.Event) -> None:
        """One question: its answer is safe when this returns."""
        request = events_pb2.LearningDecisionRequest()
        event.payload.Unpack(request)
        request.request_id = request.request_id or event.event_id
        self._asked.add(request.request_id)
        try:
            decision = await self.ray_server.get_decision(request, event.trace.traceparent[:64])
            self.answers["OK"] += 1
            self.decision_confidence = decision.confidence
        except RefusedError as refusal:
            decision = events_pb2.LearningDecisionResponse(
                request_id=request.request_id, refusal=refusal_message(refusal)
            )
            self.answers[refusal.code.name] += 1
        finally:
            self._asked.discard(request.request_id)
        with handling(event):
            response_event = self._create_response_event(decision)
        await self.event_bus.publish(response_event)

    async def handle_strategy_request(self, event: events_pb2.Event) -> None:
        """One question for advice; its answer, or why there is none, is safe when this returns."""
        request = events_pb2.StrategyRequest()
        event.payload.Unpack(request)
        request.request_id = request.request_id or event.event_id
        try:
            answer = await self.service.strategy(request)
        except RefusedError as refusal:
            answer = events_pb2.StrategyResponse(request_id=request.request_id, refusal=refusal_message(refusal))
        with handling(event):
            response_event = self._create_response_event(answer)
        await self.event_bus.publish(response_event)

    async def request_claude_advice(
        self, game_state: events_pb2.GameState | dict[str, Any], confidence_threshold: float = 0.7, *, game: str = "",
        seconds: float = ADVICE_SECONDS,
    ) -> events_pb2.StrategyResponse | None:  # fmt: skip
        """Advice over the bus where the last decision was below the threshold; None where it was not, where as many
        were asked as may be (a twentieth of the decisions made here), and where nobody answers in time. `game_state`
        may be plain values by the game's keys."""
        if self.decision_confidence >= confidence_threshold:
            return None
        decided = self.answers["OK"]
        if decided and self.advice_asked + 1 > MOST_ASKED * decided:
            return None
        if isinstance(game_state, dict):
            by_keys, game_state = game_state, events_pb2.GameState()
            game_state.by_keys.update(by_keys)
        self.advice_asked += 1
        advice_request = events_pb2.StrategyRequest(
            game=game or self.service.only_game(), game_state=game_state, context=DOUBT,
            confidence=self.decision_confidence, time_limit_ms=round(seconds * 1000),
        )  # fmt: skip
        try:
            answer = await self.event_bus.publish_and_wait(advice_request, seconds)
        except BusError:
            return None
        assert isinstance(answer, events_pb2.StrategyResponse)
        return answer

    def is_asked(self, request_id: str) -> bool:
        """Whether this question came over the bus and is being decided."""
        return request_id in self._asked

    async def stop(self) -> None:
        """Takes no more; what it holds is answered, by another one where it must be."""
        if self._beating is not None:
            self._beating.cancel()
        for subscription in (self._subscription, self._advising):
            if subscription is not None:
                await subscription.close()
        self._subscription = self._advising = self._beating = None

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
            beat = events_pb2.Heartbeat(component="decisions", instance=self._queue, beat=number, status=status,
                             uptime_seconds=time.monotonic() - self._began)  # fmt: skip
            with suppress(BusError):
                await self.event_bus.publish(beat)
            await asyncio.sleep(BEAT)
