"""What passes through the service: a request that was read, and what listeners hear of it in the end."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from jimbot.games.hooks import Sight
from jimbot.knowledge.records import Hints
from jimbot.proto import events_pb2 as messages
from jimbot.services.decision.choosing import Choosing
from jimbot.services.decision.places import Place
from jimbot.services.decision.refusal import Code, RefusedError

Request = messages.LearningDecisionRequest
Answer = messages.LearningDecisionResponse


@dataclass
class Question:
    """A request that was read."""

    request: Request
    place: Place
    sight: Sight
    legal: np.ndarray  # (A,) bool: legal and available
    choosing: Choosing
    alternatives: int
    deadline: float
    body: bytes  # tells two requests apart
    began: float
    answer: Future[Answer] | None = field(default=None)
    doubted: bool = False
    """An adviser was asked and has not answered: the next time it may have."""
    hints: Hints | None = None


@dataclass(frozen=True)
class DecisionRecord:
    """What listeners hear of a decision."""

    request: Request
    answer: Answer | None
    refusal: RefusedError | None
    game: str
    """A label: a game that is served, or `other`."""
    total_ms: float
    traceparent: str = ""
    """The caller's W3C trace context, if it sent one."""
    rows: int = 0
    """Of a message with many observations, which has no single action; 0: one decision."""

    @property
    def trace_id(self) -> str:
        return self.traceparent.split("-")[1] if self.traceparent.count("-") == 3 else ""


def session_of(request: Request) -> str:
    return request.session_id or request.request_id


def joined(question: Question) -> Answer:
    """The answer somebody else is computing for the same id."""
    assert question.answer is not None
    try:
        return question.answer.result(max(0.0, question.deadline - time.perf_counter()))
    except TimeoutError:
        raise RefusedError(Code.DEADLINE_EXCEEDED, "The first request of this id is still being computed.") from None


async def joined_async(question: Question) -> Answer:
    assert question.answer is not None
    try:
        async with asyncio.timeout(max(0.0, question.deadline - time.perf_counter())):
            return await asyncio.shield(asyncio.wrap_future(question.answer))
    except TimeoutError:
        raise RefusedError(Code.DEADLINE_EXCEEDED, "The first request of this id is still being computed.") from None
