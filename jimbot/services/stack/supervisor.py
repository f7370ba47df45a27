"""Keeps programs running: starts them, asks for their health, starts again what died, and ends all of them for certain.

A program that dies is started again after a pause that doubles; after so many deaths in a row without having been well
in between it is given up, and says why. One that was well and does not answer for a minute is ended and counts as dead.
Each has a group of its own (Ctrl+C is the supervisor's to handle) and watches its parent: a killed
supervisor leaves none behind. What can wait stands back (`Component.nice`), so that what answers people and
programs is quick under load.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from subprocess import PIPE
from typing import Any, BinaryIO, Self

import psutil

from jimbot.background import Backoff
from jimbot.errors import install_command
from jimbot.processes import LEAVE_SECONDS, Child, last_line, tail
from jimbot.processes import end_with_parent as end_with_parent
from jimbot.runs.files import make_directory
from jimbot.services.stack.components import Component

LARGEST_LOG = 2**20  # bytes kept when a program is started again


class State(StrEnum):
    MISSING = "not installed"
    STARTING = "starting"
    WELL = "well"
    UNWELL = "does not answer"
    WAITING = "starts again soon"
    GIVEN_UP = "given up"
    ENDED = "ended"


@dataclass(frozen=True)
class RestartPolicy:
    """When a program is started again, and when it is given up; seconds."""

    check: float = 2.0
    """Seconds between two questions about health."""
    first_pause: float = 0.5
    longest_pause: float = 30.0
    deaths: int = 5
    """In a row, before a program is given up."""
    starting: float = 900.0
    """Seconds a first start may take: rules are compiled once per machine."""
    unwell: float = 60.0
    settled: float = 60.0
    """Seconds of health after which earlier deaths are forgotten."""
    leave: float = LEAVE_SECONDS + 3.0


@dataclass(frozen=True)
class Status:
    """How a program is, for people and scripts."""

    name: str
    state: State
    what: str
    where: str
    says: str
    pid: int | None
    restarts: int
    seconds: float
    """Since it was started."""
    megabytes: float

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "state": str(self.state)}


def jimbot_child(component: Component) -> list[str]:
    return [sys.executable, "-m", component.module, *component.words]


class Program:
    """One program and what happened to it."""

    def __init__(
        self, component: Component, log: Path, policy: RestartPolicy, command: Callable[..., list[str]]
    ) -> None:
        self.component, self._log, self._policy, self._command = component, log, policy, command
        self.process: Child | None = None
        self.state = State.MISSING if component.missing else State.STARTING
        self.says = install_command(component.missing) if component.missing else ""
        self.restarts = self.deaths = 0
        self._began = self._changed = self._due = self._asked = time.monotonic()
        self._answer: Future[str] | None = None

    def tick(self, now: float, pool: ThreadPoolExecutor) -> None:
        """Does what is due."""
        if self.state in (State.MISSING, State.GIVEN_UP, State.ENDED):
            return
        if self.component.words:
            if self.process is None:
                if now < self._due:
                    return
                self._start(now)
            elif self.process.poll() is not None:
                self._died(now, f"ended with code {self.process.returncode}: {last_line(tail(self._log))}")
                return
        self._look(now, pool)

    def _start(self, now: float) -> None:
        if self._log.exists() and self._log.stat().st_size > LARGEST_LOG:
            self._log.unlink()
        with open(self._log, "ab") as log:
            self.process = self._opened(log)
        self._began, self._answer = now, None
        self._to(State.STARTING, now)

    def _opened(self, log: BinaryIO) -> Child:
        process = Child(self._command(self.component), log, stdin=PIPE)
        if self.component.nice and os.name == "posix":
            with suppress(OSError):  # it has ended already
                os.setpriority(os.PRIO_PROCESS, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + self.component.nice)
        return process

    def _look(self, now: float, pool: ThreadPoolExecutor) -> None:
        if self._answer is None:
            if now >= self._asked:
                self._answer = pool.submit(self.component.check)
            return
        if not self._answer.done():
            return
        problem = self._answer.exception()
        well, says = problem is None, str(problem or "") if problem else self._answer.result()
        self._answer = None
        self._asked = now + (self._policy.check if well else min(0.5, self._policy.check))
        if well:
            self.says = says
            self._to(State.WELL, now)
            if now - self._changed >= self._policy.settled:
                self.deaths = 0
            return
        if self.state is State.WELL:
            self._to(State.UNWELL, now)
        self.says = says if self.state is State.UNWELL else last_line(tail(self._log)) or "not there yet"
        limit = self._policy.starting if self.state is State.STARTING else self._policy.unwell
        if self.process is not None and now - self._changed >= limit:
            self._died(now, f"did not answer for {limit:g} s: {says}")

    def _died(self, now: float, says: str) -> None:
        if self.state is State.WELL and now - self._changed >= self._policy.settled:
            self.deaths = 0
        self._end(0.0)
        self.deaths += 1
        self.says = says
        if self.deaths >= self._policy.deaths:
            self._to(State.GIVEN_UP, now)
            return
        self.restarts += 1
        self._due = now + Backoff(self._policy.first_pause, self._policy.longest_pause).pause(self.deaths)
        self._to(State.WAITING, now)

    def _to(self, state: State, now: float) -> None:
        if state is not self.state:
            self.state, self._changed = state, now

    def terminate(self) -> None:
        """Asks it to end."""
        if self.process is not None:
            self.process.terminate()

    def end(self, by: float) -> None:
        """Waits for it, and ends it where it does not end by itself."""
        self._end(by - time.monotonic())
        if self.state not in (State.MISSING, State.GIVEN_UP):
            self.state = State.ENDED

    def _end(self, seconds: float) -> None:
        if self.process is not None:
            self.process.end(seconds, ask=False)
            self.process = None

    def status(self, now: float) -> Status:
        pid, megabytes = (self.process.pid if self.process is not None else None), 0.0
        if pid is not None:
            with suppress(psutil.Error):
                megabytes = psutil.Process(pid).memory_info().rss / 1e6
        about, since = self.component, now - self._began if pid is not None else 0.0
        return Status(about.name, self.state, about.what, about.where, self.says, pid, self.restarts, since, megabytes)


class Supervisor:
    """All of them. A context manager: leaving it ends every program."""

    def __init__(
        self,
        components: Sequence[Component],
        folder: Path,
        policy: RestartPolicy = RestartPolicy(),
        command: Callable[[Component], list[str]] = jimbot_child,
    ) -> None:
        """`folder` takes a log per program."""
        make_directory(folder)
        self._policy = policy
        self.programs = [Program(one, folder / f"{one.name}.log", policy, command) for one in components]
        self._pool = ThreadPoolExecutor(max(1, len(self.programs)), "jimbot-health")

    def tick(self) -> list[Status]:
        """Does what is due; how everything is now. To be called a few times a second."""
        now = time.monotonic()
        for program in self.programs:
            program.tick(now, self._pool)
        return [program.status(now) for program in self.programs]

    @property
    def settled(self) -> bool:
        """Whether nothing is on its way any more: well, not installed, or given up."""
        return all(program.state in (State.WELL, State.MISSING, State.GIVEN_UP) for program in self.programs)

    @property
    def well(self) -> bool:
        """Whether everything that is installed is well."""
        return all(program.state in (State.WELL, State.MISSING) for program in self.programs)

    def close(self) -> None:
        for program in self.programs:
            program.terminate()
        by = time.monotonic() + self._policy.leave
        for program in self.programs:
            program.end(by)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
