"""Trainings that were started from the page: ordinary commands in processes of their own, which the page may stop.

What runs is put together here out of a game that exists and a number of minutes; no text of the caller becomes part of
a command. A training that was stopped saves first, as with Ctrl+C; it ends with the page that started it.
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.contract import available_games

MOST_MINUTES = 24 * 60
LAST_LINES = 12


@dataclass
class Training:
    """One of them."""

    game: str
    minutes: int
    words: list[str]
    process: subprocess.Popen[bytes]
    log: Path
    stopped: bool = False

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def document(self) -> dict[str, Any]:
        code = self.process.poll()
        if code is None:
            state = "stopping" if self.stopped else "running"
        else:
            state = "stopped" if self.stopped else "ended" if code == 0 else "failed"
        told = {"game": self.game, "minutes": self.minutes, "command": shlex.join(self.words), "state": state}
        return {**told, "lines": _tail(self.log) if state == "failed" else []}


class Trainings:
    """Starts and stops them, in the first folder of runs."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._last: Training | None = None
        self._lock = threading.Lock()

    def document(self) -> dict[str, Any]:
        """Which games there are, and what was started last."""
        with self._lock:
            return {"games": available_games(), "training": self._last.document() if self._last else None}

    def start(self, game: str, minutes: int) -> dict[str, Any]:
        if game not in available_games():
            raise UnknownNameError("game", game, available_games())
        if not 1 <= minutes <= MOST_MINUTES:
            raise UsageError(f"minutes is {minutes}; expected 1 to {MOST_MINUTES:,}.")
        with self._lock:
            if self._last is not None and self._last.runs:
                raise UsageError(f"A training of {self._last.game} runs already; stop it first.")
            words = ["jimbot", "train", game, "--minutes", str(minutes), "--runs-dir", str(self._root)]
            log = self._root / ".page-training.log"
            self._root.mkdir(parents=True, exist_ok=True)
            with log.open("wb") as out:
                process = subprocess.Popen(
                    [sys.executable, "-m", *words], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                    start_new_session=True,
                )  # fmt: skip
            self._last = Training(game, minutes, words, process, log)
            return self._last.document()

    def stop(self) -> dict[str, Any]:
        """Asks it to save and end."""
        with self._lock:
            if self._last is None or not self._last.runs:
                raise UsageError("No training that was started here runs.")
            if not self._last.stopped:
                self._last.process.send_signal(signal.SIGTERM)
                self._last.stopped = True
            return self._last.document()

    def close(self) -> None:
        with self._lock:
            if self._last is not None and self._last.runs:
                self._last.process.send_signal(signal.SIGTERM)


def _tail(log: Path) -> list[str]:
    try:
        return log.read_text(errors="replace").splitlines()[-LAST_LINES:]
    except OSError:
        return []
