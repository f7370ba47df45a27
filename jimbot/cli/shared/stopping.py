"""How a command that serves ends: Ctrl+C and SIGTERM are the usual ends of it, not failures."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def until_stopped(run: Callable[..., Any], *args: Any, **settings: Any) -> None:
    """Runs a server until somebody ends it, and goes on behind the call in any case.

    uvicorn raises the signal it was ended with once more when it has ended; SIGTERM's usual answer would be the end of
    the process there and then, with files open and the last words unsaid.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            run(*args, **settings)
    finally:
        signal.signal(signal.SIGTERM, before)
