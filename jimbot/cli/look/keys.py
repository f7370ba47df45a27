"""Single key presses from a terminal, and the terminal always put back as it was.

In cbreak mode every key arrives at once and unechoed while Ctrl+C still interrupts. Off a terminal (a pipe, a test) and
where terminals know no such mode (Windows) there are no keys: `Keyboard.active` is False and `read` only waits.
"""

from __future__ import annotations

import os
import select
import sys
import time
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self

# What terminals send for arrows, in normal and in application mode.
_SEQUENCES = {
    "\x1b[A": "up", "\x1b[B": "down", "\x1b[D": "left", "\x1b[C": "right",
    "\x1bOA": "up", "\x1bOB": "down", "\x1bOD": "left", "\x1bOC": "right",
}  # fmt: skip
_NAMES = {" ": "space", "\n": "enter", "\r": "enter", "\x1b": "escape", "\x7f": "backspace", "\x04": "end"}


class Keyboard:
    """`with Keyboard() as keys: keys.read(0.5)` → the name of a key, or None when none came in time."""

    def __init__(self, wanted: bool = True) -> None:
        self.active = False
        self._wanted = wanted and sys.stdin.isatty() and find_spec("termios") is not None
        self._descriptor = -1
        self._settings: list[Any] = []

    def __enter__(self) -> Self:
        if self._wanted:
            import termios
            import tty

            self._descriptor = sys.stdin.fileno()
            self._settings = termios.tcgetattr(self._descriptor)
            tty.setcbreak(self._descriptor)
            self.active = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.active:
            import termios

            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._settings)
            self.active = False

    def read(self, seconds: float | None = None) -> str | None:
        """The next key within `seconds` (None: for ever), by name or as the character itself."""
        if not self.active:
            time.sleep(seconds or 0.0)
            return None
        if not self._ready(seconds):
            return None
        first = os.read(self._descriptor, 1).decode(errors="ignore")
        if first == "\x1b" and self._ready(0.02):  # an arrow arrives as one burst; a lone Escape does not
            first += os.read(self._descriptor, 2).decode(errors="ignore")
        if not first:
            return "end"
        return _SEQUENCES.get(first) or _NAMES.get(first) or first

    def _ready(self, seconds: float | None) -> bool:
        return bool(select.select([self._descriptor], [], [], seconds)[0])
