"""Publishing for those who must not wait: in the background (`jimbot.background`), with an event loop of its own.

`offer` costs some microseconds whatever the bus does. What does not fit is dropped and counted by topic.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from concurrent.futures import wait
from typing import TYPE_CHECKING

from jimbot.background import GRACE, BackgroundSender, LoopThread
from jimbot.clients.bus_contract import BusSettings
from jimbot.clients.event_bus import check_address, open_bus
from jimbot.clients.nats_bus import NatsBus, require_client
from jimbot.errors import BusError
from jimbot.proto.events_pb2 import Event
from jimbot.services.bus import local_server
from jimbot.services.bus.embedded import SCHEME

if TYPE_CHECKING:
    from google.protobuf.message import Message

MOST_WAITING = 20_000
AT_ONCE = 256
IMPATIENT = BusSettings(publish_seconds=1.0)
_log = logging.getLogger("jimbot.services")


def check_bus(address: str) -> None:
    """Refuses an address that is none, and one whose client or server is not installed, at once and not in a log."""
    scheme = check_address(address)
    require_client()
    if scheme == SCHEME:
        local_server.program()


def open_publisher(address: str) -> BackgroundPublisher:
    """A publisher to the bus at an address, whether it is there or not."""
    check_bus(address)
    return BackgroundPublisher(address)


class BackgroundPublisher:
    """See the module."""

    def __init__(self, address: str, most_waiting: int = MOST_WAITING, grace: float = GRACE) -> None:
        self.address = address
        self._bus: NatsBus | None = None
        self._loop = LoopThread("jimbot-publisher")
        self._sender = BackgroundSender(
            f"The bus {address}", self._send, most_waiting, AT_ONCE, grace=grace, kind=lambda event: event.topic
        )
        self._closed = False

    def offer(self, topic: str, message: Message, order_key: str = "", event_id: str = "") -> bool:
        """Whether there was room for it. What has an id is published once, however often it is offered."""
        event = Event(topic=topic, order_key=order_key, event_id=event_id, timestamp_ns=time.time_ns())
        event.payload.Pack(message)
        return self._sender.offer(event)

    @property
    def published(self) -> int:
        return self._sender.sent

    @property
    def dropped(self) -> Counter[str]:
        """By topic."""
        return self._sender.lost

    @property
    def waiting(self) -> int:
        return self._sender.waiting

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._sender.close()
        if self._bus is not None:
            wait((self._loop.submit(self._bus.close()),), GRACE)
        self._loop.close()

    def _send(self, events: list[Event]) -> list[Event]:
        """Those that the bus did not take; not waited for longer than there is time."""
        publishing = self._loop.submit(self._publish(events))
        while not wait((publishing,), 0.05).done:
            if self._sender.is_over:
                publishing.cancel()
                raise BusError(f"The bus {self.address} is not there.")
        return publishing.result()

    async def _publish(self, events: list[Event]) -> list[Event]:
        """Those of one key stay in order, as they are sent in order on one connection."""
        bus = self._bus = self._bus or await open_bus(self.address, IMPATIENT)
        answers = await asyncio.gather(*(bus.publish(event) for event in events), return_exceptions=True)
        again = []
        for event, answer in zip(events, answers, strict=True):
            if isinstance(answer, BusError):
                again.append(event)
            elif isinstance(answer, BaseException):
                self._sender.refuse(event, answer)
        if again and len(again) == len(events):
            raise BusError(str(answers[0]))
        return again
