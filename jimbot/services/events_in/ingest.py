"""What arrives, counted and handed to the bus: bounded, and answered with what became of it.

Who pushes is never made to wait. A queue that is full drops what comes, says so in the answer, and counts it: silent
loss is the fault of the servers that mods had before.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from google.protobuf.struct_pb2 import Struct

from jimbot.errors import UsageError
from jimbot.proto.events_pb2 import LiveEvent
from jimbot.services.bus.publisher import BackgroundPublisher
from jimbot.services.events_in.events import LARGEST_EVENT, Pushed, read_message

TOPIC = "live.event"
MOST_WAITING = 10_000


class Acknowledgement(NamedTuple):
    """What became of one message."""

    accepted: int
    dropped: int
    """There was no room; sending them again later may help."""
    refused: dict[int, str]
    """By place in the message: why an event can never be taken."""
    batch_id: str = ""

    def to_dict(self) -> dict[str, Any]:
        status = "ok" if not (self.dropped or self.refused) else "partial" if self.accepted else "error"
        refused = [{"index": index, "error": error} for index, error in self.refused.items()]
        named = {"batch_id": self.batch_id} if self.batch_id else {}
        return {
            "type": "ack", "status": status, "accepted": self.accepted, "dropped": self.dropped, "refused": refused,
            **named,
        }  # fmt: skip


class Ingest:
    """Takes messages, publishes events."""

    def __init__(self, publisher: BackgroundPublisher) -> None:
        self._publisher = publisher
        self.taken: Counter[str] = Counter()
        """By type."""
        self.dropped = self.refused = self.messages = 0

    def take(self, body: str | bytes) -> Acknowledgement:
        """One message from outside; never raises for what is in it."""
        self.messages += 1
        try:
            message = read_message(body)
        except UsageError as problem:
            self.refused += 1
            return Acknowledgement(0, 0, {0: str(problem)})
        accepted, dropped, refused = 0, 0, {}
        for index, event in enumerate(message.events):
            sentence = event if isinstance(event, str) else None
            if not isinstance(event, str):
                live = _message(event)
                if live.ByteSize() > LARGEST_EVENT:
                    sentence = f"A {event.type} has {live.ByteSize():,} bytes; {LARGEST_EVENT:,} are the most."
                elif self._publisher.offer(TOPIC, live, event.game_id, event.event_id):
                    self.taken[event.type] += 1
                    accepted += 1
                else:
                    dropped += 1
            if sentence is not None:
                refused[index] = sentence
        self.dropped, self.refused = self.dropped + dropped, self.refused + len(refused)
        return Acknowledgement(accepted, dropped, refused, message.batch_id)

    def figures(self) -> dict[str, Any]:
        """What happened so far."""
        return {
            "status": "ok", "messages": self.messages, "accepted": self.taken.total(), "by_type": dict(self.taken),
            "dropped": self.dropped, "refused": self.refused, "waiting": self._publisher.waiting,
            "published": self._publisher.published, "bus": self._publisher.address,
        }  # fmt: skip


def _message(event: Pushed) -> LiveEvent:
    data = Struct()
    data.update(event.data)
    return LiveEvent(type=event.type, game_id=event.game_id, timestamp=event.timestamp, data=data)
