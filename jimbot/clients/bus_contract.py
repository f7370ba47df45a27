"""What the bus promises.

`publish` returns when the event is safe: a durable topic's event survives kill -9 of every process here. An event id is
taken once; publishing it again changes nothing, so a publisher in doubt may repeat itself.

`subscribe` without a name hears what is published from now on, at most once: who is slow misses events, which are
counted by topic, and no publisher waits. With `durable` the place in the log is kept under that name: an event is
handed out until its handler has returned, again after a pause where it raised, and goes to `dead.<topic>` after so many
attempts. Subscribers of one `queue` share the events. With `at_once` 1 (the usual) events arrive in the order of the
log; with more, those of one `order_key` (a game) still do.

A handler may be a function (run in a thread) or a coroutine function. It may see an event twice after a crash between
its return and the acknowledgement; within one process the bus remembers what was handled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from jimbot.errors import UsageError
from jimbot.proto.events_pb2 import Event
from jimbot.proto.topics import TOPICS, check_pattern, matches

Handler = Callable[[Event], Awaitable[None] | None]
Start = int | float | None
"""Where a reading begins: an int is a sequence number, a float seconds since 1970; None: from now on."""
LARGEST_EVENT = 1_000_000  # bytes; NATS takes 1 MiB with its headers


@dataclass(frozen=True)
class BusSettings:
    """How patient the bus is."""

    attempts: int = 5
    """How often an event is handed to a durable reader before it goes to the dead letters."""
    first_pause: float = 0.05
    """Seconds before the second try; it doubles."""
    longest_pause: float = 5.0
    queue_size: int = 10_000
    """Events a subscriber without a durable name may lie behind before it misses some."""
    publish_seconds: float = 5.0
    """How long a publisher waits until its event is safe."""
    ack_wait: float = 10.0
    """Seconds without a sign of life after which a reader's event is given to another."""
    keep_seconds: float = 7 * 86_400.0
    keep_events: int = 1_000_000
    """What the log holds at most."""
    keep_bytes: int = 4 * 2**30
    keep_metrics_seconds: float = 3600.0
    """Metrics and heartbeats are kept this long."""
    power_safe: bool = False
    """For the process that starts this machine's own server: sync the disk before an event counts as safe; else the
    last two minutes may be lost with the power."""


@dataclass
class BusMetrics:
    """What happened, by topic. Topics are a fixed list, so the labels are bounded."""

    published: Counter[str] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)
    """Published again under an id that the log has."""
    handled: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    """Attempts whose handler raised."""
    redelivered: Counter[str] = field(default_factory=Counter)
    duplicates: Counter[str] = field(default_factory=Counter)
    """Handed out again although handled; the handler did not see them."""
    dead: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    """Missed by a slow subscriber, or not taken from a publisher that does not wait."""
    unreadable: Counter[str] = field(default_factory=Counter)
    reconnects: int = 0
    lag: dict[str, float] = field(default_factory=dict)
    """Events between a durable reader's place and the end of the log, by its name."""

    def counters(self) -> dict[str, Counter[str]]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Counter)}


_handled: ContextVar[Event | None] = ContextVar("handled", default=None)


@contextmanager
def handling(event: Event) -> Generator[None]:
    """Within it, this is the event whose handler runs."""
    before = _handled.set(event)
    try:
        yield
    finally:
        _handled.reset(before)


def handled_event() -> Event:
    """The event whose handler asks."""
    event = _handled.get()
    if event is None:
        raise UsageError("No event is being handled; call this from a handler, or answer with answer_to(event, …).")
    return event


def check_subscription(topics: Sequence[str], durable: str | None, queue: str | None, at_once: int) -> None:
    if isinstance(topics, str) or not topics:
        raise UsageError(f"The topics are {topics!r}; expected a list like ['game.result'].")
    for pattern in topics:
        check_pattern(pattern)
    for what, name in (("durable", durable), ("queue", queue)):
        if name is not None and not (0 < len(name) <= 64 and name.replace("-", "").replace("_", "").isalnum()):
            raise UsageError(f"The {what} name is {name!r}; expected letters, digits, - and _, at most 64.")
    if durable is not None and not any(TOPICS[name].durable for name in TOPICS if _asked_for(name, topics)):
        raise UsageError(f"{', '.join(topics)} are not kept, so nobody can go on in them; leave durable out.")
    if at_once < 1:
        raise UsageError(f"at_once is {at_once}; expected 1 (in order) or more.")


def _asked_for(name: str, topics: Sequence[str]) -> bool:
    return any(matches(pattern, name) or matches(name, pattern) for pattern in topics)
