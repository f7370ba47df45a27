"""Who holds, and who waits for, a resource of this machine: one small file per resource, shared by its processes.

A line of the table is a grant that is held until its time is over, or a request that waits and says so again every few
milliseconds. Lines of processes that are gone and lines whose time is over count no more, so whoever is killed, or
hangs, stops nobody for long. The table is changed under a lock of the file that ends with the process that holds it.

It is used by `jimbot.runs.resources`, which has the rules; what is written here is who is first.
"""

from __future__ import annotations

import os
import struct
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from jimbot.machine import try_lock, user_name

VARIABLE = "JIMBOT_RUNTIME_DIR"
WAITS = 1.0  # seconds for which a request counts as waiting after it last said so
TRY_AGAIN = 0.0005  # seconds between two tries to get the table
LONGEST_TRY = 1.0
_ROW = struct.Struct("<QQdQqdd")
MOST_ROWS = 1024


class Row(NamedTuple):
    """A grant or a request of a process."""

    process: int
    number: int
    """Of the grant, inside its process."""
    born: float
    """When the process began, seconds since 1970: numbers of processes come again."""
    amount: int
    priority: int
    since: float
    """Since when it waits, by the machine's clock (`time.monotonic`); 0: it is held."""
    until: float
    """When its time is over, by the same clock."""


def runtime_dir() -> Path:
    """Where processes of one user on one machine meet: JIMBOT_RUNTIME_DIR, else a folder in the machine's memory."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    if base := os.environ.get("XDG_RUNTIME_DIR"):
        return Path(base) / "jimbot"
    return Path(tempfile.gettempdir()) / f"jimbot-{user_name()}"


class LeaseTable:
    """The table of one resource. Safe to use from any process and thread."""

    def __init__(self, folder: Path, resource: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
            raise PermissionError(f"{folder} belongs to somebody else")
        self._path = folder / f"{resource}.leases"
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))

    def claim(self, row: Row, capacity: int, seconds: float) -> bool:
        """Takes the resource for so long, if there is room and nobody is before this request; else it waits on."""
        with self._rows() as rows:
            now = time.monotonic()
            mine = next((one for one in rows if _same(one, row)), None)
            if mine is None:
                mine = row._replace(since=now)
            else:
                rows.remove(mine)
            held = sum(one.amount for one in rows if not one.since)
            before = any(one.since and _order(one) < _order(mine) for one in rows)
            fits = not before and row.amount <= capacity - held
            rows.append(mine._replace(since=0.0, until=now + seconds) if fits else mine._replace(until=now + WAITS))
            return fits

    def renew(self, row: Row, seconds: float) -> bool:
        """Whether it was held still, and is for so long from now on."""
        with self._rows() as rows:
            for place, one in enumerate(rows):
                if _same(one, row) and not one.since:
                    rows[place] = one._replace(until=time.monotonic() + seconds)
                    return True
            return False

    def leave(self, row: Row) -> None:
        """Neither held nor wanted any more."""
        with self._rows() as rows:
            rows[:] = [one for one in rows if not _same(one, row)]

    def wanted(self, priority: int) -> bool:
        """Whether a more important request waits."""
        with self._rows() as rows:
            return any(one.since and one.priority > priority for one in rows)

    def in_use(self) -> int:
        with self._rows() as rows:
            return sum(one.amount for one in rows if not one.since)

    @contextmanager
    def _rows(self) -> Generator[list[Row]]:
        """What counts now, to be changed; written back where it was."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)  # a lock of its own for every thread
        try:
            ends = time.monotonic() + LONGEST_TRY
            while not try_lock(descriptor):
                if time.monotonic() > ends:
                    raise TimeoutError(f"{self._path} is locked for {LONGEST_TRY:g} s")
                time.sleep(TRY_AGAIN)
            os.lseek(descriptor, 0, os.SEEK_SET)  # where there is no flock, locking moved it
            body = os.read(descriptor, MOST_ROWS * _ROW.size)
            whole = len(body) - len(body) % _ROW.size
            now = time.monotonic()
            found = [Row(*values) for values in _ROW.iter_unpack(body[:whole])]
            rows = [one for one in found if one.until > now and _lives(one)]
            yield rows
            written = b"".join(_ROW.pack(*one) for one in rows[:MOST_ROWS])
            if written != body:
                os.lseek(descriptor, 0, os.SEEK_SET)
                os.write(descriptor, written)
                os.ftruncate(descriptor, len(written))
        finally:
            os.close(descriptor)  # which ends the lock


def own_row(number: int, amount: int, priority: int) -> Row:
    """A request of this process."""
    return Row(os.getpid(), number, _born(os.getpid()), amount, priority, 0.0, 0.0)


def _same(one: Row, other: Row) -> bool:
    return one[:3] == other[:3]


def _order(row: Row) -> tuple[int, float]:
    return -row.priority, row.since


def _lives(row: Row) -> bool:
    if row.process == os.getpid():
        return row.born == _born(row.process)
    import psutil

    with suppress(psutil.Error):
        return abs(psutil.Process(row.process).create_time() - row.born) < 0.5
    return False


@cache
def _born(process: int) -> float:
    import psutil

    return psutil.Process(process).create_time()
