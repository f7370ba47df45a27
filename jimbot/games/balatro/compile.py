"""The one way this package compiles: decorator options, and a disk cache that cannot go stale.

Numba's own cache notices a change in the file of a function, but not a change in another module's constant, in a JSON
table or in the compile options; all of these end up inside the machine code here. So the cache lives in a directory
named by a hash of every source, every table and every option: any change means a new directory, and old ones are
swept away when nobody has used them for a month.

Environment:
- `NUMBA_DISABLE_JIT=1` runs the same functions as plain Python (debugger, tests).
- `JIMBOT_BOUNDSCHECK=1` compiles with array bounds checks (the long tests).
- `JIMBOT_CACHE_DIR` moves the cache; by default the user's cache directory.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

_numba_settings: Any = numba.config  # its members are made at run time
PACKAGE = Path(__file__).resolve().parent
_UNUSED_AFTER_SECONDS = 30 * 24 * 3600

JIT_DISABLED = bool(_numba_settings.DISABLE_JIT)
BOUNDSCHECK = os.environ.get("JIMBOT_BOUNDSCHECK", "0") not in ("", "0")

# fastmath stays off for ever: draws must be bit-exact and scores must overflow to inf, not to garbage.
# error_model "numpy": a division by zero gives inf or nan as in the original game instead of raising.
OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "fastmath": False,
    "error_model": "numpy",
    "boundscheck": BOUNDSCHECK,
}


def source_fingerprint(package: Path = PACKAGE, options: dict[str, Any] = OPTIONS) -> str:
    """A hash of everything that can change the compiled code of this package."""
    digest = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.json")]):
        digest.update(str(path.relative_to(package)).encode() + b"\0")
        digest.update(path.read_bytes())
    digest.update(repr(sorted(options.items())).encode())
    digest.update(f"{numba.__version__} {sys.version_info[:3]}".encode())
    return digest.hexdigest()[:20]


def cache_root() -> Path:
    """Where the caches of all versions live."""
    if chosen := os.environ.get("JIMBOT_CACHE_DIR"):
        return Path(chosen) / "balatro"
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "jimbot" / "balatro"


def _usable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        os.utime(directory)  # the sweep below goes by this date
    except OSError:
        return False
    return os.access(directory, os.W_OK)


def _sweep(root: Path, keep: Path) -> None:
    """Removes caches nobody has started with for a month; a failure only leaves an old directory behind."""
    for old in root.iterdir():
        try:
            if old != keep and old.is_dir() and time.time() - old.stat().st_mtime > _UNUSED_AFTER_SECONDS:
                shutil.rmtree(old, ignore_errors=True)
        except OSError:
            continue


def prepare_cache() -> Path:
    """Points Numba at the cache of exactly this code and returns the directory."""
    directory = cache_root() / source_fingerprint()
    if not _usable(directory):  # a read-only home: compile anew per user and boot rather than fail
        directory = Path(tempfile.gettempdir()) / f"jimbot-{os.getuid()}" / "balatro" / directory.name
        directory.mkdir(parents=True, exist_ok=True)
    _sweep(directory.parent, directory)
    return directory


CACHE_DIRECTORY = None if JIT_DISABLED else prepare_cache()

Function = TypeVar("Function", bound=Callable[..., Any])


def njit(function: Function) -> Function:
    """Compiles a function with the package's options into the package's own cache directory.

    Numba reads its cache directory once, when a function is decorated, so it is set for that moment only: other
    packages that use Numba in the same process keep theirs.
    """
    if JIT_DISABLED:
        return function
    previous = _numba_settings.CACHE_DIR
    _numba_settings.CACHE_DIR = str(CACHE_DIRECTORY)
    try:
        return numba.njit(**OPTIONS)(function)
    finally:
        _numba_settings.CACHE_DIR = previous
