"""What differs between Linux, macOS and Windows, asked in one place."""

from __future__ import annotations

import getpass
import os
import sys
from contextlib import suppress
from importlib import import_module, util
from pathlib import Path
from typing import Any

first_frame_first = False
"""Whether a person waits for a first picture, see `prefer_first_frame`."""


def prefer_first_frame() -> None:
    """For commands with which people look at single games: what has to be compiled may run slowly at first."""
    global first_frame_first
    first_frame_first = True


def usable_cores() -> int:
    """Cores this process may use; where the system cannot say (macOS, Windows), all there are.

    >>> usable_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak_memory_mb() -> float:
    """The most memory this process ever held."""
    try:
        import resource
    except ImportError:  # Windows
        import psutil

        return psutil.Process().memory_info().peak_wset / 2**20
    unit = 2**20 if sys.platform == "darwin" else 2**10  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def cache_folder(name: str) -> Path:
    """A folder of `$JIMBOT_CACHE_DIR`, else of `jimbot` in the user's cache directory; it need not exist."""
    if chosen := os.environ.get("JIMBOT_CACHE_DIR"):
        return Path(chosen) / name
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "jimbot" / name


def user_name() -> str:
    """Tells users of one machine apart, in names of folders."""
    return str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()


# --- a lock on a file that ends with the process that holds it ---

# POSIX has `flock`. Windows has byte-range locks, which keep others from reading what is locked, so there the byte lies
# far behind the text that says who holds it.


_system: Any = import_module("fcntl" if util.find_spec("fcntl") else "msvcrt")
FAR = 2**30


def try_lock(descriptor: int) -> bool:
    """Takes the lock of an open file for this process; False if another one has it."""
    try:
        if hasattr(_system, "flock"):
            _system.flock(descriptor, _system.LOCK_EX | _system.LOCK_NB)
        else:
            os.lseek(descriptor, FAR, os.SEEK_SET)
            _system.locking(descriptor, _system.LK_NBLCK, 1)
    except OSError:
        return False
    return True


def write_holder(descriptor: int, text: str) -> None:
    """Leaves who holds the lock in the file, for the sentence the next one gets."""
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, text.encode())


def read_holder(descriptor: int) -> str:
    with suppress(OSError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        return os.read(descriptor, 32).decode(errors="replace").strip()
    return ""
