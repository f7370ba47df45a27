"""`jimbot soak`: a real training process, killed and restarted for hours; what it lost and whether its memory grew.

Every so often the training process is killed without warning (SIGKILL) and the same command is started again, as a
person or a service manager would. The report tells how much of the time training was going on, how often it was
restarted, how many steps had to be done again because they came after the last checkpoint, and by how many megabytes
per hour the memory of a running process grows. Where a game has processes of its own (VGC's simulators), one of them
can be killed every few seconds as well; training must go on and count every loss.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from jimbot.errors import TrainingError
from jimbot.runs.checkpoint import CheckpointStore, load_checkpoint
from jimbot.runs.directory import RunDirectory
from jimbot.runs.files import write_atomically
from jimbot.runs.sinks.jsonl import last_row
from jimbot.training.memory import tree_bytes

POLL_SECONDS = 0.5
WARM_SHARE = 0.25  # of each life is left out of the slope: caches fill, programs are compiled
WORKER = "node"  # the program the game's own processes run
FIRST_ROW_SECONDS = 900.0  # a process that logs nothing for so long has failed
COUNT_SECONDS = 180.0  # until the last worker killed must be in a log row


class Sample(NamedTuple):
    """One look at the training process."""

    life: int
    seconds: float  # since the soak began
    megabytes: float
    step: int  # of the newest log row


class SoakReport(NamedTuple):
    """What came of it."""

    hours: float
    uptime: float
    """Share of the time in which a process was training (first log row after a start until its end)."""
    kills: int
    restarts: int
    """Starts beyond the first; those that were not ours are crashes."""
    crashes: int
    steps: int
    """Reached, by the newest checkpoint."""
    lost_steps: int
    """Logged before a kill, but not in the checkpoint that training went on from."""
    memory_mb: float
    """Largest seen."""
    memory_slope_mb_per_hour: float
    """Within a life of the process, after its first quarter; the mean over lives, weighted by their length."""
    illegal_actions: int
    worker_kills: int
    """Of the game's own processes, by us."""
    workers_lost: int
    """As training counted them."""


def soak(
    command: list[str],
    run: RunDirectory,
    hours: float,
    kill_minutes: float,
    note: Callable[[str], None] = lambda text: None,
    worker_seconds: float | None = None,
) -> SoakReport:
    """Runs `command` (which trains `run` and continues it when started again) for so long, killing it as told.
    `worker_seconds`: also kill one of the game's own processes every so often."""
    began = time.monotonic()
    end = began + 3600 * hours
    samples: list[Sample] = []
    kills = crashes = life = lost = worker_kills = workers_lost = 0
    trained = 0.0
    while time.monotonic() < end:
        checkpointed = _checkpoint_step(run)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ)
        logged, killed = samples[-1].step if samples else 0, 0
        if life:
            lost += max(0, logged - checkpointed)
        try:
            first = _wait_for_row(process, run, checkpointed)
            until = min(end, first + 60 * kill_minutes)
            next_worker = first + (worker_seconds or float("inf"))
            # A process killed before its first checkpoint would never get anywhere.
            while process.poll() is None and (
                time.monotonic() < until or (time.monotonic() < end and _checkpoint_step(run) <= checkpointed)
            ):
                megabytes = tree_bytes(psutil.Process(process.pid)) / 1e6
                samples.append(Sample(life, time.monotonic() - began, megabytes, _logged_step(run)))
                if time.monotonic() >= next_worker:
                    killed += _kill_worker(process.pid)
                    next_worker += worker_seconds or 0.0
                time.sleep(POLL_SECONDS)
            _wait_until_counted(process, run, killed)
            trained += time.monotonic() - first
        except psutil.NoSuchProcess:
            pass  # it ended between two looks
        finally:
            ended_by_itself = process.poll() is not None
            if not ended_by_itself:
                process.send_signal(signal.SIGKILL)
            _, said = process.communicate()
            worker_kills += killed
            workers_lost += _workers_lost(run)
        if ended_by_itself:
            if process.returncode == 0:
                note("The run is complete before the time is over.")
                break
            crashes += 1
            note(f"The process ended by itself with code {process.returncode}: {said.decode()[-500:]}")
            if crashes > 3:
                raise TrainingError(f"Training failed {crashes} times by itself: {said.decode()[-500:]}")
        else:
            kills += 1
            note(f"Killed at step {samples[-1].step if samples else 0:,}; starting again.")
        life += 1
    return SoakReport(
        hours=(time.monotonic() - began) / 3600,
        uptime=trained / (time.monotonic() - began),
        kills=kills,
        restarts=max(0, life - 1),
        crashes=crashes,
        steps=_checkpoint_step(run),
        lost_steps=lost,
        memory_mb=max((sample.megabytes for sample in samples), default=0.0),
        memory_slope_mb_per_hour=memory_slope(samples),
        illegal_actions=int((last_row(run.metrics_path) or {}).get("health/illegal_actions", 0)),
        worker_kills=worker_kills,
        workers_lost=workers_lost,
    )


def _kill_worker(training: int) -> int:
    """Kills the oldest of the game's processes that live; how many were killed."""
    for worker in psutil.Process(training).children():
        try:
            if worker.status() != psutil.STATUS_ZOMBIE and Path(worker.exe()).name == WORKER:
                worker.kill()
                return 1
        except psutil.Error:
            continue  # it went away by itself
    return 0


def _workers_lost(run: RunDirectory) -> int:
    """How many of the game's processes the present training process has lost by its own count."""
    return int((last_row(run.metrics_path) or {}).get("health/worker_died", 0))


def _wait_until_counted(process: subprocess.Popen[bytes], run: RunDirectory, killed: int) -> None:
    """The newest row is older than the newest kill; a row that tells of all of them is worth waiting for."""
    limit = time.monotonic() + COUNT_SECONDS
    while killed and process.poll() is None and _workers_lost(run) < killed and time.monotonic() < limit:
        time.sleep(POLL_SECONDS)


def memory_slope(samples: list[Sample]) -> float:
    """MB per hour within lives: a straight line through each, without its warm-up."""
    slopes, weights = [], []
    for life in {sample.life for sample in samples}:
        own = [sample for sample in samples if sample.life == life]
        own = own[int(WARM_SHARE * len(own)) :]
        if len(own) < 5:
            continue
        hours = np.array([sample.seconds / 3600 for sample in own])
        slopes.append(np.polyfit(hours - hours[0], [sample.megabytes for sample in own], 1)[0])
        weights.append(hours[-1] - hours[0])
    return float(np.average(slopes, weights=weights)) if slopes else 0.0


def train_command(game: str, run: str, runs_dir: Path, settings: dict[str, Any]) -> list[str]:
    """The command line a user would type."""
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    own = [f"--run={run}", f"--runs-dir={runs_dir}", "--eval-games=0", "--json"]
    return [sys.executable, "-m", "jimbot", "train", game, *own, *flags]


def write_report(run: RunDirectory, report: SoakReport) -> Path:
    """`soak.json` in the run's directory."""
    import json

    path = run.path / "soak.json"
    write_atomically(path, json.dumps(report._asdict(), indent=1).encode())
    return path


def _wait_for_row(process: subprocess.Popen[bytes], run: RunDirectory, step: int) -> float:
    """Until the process has logged a row beyond `step`, or ended; when that was."""
    limit = time.monotonic() + FIRST_ROW_SECONDS
    while process.poll() is None and _logged_step(run) <= step:
        if time.monotonic() > limit:
            raise TrainingError(f"Training logged nothing for {FIRST_ROW_SECONDS:g} s after a start.")
        time.sleep(POLL_SECONDS)
    return time.monotonic()


def _checkpoint_step(run: RunDirectory) -> int:
    latest = CheckpointStore(run.path / "checkpoints").latest() if run.path.is_dir() else None
    return load_checkpoint(latest).manifest.step if latest else 0


def _logged_step(run: RunDirectory) -> int:
    return int((last_row(run.metrics_path) or {}).get("step", 0))
