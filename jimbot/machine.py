"""What differs between Linux, macOS and Windows, asked in one place."""

from __future__ import annotations

import getpass
import os
import sys


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


def user_name() -> str:
    """Tells users of one machine apart, in names of folders."""
    return str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()
