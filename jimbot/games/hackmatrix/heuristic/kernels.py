"""How this package compiles: with Numba, kept on disk; one thread may think while another plays.

Numba notices a change in the file of a function, but not in what that function calls. So the machine code lies in a
directory named by a hash of every source that can reach it (all but `PLAIN`): any change means a new directory.
`JIMBOT_CACHE_DIR` moves it; by default it is in the user's cache directory.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

from jimbot.machine import cache_folder, user_name

Function = TypeVar("Function", bound=Callable[..., Any])

PLAIN = ("__init__.py", "reading.py")
"""Never inside machine code."""
_HERE = Path(__file__).resolve().parent
_settings: Any = numba.config  # its members are made at run time


@cache
def cache_directory() -> str:
    """Where the machine code of exactly these sources lies, made if need be."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:3]}".encode())
    for path in sorted([*_HERE.glob("*.py"), _HERE.parent / "spec.py"]):
        if path.name not in PLAIN:
            digest.update(path.read_bytes())
    spare = Path(tempfile.gettempdir()) / f"jimbot-{user_name()}" / "hackmatrix"  # for a read-only home
    for place in (cache_folder("hackmatrix"), spare):
        directory = place / digest.hexdigest()[:20]
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(directory, os.W_OK):
            break
    return str(directory)


def njit(function: Function) -> Function:
    """Compiles a function on its first call, or loads it."""
    previous = _settings.CACHE_DIR  # read when a function is decorated; others keep theirs
    _settings.CACHE_DIR = cache_directory()
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)  # ty: ignore[invalid-return-type]
    finally:
        _settings.CACHE_DIR = previous
