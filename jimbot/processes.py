"""Child processes: how one is started, becomes ready, says what went wrong, and ends for certain."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

HOST = "127.0.0.1"
LEAVE_SECONDS = 12.0  # for what was begun; a decision service takes ten
LOOK_SECONDS = 0.01
TAIL_BYTES = 1 << 16
PR_SET_PDEATHSIG = 1  # of Linux' prctl(2)


class Child(subprocess.Popen[bytes]):
    """A program in a group of its own: Ctrl+C is its parent's to handle, and whatever it starts ends with it.

    `session`: it may outlive the terminal and its parent. `with_parent`: Linux ends it when the thread that started it
    is gone, so start it in the main thread of a program without JAX, whose threads a fork does not survive. A program
    that reads its input until that ends (`stdin=PIPE`) sees to it itself, everywhere.
    """

    def __init__(
        self, command: Sequence[str], log: IO[bytes] | int | None = subprocess.DEVNULL, session: bool = False,
        with_parent: bool = False, **more: Any,
    ) -> None:  # fmt: skip
        self._ended = False
        own: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "start_new_session": session}
        if os.name == "posix" and not session:
            own["process_group"] = 0
        if with_parent and sys.platform == "linux":
            own["preexec_fn"] = _die_with_parent
        super().__init__(command, **{**own, **more})

    def becomes(self, ready: Callable[[], bool], seconds: float) -> bool:
        """Whether it is ready in time; no if it has ended."""
        return wait_for(lambda: self.poll() is not None or ready(), seconds) and self.returncode is None

    def end(self, seconds: float = LEAVE_SECONDS, ask: bool = True) -> None:
        """Asks it to end, by its input or a signal, and kills it with what it started when it has not after so many
        seconds. A second call does nothing."""
        if self._ended:
            return
        if ask and self.stdin is not None:
            self._close()
        elif ask:
            self.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.wait(max(0.0, seconds))
        with suppress(OSError):  # nothing is left
            if os.name == "posix":
                os.killpg(self.pid, signal.SIGKILL)
            else:
                self.kill()
        self.wait()
        self._close()
        self._ended = True

    def _close(self) -> None:
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _die_with_parent() -> None:
    """In the child, before it begins."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def end_with_parent(descriptor: int = 0) -> None:
    """To be called in a child, which must not stay behind however its parent ended.

    Its standard input is a pipe that only its parent holds. When it ends, the parent is gone (kill -9 included, since
    the kernel closes what a process held), and the child asks itself to stop (SIGTERM), and leaves in any case after a
    moment. The same holds for whatever the child started itself in this way.
    """
    threading.Thread(target=_watch, args=(descriptor,), name="jimbot-parent-watch", daemon=True).start()


def _watch(descriptor: int) -> None:
    with suppress(OSError):  # closed in this process: as good as ended
        while os.read(descriptor, 4096):
            continue
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(LEAVE_SECONDS)
    os._exit(1)


def temporary_log() -> BinaryIO:
    """A file without a name, which a child appends to while it is read; it goes when it is closed."""
    with tempfile.NamedTemporaryFile() as named:
        return open(named.name, "a+b")


def tail(log: Path | BinaryIO) -> str:
    """The end of what was written so far; empty where nothing can be read."""
    with suppress(OSError), open(log if isinstance(log, Path) else os.dup(log.fileno()), "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        return file.read().decode(errors="replace")
    return ""


def last_line(text: str) -> str:
    """The last line that is not empty, for sentences about errors."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def wait_for(met: Callable[[], bool], seconds: float) -> bool:
    """Whether something comes true in time."""
    ends = time.monotonic() + seconds
    while not met():
        if time.monotonic() > ends:
            return False
        time.sleep(LOOK_SECONDS)
    return True


def listens(port: int) -> bool:
    """Whether a server accepts connections there."""
    with suppress(OSError):
        socket.create_connection((HOST, port), 1).close()
        return True
    return False


def free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return free.getsockname()[1]
