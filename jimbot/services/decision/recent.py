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

from jimbot.services.decision.metrics import ServiceMetrics
from jimbot.services.decision.question import Answer, Question
from jimbot.services.decision.refusal import Code, RefusedError
from jimbot.services.decision.served import ServedPolicy

T = TypeVar("T")
_PIECE = 2047  # bytes; hashing more at once lets go of the interpreter, which costs more than the hashing


def digest(*parts: bytes) -> bytes:
    """Tells two requests apart."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        for start in range(0, len(part), _PIECE):
            found.update(part[start : start + _PIECE])
    return found.digest()


class RecentAnswers:
    """The cache of answers by state and policy; least recently used entries make room for new ones."""

    def __init__(self, size: int, metrics: ServiceMetrics) -> None:
        self._size, self._metrics = size, metrics
        self._entries: OrderedDict[bytes, Answer] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, question: Question) -> Answer | None:
        """The answer given to this state before, for this request."""
        choosing, served = question.choosing, question.batchers[0].served
        if choosing.sample and not choosing.seed:  # drawn by the request's id: no other request's answer
            return None
        key = question.body + served.hash.encode()
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            self._entries.move_to_end(key)
        answer = Answer()
        answer.CopyFrom(found)
        answer.request_id, answer.cached = question.request.request_id, True
        answer.timing.queue_ms = answer.timing.inference_ms = 0.0
        answer.timing.batch_size = 0
        self._metrics.count(self._metrics.cache_hits, question.request.game)
        return answer

    def keep(self, question: Question, served: ServedPolicy, answer: Answer) -> None:
        choosing = question.choosing
        if question.doubted or (choosing.sample and not choosing.seed):
            return
        key = question.body + served.hash.encode()
        with self._lock:
            self._entries[key] = answer
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)


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
            while self._entries:
                oldest = next(iter(self._entries))
                if now - self._entries[oldest][0] < self._seconds and len(self._entries) < self._size:
                    break
                del self._entries[oldest]
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

    def __len__(self) -> int:
        return len(self._entries)
