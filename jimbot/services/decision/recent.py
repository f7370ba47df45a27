"""What was decided lately: the same request id gets the same answer, the same state need not be computed again.

Both are bounded in number and safe to use from any thread.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from jimbot.services.decision.refusal import Code, RefusedError

T = TypeVar("T")
_PIECE = 2047  # bytes; hashing more at once lets go of the interpreter, which costs more than the hashing


def digest(*parts: bytes) -> bytes:
    """Tells two requests apart."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        for start in range(0, len(part), _PIECE):
            found.update(part[start : start + _PIECE])
    return found.digest()


class RecentAnswers(Generic[T]):
    """Least recently used entries make room for new ones."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[bytes, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> T | None:
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
            return found

    def put(self, key: bytes, answer: T) -> None:
        if not self._size:
            return
        with self._lock:
            self._entries[key] = answer
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)


class RequestIds(Generic[T]):
    """One answer per request id within a window. Who asks again while the first is being computed waits for it."""

    def __init__(self, seconds: float, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._size, self._clock = seconds, size, clock
        self._entries: OrderedDict[str, tuple[float, bytes, Future[T]]] = OrderedDict()
        self._lock = threading.Lock()

    def claim(self, request_id: str, body: bytes) -> tuple[Future[T], bool]:
        """(its answer, whether the caller is the one to compute it)."""
        now = self._clock()
        with self._lock:
            self._forget(now)
            known = self._entries.get(request_id)
            if known is not None:
                if known[1] != body:
                    raise RefusedError(
                        Code.ALREADY_EXISTS,
                        f"Request id '{request_id}' was used for another request within the last {self._seconds:g} s; "
                        "give every request its own id.",
                    )
                return known[2], False
            answer: Future[T] = Future()
            self._entries[request_id] = (now, body, answer)
            return answer, True

    def drop(self, request_id: str) -> None:
        """A request that was refused may be sent again."""
        with self._lock:
            self._entries.pop(request_id, None)

    def _forget(self, now: float) -> None:
        while self._entries:
            oldest = next(iter(self._entries))
            began = self._entries[oldest][0]
            if now - began < self._seconds and len(self._entries) < self._size:
                return
            del self._entries[oldest]

    def __len__(self) -> int:
        return len(self._entries)
