"""Publishing for those who must not wait: a bounded queue and a thread with an event loop of its own.

`offer` costs some microseconds whatever the bus does. What does not fit is dropped and counted by topic; a bus that is
away is tried again and again. `close` gives what waits a moment and gives up the rest.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter, deque
from typing import TYPE_CHECKING

from jimbot.clients.bus_contract import Bus, BusSettings
from jimbot.clients.event_bus import check_address, open_bus
from jimbot.errors import BusError, JimbotError
from jimbot.proto.events_pb2 import Event
from jimbot.services.bus import local_server
from jimbot.services.bus.embedded import SCHEME
from jimbot.services.bus.nats_bus import require_client

if TYPE_CHECKING:
    from google.protobuf.message import Message

MOST_WAITING = 20_000
AT_ONCE = 256
RETRY_PAUSE = 0.5
IMPATIENT = BusSettings(publish_seconds=1.0)
GRACE = 3.0  # seconds without any progress after which `close` gives up
LONGEST_CLOSE = 20.0
_log = logging.getLogger("jimbot.services")


def check_bus(address: str) -> None:
    """Refuses an address that is none, and one whose client or server is not installed: told now, not in a log."""
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
        self.published = 0
        self.dropped: Counter[str] = Counter()
        self._grace = grace
        self._waiting: deque[Event] = deque()
        self._most = most_waiting
        self._news, self._closing = threading.Event(), threading.Event()
        self._ends: float | None = None  # when to give up, once closed
        self._told = False
        self._thread = threading.Thread(target=self._run, name="jimbot-publisher", daemon=True)
        self._thread.start()

    def offer(self, topic: str, message: Message, order_key: str = "", event_id: str = "") -> bool:
        """Whether there was room for it. What has an id is published once, however often it is offered."""
        if len(self._waiting) >= self._most or self._ends is not None:
            self.dropped[topic] += 1
            return False
        event = Event(topic=topic, order_key=order_key, event_id=event_id, timestamp_ns=time.time_ns())
        event.payload.Pack(message)
        self._waiting.append(event)
        self._news.set()
        return True

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        if self._ends is not None:
            return
        self._ends = time.monotonic() + self._grace
        self._closing.set()
        self._news.set()
        self._thread.join(LONGEST_CLOSE)
        if self.dropped:
            lost = ", ".join(f"{count} of {name}" for name, count in self.dropped.items())
            _log.warning("The bus %s did not get %d events: %s", self.address, self.dropped.total(), lost)

    def _run(self) -> None:
        try:
            asyncio.run(self._publish_all())
        except Exception as problem:  # whatever a bus does, nobody here may notice more than a line
            _log.warning("Nothing more is published to %s: %s", self.address, problem)
            self._ends = self._ends or time.monotonic()
        for event in self._waiting:
            self.dropped[event.topic] += 1
        self._waiting.clear()

    async def _publish_all(self) -> None:
        bus: Bus | None = None
        while not self._over():
            if not self._waiting:
                self._news.clear()
                if not self._waiting and self._ends is None:
                    await asyncio.to_thread(self._news.wait, 1.0)
                continue
            try:
                bus = bus or await self._opened()
            except JimbotError as problem:
                self._complain(problem)
                if self._ends is not None:  # it was never there, so nobody waits for it now
                    return
                await asyncio.to_thread(self._closing.wait, RETRY_PAUSE)
                continue
            await self._publish_some(bus)
        if bus is not None:
            await bus.close()

    async def _opened(self) -> Bus:
        """The open bus; not waited for longer than there is time."""
        opening = asyncio.create_task(open_bus(self.address, IMPATIENT))
        while not opening.done() and not self._over():
            await asyncio.wait((opening,), timeout=0.05)
        if not opening.done():
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
            raise BusError(f"The bus {self.address} is not there.")
        return opening.result()

    async def _publish_some(self, bus: Bus) -> None:
        """The oldest events; those of one key stay in order, as they are sent in order on one connection."""
        some = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
        again: list[Event] = []
        answers = await asyncio.gather(*(bus.publish(event) for event in some), return_exceptions=True)
        for event, answer in zip(some, answers, strict=True):
            if not isinstance(answer, BaseException):
                self.published += 1
                if self._ends is not None:
                    self._ends = time.monotonic() + self._grace
            elif isinstance(answer, BusError) and not self._over():
                self._complain(answer)
                again.append(event)
            else:
                self._complain(answer)
                self.dropped[event.topic] += 1
        self._waiting.extendleft(reversed(again))

    def _over(self) -> bool:
        return self._ends is not None and (not self._waiting or time.monotonic() >= self._ends)

    def _complain(self, problem: BaseException) -> None:
        if not self._told:
            self._told = True
            _log.warning("The bus takes no events for now, nothing waits for it: %s", problem)
