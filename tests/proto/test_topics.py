"""The list of topics."""

from __future__ import annotations

import pytest

from jimbot.errors import UnknownNameError, UsageError
from jimbot.proto import events_pb2
from jimbot.proto.topics import TOPICS, check_event, check_pattern, matches, message_class, topic, topic_of

RELEASED = {  # version 2; never removed, never another message
    "learning.decision.request": "LearningDecisionRequest",
    "learning.decision.response": "LearningDecisionResponse",
    "game.state": "GameStateEvent",
    "game.event": "GameActionEvent",
    "game.result": "GameResultEvent",
    "live.event": "LiveEvent",
    "strategy.request": "StrategyRequest",
    "strategy.response": "StrategyResponse",
    "knowledge.update": "KnowledgeUpdate",
    "run.event": "RunEvent",
    "metrics.*": "MetricEvent",
    "system.heartbeat": "Heartbeat",
    "dead.*": "DeadLetter",
}


def test_released_topics_keep_their_messages() -> None:
    assert {name: TOPICS[name].message for name in RELEASED} == RELEASED
    assert all(hasattr(events_pb2, about.message) for about in TOPICS.values())
    assert all(not about.answer or about.answer in TOPICS for about in TOPICS.values())


def test_an_unknown_topic_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"'game.stat'. Did you mean 'game.state'"):
        topic("game.stat")


@pytest.mark.parametrize("name", ["metrics", "metrics.", "metrics.Ä", "metrics..a", "metrics.*", "dead.letter", ""])
def test_names_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        topic(name)


def test_families_take_every_name_below_them() -> None:
    assert topic("metrics.train.loss").message == "MetricEvent"
    assert topic("dead.game.state").message == "DeadLetter"
    assert message_class("metrics.train") is events_pb2.MetricEvent


def test_patterns_match_whole_names() -> None:
    for pattern in ("*", "game.*", "metrics.train", "metrics.*", "dead.*", "learning.decision.*"):
        check_pattern(pattern)
    assert matches("game.*", "game.state")
    assert not matches("game.*", "games.state")
    with pytest.raises(UnknownNameError):
        check_pattern("gam.*")


def test_a_message_alone_finds_its_topic() -> None:
    assert topic_of(events_pb2.StrategyRequest()) == "strategy.request"
    with pytest.raises(UsageError, match="MetricEvent belongs to no single topic"):
        topic_of(events_pb2.MetricEvent())


def test_a_foreign_payload_is_refused() -> None:
    event = events_pb2.Event(event_id="e", topic="game.state")
    event.payload.Pack(events_pb2.GameStateEvent())
    check_event(event)
    event.payload.Pack(events_pb2.Heartbeat())
    with pytest.raises(UsageError, match=r"carries jimbot.events.v1.Heartbeat; expected GameStateEvent"):
        check_event(event)
