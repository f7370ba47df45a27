"""One simulator process: starting it, speaking with it without ever blocking on it, and ending it for certain.

Both pipes are non-blocking, so a process that hangs can be noticed while others work. The process has a group of its
own (Ctrl+C is ours to handle) in our session, and leaves when its input ends, so even a killed JimBot leaves none
behind. One that is stopped (SIGSTOP) then cannot notice; but a group that loses its last link to its session while a
member is stopped is sent SIGHUP and SIGCONT by the kernel, which ends it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import time
from subprocess import PIPE
from typing import Any

from jimbot.errors import SimulatorError, UsageError
from jimbot.games.vgc import simulator, wire
from jimbot.games.vgc.wire import Kind
from jimbot.processes import Child, tail, temporary_log

CHUNK = 1 << 18
LEAVE_SECONDS = 2.0
HEAP_MEGABYTES = 400
"""Bound of V8's heap; a worker with 64 battles stays well below."""
YOUNG_MEGABYTES = 32
"""Room for what lives briefly, as most of a battle does, so that it is collected less often."""
IDLE_VARIABLE = "JIMBOT_IDLE_SIMULATORS"


class WorkerProcess:
    """A Node process with its pipes. `settings` are what it is configured with; it answers HELLO when it is ready."""

    def __init__(self, settings: dict[str, Any]) -> None:
        if os.name != "posix":
            raise UsageError(
                "Game 'vgc' speaks with its simulator in a way Windows does not have; play it on Linux, macOS or WSL."
            )
        self.patched = bool(settings["patch"])
        self._stderr = temporary_log()
        command = [
            simulator.node_program(),
            f"--max-old-space-size={HEAP_MEGABYTES}",
            f"--max-semi-space-size={YOUNG_MEGABYTES}",
            str(simulator.NODE_FILES / "worker.js"),
            str(simulator.package_folder()),
        ]
        self.process = Child(command, self._stderr, stdin=PIPE, stdout=PIPE, bufsize=0)
        assert self.process.stdin is not None and self.process.stdout is not None  # noqa: PT018 - one fact for the checker
        self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.input, False)
        os.set_blocking(self.output, False)
        self._outbox = bytearray()
        self._inbox = bytearray()
        self.begun = 0.0
        self.greeted: dict[str, Any] | None = None
        """What it said of itself; None until it is ready."""
        self.configure(settings)

    def configure(self, settings: dict[str, Any]) -> None:
        """Sets it up, or sets it up anew: whatever battles it held are gone."""
        self.greeted = None
        self.begun = time.monotonic()
        self.post(Kind.CONFIGURE, 0, json.dumps(settings).encode())

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def has_mail(self) -> bool:
        return bool(self._outbox)

    def post(self, kind: Kind, ticket: int, payload: bytes) -> None:
        """Queues a frame; as much as the pipe takes goes out at once."""
        self._outbox += wire.frame(kind, ticket, payload)
        with contextlib.suppress(BrokenPipeError):  # reading finds out, and says so
            self.flush()

    def flush(self) -> None:
        while self._outbox:
            try:
                sent = os.write(self.input, self._outbox[:CHUNK])
            except BlockingIOError:
                return
            del self._outbox[:sent]

    def collect(self) -> tuple[list[tuple[Kind, int, bytes]], bool]:
        """The frames that have arrived, and whether the process is still there."""
        alive = True
        while True:
            try:
                chunk = os.read(self.output, CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                alive = False
                break
            self._inbox += chunk
        frames = []
        while (found := wire.take_frame(self._inbox)) is not None:
            frames.append(found)
        return frames, alive

    def complaint(self) -> str:
        """The last lines it wrote before it failed."""
        return tail(self._stderr).strip()

    def end(self, kindly: bool = True) -> None:
        """Ends the process and waits for it, so that no zombie stays; a second call does nothing."""
        self.process.end(LEAVE_SECONDS if kindly else 0.0)
        self._stderr.close()


class Lot:
    """Processes that finished their work and may be asked again, where the caller allows it.

    Starting one costs seconds, so who opens and closes many games in a row (tests, tournaments) sets
    `JIMBOT_IDLE_SIMULATORS`. By default none is kept: an idle process holds memory. All end with this process.
    """

    def __init__(self) -> None:
        self._idle: list[WorkerProcess] = []
        atexit.register(self.clear)

    def take(self, settings: dict[str, Any]) -> WorkerProcess:
        """A process for these settings: an idle one set up anew, or a new one."""
        for process in [process for process in self._idle if process.patched == bool(settings["patch"])]:
            self._idle.remove(process)
            if process.process.poll() is None:
                process.configure(settings)
                return process
            process.end(kindly=False)
        return WorkerProcess(settings)

    def leave(self, process: WorkerProcess) -> None:
        """Keeps a healthy process for the next one, or ends it."""
        room = os.environ.get(IDLE_VARIABLE, "0")
        if process.greeted is not None and room.isdigit() and len(self._idle) < int(room):
            self._idle.append(process)
        else:
            process.end()

    def clear(self) -> None:
        while self._idle:
            self._idle.pop().end(kindly=False)


LOT = Lot()


def check_greeting(greeting: dict[str, Any], asked: dict[str, Any], vocabulary: str) -> None:
    """Refuses a worker whose tables are not ours; else the same number would mean another thing."""
    expected = {
        "protocol": wire.PROTOCOL,
        "version": simulator.VERSION,
        "row_bytes": wire.row_type(asked["layout"]["size"]).itemsize,
        "mask_bytes": wire.MASK_BYTES,
        "counters": list(wire.COUNTERS),
        "vocabulary": vocabulary,
        "teams": len(asked["teams"]),
    }
    for name, value in expected.items():
        if greeting.get(name) != value:
            raise SimulatorError(
                f"The simulator's worker has {name} {greeting.get(name)!r}; this JimBot needs {value!r}. "
                "Install it again with: jimbot setup vgc --force"
            )
