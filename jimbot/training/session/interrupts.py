"""Ctrl+C and SIGTERM as a request to end well: the first one asks, the second one ends at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether somebody asked to stop, and how."""

    reason: str | None = None


@contextmanager
def stop_requests(note: Callable[[], None]) -> Generator[StopRequest]:
    """While the body runs, the first signal fills in the request (and calls `note`); a second one interrupts.

    Only the main thread can be asked; elsewhere the request stays empty.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def interrupt(number: int, _: FrameType | None) -> None:
        if request.reason:
            raise KeyboardInterrupt
        request.reason = "stopped by Ctrl+C" if number == signal.SIGINT else "stopped by SIGTERM"
        note()

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
