"""What a patient and polite client does, as plain arithmetic that knows neither sockets nor clocks of its own.

Retries are for calls that may be repeated; they wait a random while that doubles, and a budget keeps them below a share
of all calls, so that a service in trouble is not buried by those who wish it well. A circuit breaker asks no server
for a while that has failed again and again. The timeout of one attempt follows what answers have taken of late.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from jimbot.background import Backoff

Clock = Callable[[], float]


@dataclass(frozen=True)
class RetryPolicy:
    """How long and how often a client tries; seconds."""

    deadline: float = 2.0
    """Of a whole call, all attempts together; every call has one."""
    floor: float = 0.05
    """One attempt is given at least this."""
    cap: float = 2.0
    """And at most this."""
    attempts: int = 4
    first_pause: float = 0.02
    longest_pause: float = 0.5
    budget: float = 0.2
    """Retries per call, on average."""
    failures: int = 5
    """In a row, before nobody is asked any more."""
    rest: float = 1.0
    """Before one call may try again whether it is back."""
    at_once: int = 256
    """Calls open at once; more are refused here, at once. They would only wait behind the others until it is too late
    for all of them."""


class RetryBudget:
    """Every call earns a share of a retry; every retry costs one."""

    def __init__(self, share: float, most: float = 10.0) -> None:
        self._share, self._most, self._saved = share, most, most
        self._lock = threading.Lock()

    def earn(self) -> None:
        with self._lock:
            self._saved = min(self._most, self._saved + self._share)

    def spend(self) -> bool:
        """Whether there is one left, and then it is gone."""
        with self._lock:
            if self._saved < 1:
                return False
            self._saved -= 1
            return True


class CircuitBreaker:
    """Closed: calls go out. Open after so many failures in a row: none does. After a rest a single one tries."""

    def __init__(self, failures: int, rest: float, clock: Clock = time.monotonic) -> None:
        self._limit, self._rest, self._clock = failures, rest, clock
        self._failed = 0
        self._opened: float | None = None
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        return self._opened is not None

    def may_call(self) -> bool:
        with self._lock:
            if self._opened is None:
                return True
            if self._clock() - self._opened < self._rest:
                return False
            self._opened = self._clock()  # this one tries; the others rest again
            return True

    def succeeded(self) -> None:
        with self._lock:
            self._failed, self._opened = 0, None

    def failed(self) -> None:
        with self._lock:
            self._failed += 1
            if self._failed >= self._limit:
                self._opened = self._clock()


class AdaptiveTimeout:
    """Four times what nearly all answers took of late, between a floor and a cap; the cap while little is known."""

    def __init__(self, floor: float, cap: float, size: int = 200) -> None:
        self._floor, self._cap = floor, cap
        self._seen: deque[float] = deque(maxlen=size)
        self._noted = 0
        self.seconds = cap

    def note(self, seconds: float) -> None:
        self._seen.append(seconds)
        self._noted += 1
        if self._noted % 20 == 0:
            usual = sorted(self._seen)[int(0.95 * (len(self._seen) - 1))]
            self.seconds = min(self._cap, max(self._floor, 4 * usual))


class Attempts:
    """One call: what to do after each attempt. `next_timeout` before, `retry_in` after one that failed."""

    def __init__(
        self, patience: RetryPolicy, budget: RetryBudget, timeout: AdaptiveTimeout, clock: Clock = time.monotonic
    ) -> None:
        self._patience, self._budget, self._timeout, self._clock = patience, budget, timeout, clock
        self._ends = clock() + patience.deadline
        self.made = 0
        budget.earn()

    @property
    def remaining(self) -> float:
        return self._ends - self._clock()

    def next_timeout(self) -> float:
        """Seconds for the attempt that begins now: twice as many as for the one before, up to the cap, as a service
        that became slow would never be in time again otherwise; the last one gets all that is left."""
        usual = self._timeout.seconds * 2.0 ** min(self.made, 30)
        self.made += 1
        last = self.made >= self._patience.attempts
        return max(0.001, self.remaining if last else min(self.remaining, usual, self._patience.cap))

    def retry_in(self, hint: float = 0.0) -> float | None:
        """Seconds to wait before the next attempt; None: it is over. `hint` is what the service asked for."""
        pauses = Backoff(self._patience.first_pause, self._patience.longest_pause, jitter=True)
        pause = max(hint, pauses.pause(self.made))
        if self.made >= self._patience.attempts or self.remaining <= pause or not self._budget.spend():
            return None
        return pause
