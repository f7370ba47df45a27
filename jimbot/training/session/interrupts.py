"""Ctrl+C, SIGTERM and a closed terminal as a request to end well: the first one asks, the second one ends at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from types import FrameType

REASONS = {
    "SIGINT": "stopped by Ctrl+C",
    "SIGTERM": "stopped by SIGTERM",
    "SIGHUP": "stopped because the terminal was closed (SIGHUP)",
}
"""By name: Windows has no SIGHUP."""


class StopRequest:
    """Whether a stop was asked for, and how."""

    reason: str | None = None
    at_once: bool = False
    """Whether already the first signal interrupts: what runs can be given up, and saving must not wait for it."""


@contextmanager
def stop_requests(note: Callable[[], None]) -> Generator[StopRequest]:
    """While the body runs, the first signal fills in the request (and calls `note`); a second one interrupts.

    Only the main thread can be asked; elsewhere the request stays empty. A signal that this process was told to ignore
    (`nohup`) stays ignored.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    known = {getattr(signal, name): reason for name, reason in REASONS.items() if hasattr(signal, name)}

    terminals = [stream for stream in (0, 1, 2) if os.isatty(stream)]  # once it is closed nobody can tell any more

    def interrupt(number: int, _: FrameType | None) -> None:
        if known[number] == REASONS["SIGHUP"]:
            leave(terminals)
        if request.reason:
            raise KeyboardInterrupt
        request.reason = known[number]
        note()
        if request.at_once:
            raise KeyboardInterrupt

    ignored = (signal.SIGINT, signal.SIGTERM)  # these ask us in any case
    wanted = [number for number in known if number in ignored or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in wanted}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave(terminals: Iterable[int]) -> None:
    """After a hang-up every word to the terminal is an error, which must not keep a run from being saved."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in terminals:
        os.dup2(nowhere, stream)
    os.close(nowhere)
