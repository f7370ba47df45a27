"""Decisions made over gRPC or in the process, published on the bus; those asked over the bus are answered there
anyway, and messages of many rows have no single action."""

from __future__ import annotations

from collections.abc import Callable

from jimbot.proto.events_pb2 import LearningDecisionResponse
from jimbot.runs.sinks.publishing import Publisher
from jimbot.services.decision.question import DecisionRecord
from jimbot.services.decision.refusal import refusal_message


class DecisionPublisher:
    """A listener of a decision service."""

    def __init__(self, publisher: Publisher, asked_over_bus: Callable[[str], bool]) -> None:
        self._publisher, self._asked_over_bus = publisher, asked_over_bus

    def __call__(self, record: DecisionRecord) -> None:
        if record.rows or self._asked_over_bus(record.request.request_id):
            return
        answer = record.answer or LearningDecisionResponse(request_id=record.request.request_id)
        if record.refusal is not None:
            answer.refusal.CopyFrom(refusal_message(record.refusal))
        session = record.request.session_id or record.request.request_id
        self._publisher.offer("learning.decision.response", answer, session)
