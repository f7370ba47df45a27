"""Watches the parent: a child whose parent is gone must not stay behind, however the parent ended.

A child's standard input is a pipe that only its supervisor holds. When it ends, the supervisor is gone (kill -9
included, since the kernel closes what a process held), and the child asks itself to stop as anybody would (SIGTERM),
and leaves in any case after a moment. The same holds for whatever the child started itself in this way.
"""

from __future__ import annotations

import os
import signal
import threading
import time

LEAVE_SECONDS = 12.0  # for what was begun; a decision service takes ten


def end_with_parent(descriptor: int = 0) -> None:
    """Watches from a thread."""
    threading.Thread(target=_watch, args=(descriptor,), name="jimbot-parent-watch", daemon=True).start()


def _watch(descriptor: int) -> None:
    try:
        while os.read(descriptor, 4096):
            continue
    except OSError:
        pass  # closed by somebody here: as good as ended
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(LEAVE_SECONDS)
    os._exit(1)
