"""The other end of the leash: a child whose parent is gone must not stay behind, however the parent ended.

A child's standard input is a pipe that only its keeper holds. When it ends, the keeper is gone (kill -9 included, since
the kernel closes what a process held), and the child asks itself to stop as anybody would (SIGTERM), and leaves in any
case after a moment. The same holds for whatever the child started itself, on leashes of their own.
"""

from __future__ import annotations

import os
import signal
import threading
import time

LEAVE_SECONDS = 12.0  # for what was begun; a decision service takes ten


def wait_for_the_end(descriptor: int = 0) -> None:
    """Watches the leash from a thread."""
    threading.Thread(target=_watch, args=(descriptor,), name="jimbot-leash", daemon=True).start()


def _watch(descriptor: int) -> None:
    try:
        while os.read(descriptor, 4096):
            continue
    except OSError:
        pass  # closed by somebody here: as good as ended
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(LEAVE_SECONDS)
    os._exit(1)
