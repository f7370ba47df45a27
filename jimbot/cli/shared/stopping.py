"""How commands end: servers when they are asked to, and everything at Ctrl+C, at once and in order, at any moment."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from importlib.machinery import ExtensionFileLoader
from typing import Any, NoReturn

GRACE_SECONDS = 1.0
"""How long the interpreter may take to notice Ctrl+C before the process is ended from beside it."""
INTERRUPTED = 130
AGAIN = 255
"""Beside the numbers of signals: the last Ctrl+C was thrown away."""
AGAIN_SECONDS = 0.05
SHOW_CURSOR = "\x1b[?25h"


def until_stopped(run: Callable[..., Any], *args: Any, **settings: Any) -> None:
    """Runs a server until the user ends it, and goes on behind the call in any case.

    uvicorn raises the signal it was ended with once more when it has ended; SIGTERM's usual answer would be the end of
    the process there and then, with files open and the last words unsaid.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            run(*args, **settings)
    finally:
        signal.signal(signal.SIGTERM, before)


class CtrlC:
    """Watches for Ctrl+C beside the command, for the four things Python does not do by itself.

    Compilers (XLA, LLVM) do not return to the interpreter for up to a minute, and it is the interpreter that raises
    KeyboardInterrupt: when it has not moved a second later, and the command has no answer of its own (training saves),
    the process is ended from this thread. Everything that matters on disk is complete or invisible, so nothing is lost.

    Where the interpreter gets its turn inside a destructor or a callback of the garbage collector (JAX has one), it
    throws the exception away; it is raised again.

    And an exception in the middle of a compilation leaves half a program behind, whose parts the interpreter would take
    down in an order that ends in a segmentation fault: after Ctrl+C the process leaves without that (`leave`).

    One that is raised inside a C extension while it is imported is as bad (jaxlib): it waits until that is done.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.came = False
        self._say, self._terminal = say, _terminal_settings()
        self._main = threading.main_thread().ident or 0
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
        for step in ("create_module", "exec_module"):
            setattr(ExtensionFileLoader, step, undisturbed(getattr(ExtensionFileLoader, step)))
        self._unraisable, sys.unraisablehook = sys.unraisablehook, self._thrown_away
        threading.Thread(target=self._watch, name="jimbot-ctrl-c", daemon=True).start()

    def leave(self, code: int) -> NoReturn:
        """Ends the process as `sys.exit` does, without taking the interpreter down piece by piece.

        JAX's own clean-up is left out: in the caches that it clears there may be half a program.
        """
        with suppress(Exception):
            atexit.unregister(sys.modules["jax._src.api"].clean_up)
        with suppress(Exception):
            atexit._run_exitfuncs()
        self._go(code)

    def _go(self, code: int) -> NoReturn:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)

    def _watch(self) -> None:
        while numbers := os.read(self._reader, 16):
            if AGAIN in numbers:
                time.sleep(AGAIN_SECONDS)
                signal.pthread_kill(self._main, signal.SIGINT)
            if signal.SIGINT not in numbers:
                continue
            self.came = True
            before = self._position()
            time.sleep(GRACE_SECONDS)
            if self._position() == before and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                self._restore_terminal()
                self._say("Interrupted.")
                self._go(INTERRUPTED)

    def _thrown_away(self, lost: Any) -> None:
        """Python's hook for exceptions that nobody can catch."""
        if lost.exc_type is KeyboardInterrupt:
            os.write(self._writer, bytes([AGAIN]))
        else:
            self._unraisable(lost)

    def _position(self) -> tuple[int, int]:
        """Where the command is: the same twice means that the interpreter did not get a turn in between."""
        frame = sys._current_frames().get(self._main)
        return (id(frame), frame.f_lasti) if frame is not None else (0, 0)

    def _restore_terminal(self) -> None:
        if self._terminal is None:
            return
        import termios

        with suppress(termios.error, OSError, ValueError):
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._terminal)
            sys.stderr.write(SHOW_CURSOR)


def undisturbed(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step that Ctrl+C does not interrupt: it is raised at the end, and what was made stays for good."""
    kept: list[Any] = []

    @wraps(step)
    def whole(*args: Any) -> Any:
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if not usual or threading.current_thread() is not threading.main_thread():
            return step(*args)
        came: list[int] = []
        signal.signal(signal.SIGINT, lambda number, _: came.append(number))
        try:
            kept.append(step(*args))  # taking down a module that is half imported is the same crash
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if came:
                raise KeyboardInterrupt
        return kept.pop()

    return whole


def _terminal_settings() -> list[Any] | None:
    """Of the terminal the caller types at, before anything changes them."""
    try:
        import termios

        return termios.tcgetattr(sys.stdin.fileno())
    except (ImportError, OSError, ValueError, AttributeError):  # no terminal, no stdin, not Unix
        return None
    except termios.error:
        return None
