"""Work beside a caller that must not wait: sending, doing something again and again, an event loop in a thread."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from jimbot.errors import JimbotError


@dataclass(frozen=True)
class Backoff:
    """How long to wait before the next try, in seconds: one policy for all that try again. A pause doubles with every
    failure, up to the longest; with `jitter` it is drawn from its upper half, so that those that failed together do not
    come back together."""

    first: float
    longest: float
    jitter: bool = False

    def pause(self, failures: int) -> float:
        """After so many failures in a row, one at least.

        >>> [Backoff(0.5, 30.0).pause(failures) for failures in (1, 2, 3, 100)]
        [0.5, 1.0, 2.0, 30.0]
        """
        pause = min(self.longest, self.first * 2.0 ** min(failures - 1, 60))
        return random.uniform(0.5, 1.0) * pause if self.jitter else pause


PAUSES = Backoff(0.5, 30.0)
GRACE = 3.0  # seconds without any progress after which `close` gives up
LONGEST_CLOSE = 20.0

Item = TypeVar("Item")
_log = logging.getLogger("jimbot.background")


class RefusedError(Exception):
    """The other end understood and does not want it."""


class BackgroundSender(Generic[Item]):
    """Brings items to `send` from a thread, at most `batch` at a time, `linger` seconds after the first of them came.

    `offer` costs a microsecond whatever the other end does. What does not fit is dropped and counted.
    `send` returns the items to be tried again. It raises `RefusedError` for what is hopeless, which is given up with
    one warning, and OSError or a JimbotError where all may be tried again, after pauses that double. `close` gives
    what waits a moment, as long as something arrives, and gives up the rest.
    """

    def __init__(
        self,
        name: str,
        send: Callable[[list[Item]], Sequence[Item] | None],
        most_waiting: int,
        batch: int,
        linger: float = 0.0,
        grace: float = GRACE,
        kind: Callable[[Item], str] = lambda item: "item",
    ) -> None:
        self.name = name
        self.sent = self.dropped = self.refused = 0
        self._send, self._most, self._batch, self._linger, self._grace = send, most_waiting, batch, linger, grace
        self.lost: Counter[str] = Counter()
        """What was dropped or refused, by `kind`."""
        self._kind = kind
        self._waiting: deque[Item] = deque()
        self._news, self._full, self._closing = threading.Event(), threading.Event(), threading.Event()
        self._gives_up = self._latest = float("inf")
        self._warned = False
        self._thread = threading.Thread(target=self._run, name=f"jimbot-{name}", daemon=True)
        self._thread.start()

    def offer(self, item: Item) -> bool:
        """Whether there was room for it."""
        if len(self._waiting) >= self._most or self._closing.is_set():
            self.dropped += 1
            self.lost[self._kind(item)] += 1
            return False
        self._waiting.append(item)
        self._news.set()
        if len(self._waiting) >= self._batch:
            self._full.set()
        return True

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def is_over(self) -> bool:
        """Whether the time that `close` gives is over."""
        return time.monotonic() >= self._gives_up

    def close(self) -> None:
        if self._closing.is_set():
            return
        self._latest = time.monotonic() + LONGEST_CLOSE
        self._gives_up = time.monotonic() + self._grace
        for event in (self._closing, self._news, self._full):
            event.set()
        self._thread.join(LONGEST_CLOSE)
        if self.lost:
            kinds = ", ".join(f"{count:,} of {kind}" for kind, count in self.lost.items())
            _log.warning("%s did not get %d of %d: %s.", self.name, lost := self.lost.total(), lost + self.sent, kinds)

    def _run(self) -> None:
        failures = 0
        while self._waiting or not self._closing.is_set():
            self._news.wait()
            if not self._closing.is_set():
                self._full.wait(self._linger)
            self._full.clear()
            self._news.clear()
            batch = [self._waiting[place] for place in range(min(self._batch, len(self._waiting)))]
            again = self._try(batch) if batch else ()
            for _ in batch:
                self._waiting.popleft()
            self._waiting.extendleft(reversed(again))
            if len(again) < len(batch):
                failures = 0
                if self._closing.is_set():
                    self._gives_up = min(self._latest, time.monotonic() + self._grace)
            if again:
                if self.is_over:
                    break
                failures += 1
                pause = min(PAUSES.pause(failures), max(0.0, self._gives_up - time.monotonic()))
                self._wait(pause)
            if self._waiting or self._closing.is_set():
                self._news.set()
        self.dropped += len(self._waiting)
        self.lost.update(map(self._kind, self._waiting))
        self._waiting.clear()

    def _wait(self, seconds: float) -> None:
        """Being closed ends it, unless it was closed before."""
        if self._closing.is_set():
            time.sleep(seconds)
        else:
            self._closing.wait(seconds)

    def _try(self, batch: list[Item]) -> Sequence[Item]:
        """What is left of the batch."""
        refused = self.refused
        try:
            again = self._send(batch) or ()
        except (OSError, JimbotError) as problem:
            self._warn("takes nothing for now, nobody waits for it", problem)
            return batch
        except Exception as problem:  # refused, or a fault of the sender's own: it would happen again
            for item in batch:
                self.refuse(item, problem)
            return ()
        self.sent += len(batch) - len(again) - (self.refused - refused)
        return again

    def refuse(self, item: Item, problem: BaseException) -> None:
        """Gives one item up, for `send` that knows which one is hopeless."""
        self.refused += 1
        self.lost[self._kind(item)] += 1
        self._warn("refuses what it is sent", problem)

    def _warn(self, text: str, problem: BaseException) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("%s %s: %s", self.name, text, problem or type(problem).__name__)


class Repeating:
    """Does `work` every so many `seconds` (it may change them) in a thread, from `start` until `close`; also a context
    manager."""

    def __init__(self, name: str, seconds: float, work: Callable[[], object], patience: float = 10.0) -> None:
        """`patience` are the seconds that `close` waits for what is being done."""
        self.seconds, self._work, self._patience = seconds, work, patience
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> Self:
        self._thread.start()
        return self

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def close(self) -> None:
        self._over.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(self._patience)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while not self._over.wait(self.seconds):
            self._work()


class LoopThread:
    """An event loop in a thread of its own, for clients that stay open between calls."""

    def __init__(self, name: str) -> None:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name=name, daemon=True)
        self._thread.start()
        self._ready.wait()

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(5)

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._over.wait()
