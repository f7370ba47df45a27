"""What was decided lately: the same request id gets the same answer, the same state need not be computed again.

Both are bounded in number and safe to use from any thread.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from struct import Struct
from typing import Generic, TypeVar

from google.protobuf.message import Message

from jimbot.services.decision.metrics import ServiceMetrics
from jimbot.services.decision.question import Answer, Question
from jimbot.services.decision.refusal import Code, RefusedError
from jimbot.services.decision.served import ServedPolicy

T = TypeVar("T", bound=Message)
_HASHES = Struct("<qIqI")


def digest(said: bytes, values: bytes) -> bytes:
    """Tells two requests of this process apart: Python's own keyed hash costs a quarter of a cryptographic one."""
    return _HASHES.pack(hash(said), zlib.crc32(said), hash(values), zlib.crc32(values))


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
    """One answer per request id within a window. Who asks again while the first is being computed waits for it.

    Tens of thousands of ids are remembered, so each is a tuple of plain values, with the answer as bytes: the collector
    of garbage stops looking at those, where it would stop everything to search as many messages and futures.
    """

    def __init__(
        self, message: type[T], seconds: float, size: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._message, self._seconds, self._size, self._clock = message, seconds, size, clock
        self._entries: OrderedDict[str, tuple[float, bytes, bytes | None]] = OrderedDict()
        self._joined: dict[str, Future[T]] = {}  # of those who wait for the first
        self._lock = threading.Lock()

    def claim(self, request_id: str, body: bytes) -> Future[T] | None:
        """The answer to this id, there already or on its way; None where the caller is the one to compute it, and to
        `settle` or `drop` it."""
        now = self._clock()
        with self._lock:
            while self._entries:
                oldest = next(iter(self._entries))
                if now - self._entries[oldest][0] < self._seconds and len(self._entries) < self._size:
                    break
                del self._entries[oldest]
            known = self._entries.get(request_id)
            if known is None:
                self._entries[request_id] = now, body, None
                return None
            if known[1] != body:
                raise RefusedError(
                    Code.ALREADY_EXISTS,
                    f"Request id '{request_id}' was used for another request within the last {self._seconds:g} s; "
                    "give every request its own id.",
                )
            if known[2] is None:
                return self._joined.setdefault(request_id, Future())
            answered: Future[T] = Future()
            answered.set_result(self._message.FromString(known[2]))
            return answered

    def settle(self, request_id: str, answer: T) -> None:
        """The answer of who claimed the id, for those who wait and those who ask again."""
        with self._lock:
            known = self._entries.get(request_id)
            if known is not None:
                self._entries[request_id] = known[0], known[1], answer.SerializeToString()
            waiting = self._joined.pop(request_id, None) if self._joined else None
        if waiting is not None:
            waiting.set_result(answer)

    def drop(self, request_id: str, problem: RefusedError) -> None:
        """A request that was refused may be sent again; those who wait hear why."""
        with self._lock:
            self._entries.pop(request_id, None)
            waiting = self._joined.pop(request_id, None)
        if waiting is not None:
            waiting.set_exception(problem)

    def __len__(self) -> int:
        return len(self._entries)
