"""A lock on a file that ends with the process that holds it, on every system.

POSIX has `flock`. Windows has byte-range locks, which keep others from reading what is locked, so there the byte lies
far behind the text that says who holds it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module, util
from typing import Any

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
