"""The one list of topics of the event bus, and which message each carries. What is not in it can neither be published
nor subscribed to.

`VERSION` rises when a topic is added; a topic is never removed nor given another message (`tests/proto` holds what was
released). A name that ends in `.*` stands for all names that begin so: `metrics.train` is a topic of `metrics.*`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jimbot.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from jimbot.proto.events_pb2 import Event

VERSION = 2
ANY = "*"


class Topic(NamedTuple):
    message: str
    """Name of the payload's message in events.proto."""
    meaning: str
    answer: str = ""
    """The topic its answers come on, for questions."""
    durable: bool = True
    """Whether it is kept until every durable reader has acknowledged it; metrics are worth nothing later."""


TOPICS: dict[str, Topic] = {
    "learning.decision.request": Topic(
        "LearningDecisionRequest", "which move to make in a state", "learning.decision.response"
    ),
    "learning.decision.response": Topic("LearningDecisionResponse", "the move, or why there is none"),
    "game.state": Topic("GameStateEvent", "a state in which a player had to decide"),
    "game.event": Topic("GameActionEvent", "what was done in it and what it brought"),
    "game.result": Topic("GameResultEvent", "how a game ended"),
    "live.event": Topic("LiveEvent", "what a mod tells of a game that runs elsewhere"),
    "strategy.request": Topic("StrategyRequest", "what to aim for in a state", "strategy.response"),
    "strategy.response": Topic("StrategyResponse", "advice, or why there is none"),
    "knowledge.update": Topic("KnowledgeUpdate", "something learned about a game"),
    "run.event": Topic("RunEvent", "a run started, saved, found a best policy, was judged, ended"),
    "metrics.*": Topic("MetricEvent", "metrics of a run or service", durable=False),
    "system.heartbeat": Topic("Heartbeat", "a component lives", durable=False),
    "dead.*": Topic("DeadLetter", "an event of the topic behind `dead.` that nobody could handle"),
}

_LONGEST = 200
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-.")


def topic(name: str) -> Topic:
    """What is known about a topic; an error that names the nearest one if there is none of this name.

    >>> topic("metrics.train").message
    'MetricEvent'
    """
    if name in TOPICS and not name.endswith(ANY):
        return TOPICS[name]
    stem = name.split(".")[0]
    family = TOPICS.get(f"{stem}.{ANY}")
    if family is None or "." not in name:
        raise UnknownNameError("topic", name, TOPICS)
    if len(name) > _LONGEST or not set(name) <= _LETTERS or "" in name.split("."):
        raise UsageError(f"Topic '{name[:_LONGEST]}' is not a name; expected small letters and digits between dots.")
    if stem == "dead":
        topic(name.removeprefix("dead."))
    return family


def check_pattern(pattern: str) -> None:
    """Refuses a subscription nothing could ever match. Patterns are topics, `metrics.*`, `game.*`, or `*` for all."""
    if pattern == ANY or pattern in TOPICS:
        return
    if pattern.endswith(f".{ANY}"):
        stem = pattern.removesuffix(ANY)
        if any(known.startswith(stem) for known in TOPICS) or f"{stem.split('.')[0]}.{ANY}" in TOPICS:
            return
        raise UnknownNameError("topic", pattern, TOPICS)
    topic(pattern)


def matches(pattern: str, name: str) -> bool:
    """Whether a topic is one of those a subscription asks for.

    >>> matches("game.*", "game.result"), matches("game.state", "game.result")
    (True, False)
    """
    return pattern in (ANY, name) or (pattern.endswith(f".{ANY}") and name.startswith(pattern.removesuffix(ANY)))


def topic_of(message: Message) -> str:
    """The topic a message without an envelope belongs to; families (`metrics.*`) have none of their own."""
    kind = message.DESCRIPTOR.name
    names = [name for name, about in TOPICS.items() if about.message == kind and not name.endswith(ANY)]
    if not names:
        raise UsageError(f"A {kind} belongs to no single topic; put it into an Event with its topic. {_payloads()}")
    return names[0]


def message_class(name: str) -> type[Message]:
    """The message a topic carries."""
    from jimbot.proto import events_pb2

    return getattr(events_pb2, topic(name).message)


def check_event(event: Event) -> None:
    """Refuses an event whose topic is unknown or whose payload is another message than its topic carries."""
    expected = topic(event.topic).message
    found = event.payload.type_url.rpartition("/")[2]
    if found != f"jimbot.events.v1.{expected}":
        raise UsageError(
            f"The event {event.event_id or 'without an id'} on topic '{event.topic}' carries "
            f"{found or 'nothing'}; expected {expected}."
        )


def _payloads() -> str:
    return "Those that do: " + ", ".join(sorted({about.message for about in TOPICS.values()})) + "."
