"""Work that takes longer than a click: searches and comparisons, with progress, and an end whenever somebody wants."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from jimbot.errors import JimbotError, UsageError

AT_ONCE = 2
MOST_KEPT = 50
MOST_WAITING = 8
WAITING, RUNNING, DONE, CANCELLED, FAILED = "waiting", "running", "done", "cancelled", "failed"

_log = logging.getLogger("jimbot.viewer")


class CancelledError(Exception):
    """Somebody ended a job; it is over wherever this is raised."""


@dataclass
class Job:
    """One piece of work."""

    about: dict[str, Any]
    state: str = WAITING
    done: int = 0
    of: int | None = None
    found: list[Any] = field(default_factory=list)
    """What is there already."""
    result: Any = None
    complaint: str = ""
    _stop: threading.Event = field(default_factory=threading.Event)

    def report(self, done: int, of: int | None = None) -> None:
        """Tells how far the work is; ends it where that was asked for."""
        self.done, self.of = int(done), of
        if self._stop.is_set():
            raise CancelledError

    def cancel(self) -> None:
        self._stop.set()

    def run(self, work: Callable[[Job], Any]) -> None:
        try:
            self.report(0)
            self.state = RUNNING
            self.result = work(self)
            self.state = DONE
        except CancelledError:
            self.state = CANCELLED
        except JimbotError as problem:
            self.complaint, self.state = str(problem), FAILED
        except Exception as problem:  # the page outlives it, and says what happened
            _log.exception("A job of the page failed.")
            self.complaint, self.state = f"It failed: {type(problem).__name__}: {problem}", FAILED

    def document(self) -> dict[str, Any]:
        over = self.state not in (WAITING, RUNNING)
        return {
            "about": self.about,
            "state": self.state,
            "over": over,
            "done": self.done,
            "of": self.of,
            "found": list(self.found),
            "result": self.result if over else None,
            "complaint": self.complaint,
        }


class Jobs:
    """All of them: a few at once, the others wait."""

    def __init__(self) -> None:
        self._workers = ThreadPoolExecutor(AT_ONCE, "job")
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, about: dict[str, Any], work: Callable[[Job], Any]) -> str:
        job, name = Job(about), secrets.token_hex(6)
        with self._lock:
            if sum(one.state in (WAITING, RUNNING) for one in self._jobs.values()) >= AT_ONCE + MOST_WAITING:
                raise UsageError(f"{AT_ONCE + MOST_WAITING} jobs are waiting already; cancel one or try again later.")
            self._jobs[name] = job
            while len(self._jobs) > MOST_KEPT:
                self._jobs.popitem(last=False)
        self._workers.submit(job.run, work)
        return name

    def get(self, name: str) -> Job:
        with self._lock:
            if name not in self._jobs:
                raise UsageError("This job is not known (any more); start it again.")
            return self._jobs[name]

    def close(self) -> None:
        with self._lock:
            jobs = list(self._jobs.values())
        for job in jobs:
            job.cancel()
        self._workers.shutdown(wait=False, cancel_futures=True)
