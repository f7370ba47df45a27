"""The books of what advice costs: one small SQLite file for all threads and processes of a user.

Before a call its worst case is reserved, in one transaction with the sums it is held against, so no number of callers
can pass a limit together. After the call the reservation is settled with what was really used. A process that dies in
between leaves a reservation behind that stays charged in full: to a run for ever, to an hour until it is over (and
until the longest call is over with it). So what was spent is never more than what the books say, and the books never
say more than the limits allow.

Every entry is also added to the totals of its run in the same transaction; `Books.balanced` compares the two.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from jimbot.adviser.prices import NANO, Cost
from jimbot.adviser.settings import AdviserSettings
from jimbot.errors import JimbotError, UsageError
from jimbot.runs.files import open_database

FORMAT = 1
HOUR = 3600.0
LONGEST_CALL = 600.0  # seconds; no call takes longer
LOCK_SECONDS = 10.0  # to wait for other processes
OPEN = ""  # outcome of a reservation that is not settled

_TABLES = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, model TEXT NOT NULL, pid INTEGER NOT NULL,
    at REAL NOT NULL, reserved_tokens INTEGER NOT NULL, reserved_nano INTEGER NOT NULL,
    tokens INTEGER NOT NULL, nano INTEGER NOT NULL, outcome TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS entries_at ON entries (at);
CREATE TABLE IF NOT EXISTS totals (
    run TEXT PRIMARY KEY, calls INTEGER NOT NULL, tokens INTEGER NOT NULL, nano INTEGER NOT NULL);
"""


class LedgerError(JimbotError):
    """The books cannot be read or written; then nothing is spent."""


class Spent(NamedTuple):
    """Calls, tokens and money; open reservations count in full."""

    calls: int = 0
    tokens: int = 0
    nano: int = 0

    @property
    def dollars(self) -> float:
        return self.nano / NANO


@dataclass(frozen=True)
class Limits:
    """The most that may be spent."""

    hour: Spent
    run: Spent

    @classmethod
    def of(cls, settings: AdviserSettings) -> Limits:
        def most(span: str) -> Spent:
            calls, tokens, dollars = (
                getattr(settings, f"{what}_per_{span}") for what in ("calls", "tokens", "dollars")
            )
            return Spent(calls, tokens, int(dollars * NANO))

        return cls(most("hour"), most("run"))


class Reservation(NamedTuple):
    """Money reserved for one call."""

    number: int
    run: str
    cost: Cost


class Denied(NamedTuple):
    """Why nothing was reserved."""

    limit: str
    """calls_per_hour, dollars_per_run, …"""
    sentence: str


@dataclass(frozen=True)
class Books:
    """What the ledger says."""

    hour: Spent
    runs: dict[str, Spent]
    """The latest ones first."""
    all: Spent
    open: Spent
    """Reserved and not settled: calls under way, and those whose process died."""
    outcomes: dict[str, int]
    balanced: bool


class Ledger:
    """An open ledger; may be shared by threads."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path, self._clock = path, clock
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._owner = 0
        with self._transaction():
            pass  # a file that cannot be used is refused now

    def reserve(self, run: str, model: str, cost: Cost, limits: Limits) -> Reservation | Denied:
        """Reserves the worst case of a call, or says which limit it would pass."""
        with self._transaction() as database:
            now = self._clock()
            for span, spent, most in (
                ("hour", self._hour(database, now), limits.hour),
                ("run", self._run(database, run), limits.run),
            ):
                denied = _denied(span, spent, most, cost)
                if denied is not None:
                    return denied
            done = database.execute(
                "INSERT INTO entries (run, model, pid, at, reserved_tokens, reserved_nano, tokens, nano) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (run, model, os.getpid(), now + LONGEST_CALL, *cost, *cost),
            )
            database.execute(
                "INSERT INTO totals (run, calls, tokens, nano) VALUES (?, 1, ?, ?) ON CONFLICT (run) DO UPDATE SET "
                "calls = calls + 1, tokens = tokens + excluded.tokens, nano = nano + excluded.nano",
                (run, *cost),
            )
            return Reservation(int(done.lastrowid or 0), run, cost)

    def settle(self, reservation: Reservation, cost: Cost, outcome: str) -> None:
        """Charges what a call really took in place of its reservation; a second time changes nothing."""
        if not outcome:
            raise UsageError("A settled call has an outcome; got none.")
        with self._transaction() as database:
            done = database.execute(
                "UPDATE entries SET tokens = ?, nano = ?, outcome = ?, at = ? WHERE id = ? AND outcome = ?",
                (*cost, outcome, self._clock(), reservation.number, OPEN),
            )
            if done.rowcount == 1:
                database.execute(
                    "UPDATE totals SET tokens = tokens + ?, nano = nano + ? WHERE run = ?",
                    (cost.tokens - reservation.cost.tokens, cost.nano - reservation.cost.nano, reservation.run),
                )

    def books(self, most_runs: int = 20) -> Books:
        with self._transaction() as database:
            latest = database.execute(
                "SELECT run FROM entries GROUP BY run ORDER BY max(id) DESC LIMIT ?", (most_runs,)
            ).fetchall()
            entries = "SELECT run, count(*), sum(tokens), sum(nano) FROM entries GROUP BY run"
            totals = "SELECT run, calls, tokens, nano FROM totals"
            uneven = [
                database.execute(f"{one} EXCEPT {other}").fetchone()
                for one, other in ((entries, totals), (totals, entries))
            ]
            outcomes = database.execute("SELECT outcome, count(*) FROM entries GROUP BY outcome ORDER BY outcome")
            return Books(
                hour=self._hour(database, self._clock()),
                runs={run: self._run(database, run) for (run,) in latest},
                all=_sum(database, "1"),
                open=_sum(database, "outcome = ''"),
                outcomes={name or "open": count for name, count in outcomes},
                balanced=uneven == [None, None],
            )

    def close(self) -> None:
        with self._lock:
            if self._database is not None and self._owner == os.getpid():
                self._database.close()
            self._database = None

    # --- inside ---

    def _hour(self, database: sqlite3.Connection, now: float) -> Spent:
        return _sum(database, "at > ?", now - HOUR)

    def _run(self, database: sqlite3.Connection, run: str) -> Spent:
        found = database.execute("SELECT calls, tokens, nano FROM totals WHERE run = ?", (run,)).fetchone()
        return Spent(*found) if found else Spent()

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        """Alone with the file; all of it happens or nothing."""
        with self._lock:
            try:
                database = self._connected()
                database.execute("BEGIN IMMEDIATE")
                try:
                    yield database
                except BaseException:
                    database.execute("ROLLBACK")
                    raise
                database.execute("COMMIT")
            except sqlite3.Error as problem:
                raise LedgerError(
                    f"The adviser's ledger {self.path} cannot be used: {problem}. Nothing was asked; move the file "
                    "away to begin new books."
                ) from problem

    def _connected(self) -> sqlite3.Connection:
        if self._database is None or self._owner != os.getpid():  # a connection must not cross a fork
            self._database, self._owner = self._opened(), os.getpid()
        return self._database

    def _opened(self) -> sqlite3.Connection:
        # A reservation outlives a power cut: the call may have been made.
        database = open_database(self.path, LOCK_SECONDS, power_safe=True)
        found = database.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, FORMAT):
            database.close()
            raise LedgerError(
                f"The adviser's ledger {self.path} has format {found}; this JimBot knows {FORMAT}. Nothing was asked; "
                "update JimBot, or name another file."
            )
        database.execute("BEGIN IMMEDIATE")
        for statement in _TABLES.split(";"):
            database.execute(statement)
        database.execute(f"PRAGMA user_version={FORMAT}")
        database.execute("COMMIT")
        return database


def _sum(database: sqlite3.Connection, condition: str, *values: Any) -> Spent:
    """`condition` is a text of this module."""
    query = f"SELECT count(*), coalesce(sum(tokens), 0), coalesce(sum(nano), 0) FROM entries WHERE {condition}"
    return Spent(*database.execute(query, values).fetchone())


def _denied(span: str, spent: Spent, most: Spent, cost: Cost) -> Denied | None:
    for what, used, wanted, limit, unit in (
        ("calls", spent.calls, 1, most.calls, 1),
        ("tokens", spent.tokens, cost.tokens, most.tokens, 1),
        ("dollars", spent.nano, cost.nano, most.nano, NANO),
    ):
        if used + wanted > limit:
            name = f"{what}_per_{span}"
            return Denied(
                name, f"{name} is {limit / unit:g}: {used / unit:g} are spent or reserved, and this call may take "
                f"{wanted / unit:g} more.",
            )  # fmt: skip
    return None
