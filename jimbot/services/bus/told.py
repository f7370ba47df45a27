"""Decisions made over gRPC or in the process, told on the bus; those asked over the bus are answered there anyway, and
messages of many rows have no single action to tell."""

from __future__ import annotations

from collections.abc import Callable

from jimbot.proto.events_pb2 import LearningDecisionResponse
from jimbot.runs.sinks.publishing import Publisher
from jimbot.services.decision.question import Told
from jimbot.services.decision.refusal import refusal_message


class DecisionTeller:
    """A listener of a decision service."""

    def __init__(self, publisher: Publisher, asked_over_bus: Callable[[str], bool]) -> None:
        self._publisher, self._asked_over_bus = publisher, asked_over_bus

    def __call__(self, told: Told) -> None:
        if told.rows or self._asked_over_bus(told.request.request_id):
            return
        answer = told.answer or LearningDecisionResponse(request_id=told.request.request_id)
        if told.refusal is not None:
            answer.refusal.CopyFrom(refusal_message(told.refusal))
        session = told.request.session_id or told.request.request_id
        self._publisher.offer("learning.decision.response", answer, session)
