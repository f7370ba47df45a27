"""The one way files that matter reach the disk: complete or invisible.

Everything is first written under a temporary name beside its destination, flushed and synced, and then renamed; the
parent directory is synced last. A process killed at any instant leaves either the old content or the new one, and at
most a leftover with a `.tmp-` name, which the next writer sweeps away.

A directory cannot be renamed over another one. Linux can swap two names in one step, which is used where the file
system offers it. Elsewhere the old directory moves to `.aside-<name>` first; between the two renames only the aside
exists, so `visible_directories` counts an aside without its successor as the directory itself and nothing is lost.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from jimbot.errors import NotWritableError, StorageError, UnreadableError
from jimbot.reading.plain import file_text, json_value

WRONG_PLACE = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP,
    errno.EINVAL,
}  # fmt: skip
"""What is wrong with a place, not with the disk: the caller can name another one."""

TEMPORARY = ".tmp-"
ASIDE = ".aside-"

_token = secrets.token_hex(4)  # tells this process from a dead one that had the same process number
_serial = count()


@contextmanager
def storing(path: Path) -> Generator[None]:
    """Turns any failure of the disk below into one sentence."""
    try:
        yield
    except OSError as problem:
        cause = problem.strerror or str(problem)
        kind, advice = (
            (NotWritableError, "choose a place that can be written")
            if problem.errno in WRONG_PLACE
            else (StorageError, "make room or choose another disk")
        )
        raise kind(f"Could not write {path}: {cause}. What was there before is untouched; {advice}.") from problem


def make_directory(path: Path) -> None:
    """Creates a directory and its parents; one that is there already is fine."""
    with storing(path):
        path.mkdir(parents=True, exist_ok=True)


def open_database(path: Path, seconds: float, power_safe: bool = False) -> sqlite3.Connection:
    """The one way a SQLite file is opened: by many threads and processes at once, each waiting so many `seconds` for
    its turn to write. `power_safe`: what was written outlives a power cut."""
    make_directory(path.parent)
    database = sqlite3.connect(path, timeout=seconds, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute(f"PRAGMA synchronous={'FULL' if power_safe else 'NORMAL'}")
    return database


def write_atomically(path: Path, data: bytes) -> None:
    """Puts `data` at `path` so that readers see the old content or the new one, never a part."""
    path = Path(path)
    with storing(path):
        temporary = _temporary_sibling(path)
        try:
            _write_synced(temporary, data)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


@contextmanager
def file_in_progress(path: Path) -> Generator[Path]:
    """For files that grow over time: write to the name given; the file appears at `path` when the body ends well."""
    path = Path(path)
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
    temporary = _temporary_sibling(path)
    try:
        yield temporary
        with storing(path):
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
            sync_directory(path.parent)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def write_directory_atomically(path: Path, fill: Callable[[Path], None]) -> None:
    """Builds a directory with `fill(temporary directory)` and makes it visible at `path` in one step."""
    path = Path(path)
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary_sibling(path)
        try:
            temporary.mkdir()
            fill(temporary)
            _sync_tree(temporary)
            _put_in_place(temporary, path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def check_target(path: Path, what: str = "--output") -> None:
    """Raises before any work is done if a file could not be written at `path`; `what` is the flag that named it.

    Nothing is left behind: the file itself is not touched, and its folder is tried with a file of another name.
    """
    place = path.absolute().parent
    if path.is_dir():
        raise NotWritableError(f"{what} {path} is a folder; give the name of a file.")
    if not place.is_dir():
        raise NotWritableError(f"{what} {path} lies in '{place}', which is no folder; create it first.")
    try:
        trial = _temporary_sibling(path.absolute())
        trial.touch()
        trial.unlink()
    except (OSError, ValueError) as problem:
        cause = getattr(problem, "strerror", None) or problem
        raise NotWritableError(f"{what} {path} cannot be written: {cause}. Choose another place.") from problem


def remove_directory(path: Path) -> None:
    """Deletes a directory so that no half-deleted one is ever visible under its name."""
    temporary = _temporary_sibling(path)
    os.rename(path, temporary)
    shutil.rmtree(temporary, ignore_errors=True)


def visible_directories(parent: Path) -> dict[str, Path]:
    """The directories in `parent` by name, asides standing in for a replacement that never arrived."""
    try:
        entries = [entry for entry in parent.iterdir() if entry.is_dir()]
    except OSError:
        return {}
    found = {entry.name: entry for entry in entries if not entry.name.startswith(".")}
    for entry in entries:
        if entry.name.startswith(ASIDE):
            found.setdefault(entry.name.removeprefix(ASIDE), entry)
    return found


def sweep(parent: Path) -> None:
    """Clears what dead processes left in `parent`: temporaries go, an aside without successor gets its name back."""
    for entry in parent.iterdir():
        if entry.name.startswith(TEMPORARY) and _owner_is_gone(entry):
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
        elif entry.name.startswith(ASIDE):
            final = parent / entry.name.removeprefix(ASIDE)
            if final.exists():
                remove_directory(entry)
            else:
                os.rename(entry, final)


def sync_directory(path: Path) -> None:
    """Makes renames inside a directory survive a power cut; Windows opens no directories and does it by itself."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_text(path: Path) -> str | None:
    """The text of a small file, or None if it is missing or not text."""
    try:
        return file_text(path)
    except UnreadableError:
        return None


def read_json(path: Path) -> Any:
    """The value in a JSON file, or None if it is missing or not JSON."""
    text = read_text(path)
    try:
        return None if text is None else json_value(text, constants=True)
    except UnreadableError:
        return None


def _temporary_sibling(path: Path) -> Path:
    return path.parent / f"{TEMPORARY}{os.getpid()}-{_token}-{next(_serial)}-{path.name.removeprefix(ASIDE)}"


def _write_synced(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_tree(root: Path) -> None:
    for folder, _, names in os.walk(root):
        for name in names:
            with open(os.path.join(folder, name), "rb+") as file:
                os.fsync(file.fileno())
        sync_directory(Path(folder))


def _put_in_place(temporary: Path, path: Path) -> None:
    """Gives a synced temporary directory its name; what had the name before goes, afterwards."""
    old: Path | None = None
    if not path.exists():
        os.rename(temporary, path)
    elif _exchange(temporary, path):
        old = temporary
    else:
        old = path.parent / f"{ASIDE}{path.name}"
        if old.exists():
            remove_directory(old)
        os.rename(path, old)
        try:
            os.rename(temporary, path)
        except OSError:
            os.rename(old, path)
            raise
    sync_directory(path.parent)
    if old is not None:
        with suppress(OSError):  # the new directory is in place; the next sweep gets rid of the old one
            remove_directory(old)


def _exchange(one: Path, other: Path) -> bool:
    """Swaps two names in one step; False where the system or file system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    current_directory, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE of Linux
    arguments = (current_directory, os.fsencode(one), current_directory, os.fsencode(other), exchange)
    return renameat2(*arguments) == 0


def _owner_is_gone(entry: Path) -> bool:
    """Whether the process that made a temporary is dead, also when its number was given to another one since."""
    pid_text, _, rest = entry.name.removeprefix(TEMPORARY).partition("-")
    if not pid_text.isdigit():
        return False
    pid = int(pid_text)
    if pid == os.getpid():
        return not rest.startswith(_token)
    import psutil

    try:
        return psutil.Process(pid).create_time() > entry.stat().st_ctime + 1.0
    except psutil.NoSuchProcess:
        return True
    except (psutil.Error, OSError):
        return False
