"""A graph at decision time: asked in a thread of its own, with a deadline, and not at all for a while after it failed
again and again. Whoever asks goes on without it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from typing import TypeVar

from jimbot.clients.resilience import CircuitBreaker
from jimbot.knowledge.records import ANSWERED

_log = logging.getLogger("jimbot.knowledge")
Answer = TypeVar("Answer")
OUTCOMES = (ANSWERED, "late", "failed", "resting")


class Guard:
    """Runs questions one after the other, each within `deadline` seconds for whoever waits."""

    def __init__(self, deadline: float, failures: int, rest: float) -> None:
        self._deadline = deadline
        self._breaker = CircuitBreaker(failures, rest)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="jimbot-graph")
        self._counts = dict.fromkeys(OUTCOMES, 0)
        self._lock = threading.Lock()
        self._late: Future | None = None

    def ask(self, question: Callable[[], Answer]) -> tuple[str, Answer | None]:
        """(outcome, the answer if there is one). Never raises what the graph raised."""
        if not self._breaker.may_call() or self._busy():
            return self._counted("resting"), None
        waiting = self._thread.submit(question)
        try:
            answer = waiting.result(self._deadline)
        except TooLate:
            if not waiting.cancel():
                self._late = waiting
            self._breaker.failed()
            return self._counted("late"), None
        except Exception as problem:  # whatever a graph can do wrong, a decision must not suffer from it
            if not self._breaker.is_open:
                _log.warning("The graph gave no hint: %s", problem)
            self._breaker.failed()
            return self._counted("failed"), None
        self._breaker.succeeded()
        return self._counted(ANSWERED), answer

    def figures(self) -> dict[str, int]:
        """Questions by outcome."""
        with self._lock:
            return dict(self._counts)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _busy(self) -> bool:
        """Whether a question that came too late is still being worked on: the next would only wait behind it."""
        return self._late is not None and not self._late.done()

    def _counted(self, outcome: str) -> str:
        with self._lock:
            self._counts[outcome] += 1
        return outcome
