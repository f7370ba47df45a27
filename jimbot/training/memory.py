"""Watches the memory of a run and, near its limit, gives some back, in an order that costs learning the least.

    smaller_replay    the replay forgets its oldest half
    smaller_batches   minibatches are learned in twice as many pieces; gradients add up, the step stays what it was
    fewer_games       half the games, twice the steps of each: the batch stays; takes a restart
    restart           a checkpoint, and the same run goes on in a clean process

From 80 % of the limit on there is a warning and a metric, from 90 % on one step after the other is taken, with time in
between for each to show. A learner answers for each step what it did, or that it can do no more of it. What was done is
stored in the run's directory, so a continued run stays as small as it had to become.

A restart runs the same command in a clean process. The same command continues a run, so nothing needs to be handed over
but how long it has been training (`--minutes` is the time of the whole call) and that flags about the start (`--fresh`,
`--resume`) have had their effect.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from jimbot.errors import TrainingError
from jimbot.runs.files import read_json, write_atomically

GIGABYTE = 1e9

# Shares of the limit; of the default of 8 GB they are 2.5, 3.5, 1 and 1.
PARTS = {"object_store": 2.5 / 8, "workers": 3.5 / 8, "checkpoints": 1 / 8, "buffer": 1 / 8}
"""object_store: Ray's shared memory; workers: learner and env runners; checkpoints: what saving takes while it lasts;
buffer: what is left for everything else."""
REPLAY_SHARE = 2 / 8
"""Of the limit: what a replay may take of the workers' part, since it lies in the learner."""

WARNING_SHARE = 0.8
RELIEF_SHARE = 0.9


@dataclass(frozen=True)
class MemoryBudget:
    """A limit in GB, split by `PARTS`.

    >>> MemoryBudget(4).part("workers") / GIGABYTE
    1.75
    """

    limit_gb: float = 8.0

    @property
    def limit(self) -> int:
        """Bytes."""
        return int(self.limit_gb * GIGABYTE)

    @property
    def replay(self) -> int:
        """Bytes a replay may take."""
        return int(REPLAY_SHARE * self.limit_gb * GIGABYTE)

    def part(self, name: str) -> int:
        """Bytes of one of `PARTS`."""
        return int(PARTS[name] * self.limit_gb * GIGABYTE)


CONTINUES = "JIMBOT_CONTINUES"
"""Environment variable of a restarted process: seconds of training its predecessors did."""


def restart_command(seconds: float) -> None:
    """Does not return. `seconds`: what this process has trained, its predecessors included."""
    sys.stdout.flush()
    sys.stderr.flush()
    arguments = [argument for argument in sys.orig_argv[1:] if argument != "--fresh"]
    os.execve(sys.executable, [sys.executable, *arguments], {**os.environ, CONTINUES: f"{seconds:.3f}"})


def seconds_before() -> float:
    """What predecessors of this process trained; 0 if it is the first."""
    try:
        return float(os.environ.get(CONTINUES, 0))
    except ValueError:
        return 0.0


def is_continuation() -> bool:
    return CONTINUES in os.environ


STEPS = ("smaller_replay", "smaller_batches", "fewer_games", "restart")
FILE = "memory.json"
LOOK_SECONDS = 1.0  # between two looks; one costs milliseconds per process
SETTLE_LOOKS = 3  # looks after a step before the next is taken
MOST_PIECES = 16  # of a minibatch
SMALLEST_REPLAY = 1_000_000  # bytes; giving back half of less is not worth it
RESTART_SECONDS = 300.0  # of a process before a restart may help: only what grew with time becomes smaller by it
MOST_RESTARTS = 3  # without progress in between


def tree_bytes(process: psutil.Process | None = None) -> int:
    """Resident memory of a process and all its children. What children share (libraries, Ray's object store) is counted
    once, as the largest of their shared parts: exact sums would cost many milliseconds per process."""
    parent = process or psutil.Process()
    total, shared = parent.memory_info().rss, 0
    for child in parent.children(recursive=True):
        with suppress(psutil.Error):  # it ended meanwhile
            found = child.memory_info()
            common = getattr(found, "shared", 0)  # Linux
            total, shared = total + found.rss - common, max(shared, common)
    return total + shared


def give_back() -> None:
    """Hands freed memory to the system, which the C library otherwise keeps for later."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class MemoryLimit:
    """Asked after every update. `measure` says how many bytes are in use."""

    def __init__(
        self, budget: MemoryBudget, folder: Path | None = None, measure: Callable[[], int] = tree_bytes
    ) -> None:
        self.budget, self.measure = budget, measure
        self.used = 0
        self.warned = False
        self.taken: list[str] = []
        """Steps taken in this process, in order."""
        self.restart_wanted = False
        self._path = folder / FILE if folder is not None else None
        stored = read_json(self._path) if self._path is not None else None
        self._stored: dict[str, Any] = stored if isinstance(stored, dict) else {}
        self.look_seconds, self.settle_looks, self.restart_seconds = LOOK_SECONDS, SETTLE_LOOKS, RESTART_SECONDS
        self._began = time.monotonic()
        self._helpless = False
        self._looked_at = float("-inf")
        self._settling = 0
        self._exhausted: set[str] = set()

    @property
    def changes(self) -> dict[str, Any]:
        """Settings that had to become smaller in this run, and their values."""
        return dict(self._stored.get("changes", {}))

    @property
    def share(self) -> float:
        """Of the limit, at the last look."""
        return self.used / self.budget.limit

    def metrics(self) -> dict[str, float]:
        return {
            "health/memory_mb": self.used / 1e6,
            "health/memory_share": self.share,
            "health/memory_warning": float(self.share >= WARNING_SHARE),
            "health/memory_steps": float(len(self.taken)),
            "health/memory_restarts": float(self._stored.get("restarts", 0)),
        }

    def look(self, relieve: Callable[[str], str | None]) -> list[str]:
        """Measures if it is time, acts if it must, and returns what there is to say. `relieve(name)` does one of
        `STEPS` and answers with a sentence, or None where nothing more can be done that way."""
        now = time.monotonic()
        if now - self._looked_at < self.look_seconds:
            return []
        self._looked_at, self.used = now, self.measure()
        said = []
        if self.share >= WARNING_SHARE and not self.warned:
            said.append(f"memory is at {self._state()}; near the limit it shrinks (docs/operations/memory.md)")
        self.warned = self.share >= WARNING_SHARE
        if self._settling:
            self._settling -= 1
        elif self.share >= RELIEF_SHARE and not self.restart_wanted:
            said += self._relieve(relieve)
        return said

    def remember(self, **changes: Any) -> None:
        """Settings that are different from now on, also after a restart."""
        self._stored["changes"] = {**self.changes, **changes}
        self._write()

    def count_restart(self, step: int) -> None:
        """Before the process gives way to its successor; endless restarts without progress are an error."""
        last, number = self._stored.get("restarted_at", -1), self._stored.get("in_a_row", 0)
        number = number + 1 if step <= last else 1
        if number > MOST_RESTARTS:
            raise TrainingError(
                f"memory_limit_gb {self.budget.limit_gb:g} is too small for this run: {MOST_RESTARTS} restarts in a "
                f"row did not get beyond step {step:,}. Raise it, or lower num_envs, num_steps or the network."
            )
        self._stored |= {"restarted_at": step, "in_a_row": number, "restarts": self._stored.get("restarts", 0) + 1}
        self._write()

    def _relieve(self, relieve: Callable[[str], str | None]) -> list[str]:
        state, age = self._state(), time.monotonic() - self._began
        self._settling = self.settle_looks
        for name in STEPS:
            if name in self._exhausted or (name == "restart" and age < self.restart_seconds):
                continue
            done = relieve(name)
            if done is None:
                self._exhausted.add(name)
                continue
            give_back()
            self.taken.append(name)
            return [f"memory is at {state}: {done}"]
        if self._helpless:
            return []  # said before
        self._helpless = True
        return [f"memory is at {state} and nothing more can be given back; raise memory_limit_gb or lower num_envs"]

    def _state(self) -> str:
        return f"{self.used / GIGABYTE:.2f} of {self.budget.limit_gb:g} GB ({self.share:.0%})"

    def _write(self) -> None:
        if self._path is not None:
            write_atomically(self._path, json.dumps(self._stored, indent=1).encode())
