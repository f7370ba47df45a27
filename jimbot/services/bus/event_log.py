"""The log of the embedded bus: one SQLite file in WAL mode, written by one thread per process.

Whoever publishes hands his event to that thread; it takes all that wait, writes them by one transaction and reports the
places. A commit is in the hands of the operating system, so kill -9 of any process loses nothing that was reported; the
power may (`PRAGMA synchronous=NORMAL` syncs at checkpoints only), and `power_safe` closes that gap at the price of one
sync of the disk per transaction. Other processes on the machine may open the same file: they call each other
(`ears.py`), and the thread looks for what they wrote many times a second besides. (Not over network file systems, where
SQLite's locks cannot be trusted.) Only that thread ever waits for a lock that another process holds.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from jimbot.clients.bus_contract import BusSettings
from jimbot.errors import BusError, NotWritableError, UsageError
from jimbot.proto.topics import TOPICS
from jimbot.services.bus.ears import TABLE as EARS
from jimbot.services.bus.ears import Ear, Voice, forget_the_dead

FORMAT = 1
LOOK_EVERY = 0.02  # seconds between two looks for what other processes wrote
TRIM_EVERY = 30.0
BATCH = 2000  # events per transaction
MOST_WAITING = 100_000  # events not yet written; a disk that stalls longer than that refuses them
LOOK = "look"  # among what waits to be written: another process has written
_FIGURES = [name.removesuffix("*") for name, about in TOPICS.items() if not about.durable]

_TABLES = """
CREATE TABLE IF NOT EXISTS events (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT, event_id TEXT NOT NULL UNIQUE, topic TEXT NOT NULL,
    time REAL NOT NULL, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS readers (
    name TEXT PRIMARY KEY, position INTEGER NOT NULL, durable INTEGER NOT NULL, holder TEXT NOT NULL DEFAULT '',
    lease REAL NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS events_by_topic ON events (topic);
"""


class Row(NamedTuple):
    sequence: int
    topic: str
    body: bytes


class Entry(NamedTuple):
    """An event to be written, and who is told of its place (or of what went wrong)."""

    event_id: str
    topic: str
    body: bytes
    told: Callable[[int | Exception, bool], None] | None
    """(place, whether the log had it already)."""


class Claim(NamedTuple):
    """The wish to be the one process that reads under a name for some seconds, and who is told whether it is."""

    reader: str
    holder: str
    seconds: float
    told: Callable[[bool], None]


class EventLog:
    """An open log."""

    def __init__(self, path: Path, settings: BusSettings) -> None:
        self.path, self._settings = path, settings
        self._sync = "FULL" if settings.power_safe else "NORMAL"
        self._waiting: queue.Queue[Any] = queue.Queue(MOST_WAITING)  # entries, claims, other work, LOOK; None: the end
        self._ear: Ear | None = None
        self._wake: list[Callable[[], None]] = []
        self._reading = self._connect()
        self._reading_lock = threading.Lock()
        self._thread = threading.Thread(target=self._write, name="jimbot-bus-log", daemon=True)
        self._thread.start()

    # --- writing ---

    def append(self, entry: Entry) -> None:
        """Returns at once; a log that cannot keep up refuses."""
        self._put(entry)

    def acknowledge(self, reader: str, position: int) -> None:
        """A durable reader has handled everything up to here. Written with the next transaction."""
        self._put(
            lambda database: database.execute(
                "UPDATE readers SET position = ? WHERE name = ? AND position < ?", (position, reader, position)
            )
        )

    def on_news(self, wake: Callable[[], None]) -> Callable[[], None]:
        """`wake` is called (in the log's thread) after something was written by whomever; returns how to end that."""
        self._wake.append(wake)
        return lambda: self._wake.remove(wake) if wake in self._wake else None

    def listen(self) -> None:
        """Wants to be called when other processes write, instead of finding out at the next look."""
        if self._ear is None:
            with suppress(OSError):  # no port: looking will do
                self._ear = Ear(lambda: self._put(LOOK))
                self._put(self._ear.enter)

    def close(self) -> None:
        """Everything appended is written."""
        if self._ear is not None:
            self._waiting.put(self._ear.leave)
            self._ear.close()
        self._waiting.put(None)
        self._thread.join(30)
        with self._reading_lock:
            self._reading.close()

    # --- reading ---

    def read(self, after: int, limit: int = 256) -> list[Row]:
        query = "SELECT sequence, topic, body FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?"
        return [Row(*row) for row in self._select(query, (after, limit))]

    def end(self) -> int:
        """The place of the newest event."""
        return int(self._select("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'")[0][0])

    def before(self, seconds: float) -> int:
        """The place before the first event written at or after a time."""
        first = self._select("SELECT min(sequence) FROM events WHERE time >= ?", (seconds,))[0][0]
        return self.end() if first is None else int(first) - 1

    def topics_between(self, after: int, until: int) -> dict[str, int]:
        """How many events of each topic lie there."""
        query = "SELECT topic, count(*) FROM events WHERE sequence > ? AND sequence <= ? GROUP BY topic"
        return dict(self._select(query, (after, until)))

    def join(self, reader: str, position: int, durable: bool) -> int:
        """The place of a reader, who is entered there if nobody of this name is known."""
        with self._reading_lock:
            self._reading.execute(
                "INSERT OR IGNORE INTO readers (name, position, durable) VALUES (?, ?, ?)", (reader, position, durable)
            )
        return self.position(reader)

    def position(self, reader: str) -> int:
        return int(self._select("SELECT position FROM readers WHERE name = ?", (reader,))[0][0])

    def hold(self, reader: str, holder: str, seconds: float, told: Callable[[bool], None]) -> None:
        """Tells (in the log's thread) whether `holder` is the one process that reads under this name from now on."""
        self._put(Claim(reader, holder, seconds, told))

    def leave(self, reader: str, holder: str) -> None:
        self._put(lambda database: database.execute(
            "UPDATE readers SET holder = '', lease = 0 WHERE name = ? AND holder = ?", (reader, holder)))  # fmt: skip

    def described(self) -> dict[str, Any]:
        """What is in the file, as plain values."""
        topics = [self._topic(*row) for row in self._select("SELECT topic, count(*) FROM events GROUP BY topic")]
        end = self.end()
        readers = self._select("SELECT name, position, holder, lease FROM readers WHERE durable ORDER BY name")
        return {
            "path": str(self.path),
            "bytes": sum(part.stat().st_size for part in self.path.parent.glob(self.path.name + "*")),
            "end": end,
            "events": sum(about["events"] for _, about in topics),
            "topics": dict(topics),
            "readers": {name: {"position": position, "lag": end - position, "live": lease > time.time(), "by": holder}
                        for name, position, holder, lease in readers},
        }  # fmt: skip

    # --- inside ---

    def _topic(self, name: str, count: int) -> tuple[str, dict[str, Any]]:
        """By the index alone: asked for health every few seconds, it must not read a week of events."""
        first = self._select("SELECT min(sequence) FROM events WHERE topic = ?", (name,))[0][0]
        last = self._select("SELECT max(sequence) FROM events WHERE topic = ?", (name,))[0][0]
        newest = self._select("SELECT max(time) FROM events WHERE sequence = ?", (last,))[0][0]
        return name, {"events": count, "first": first, "last": last, "newest": newest}

    def _put(self, work: Any) -> None:
        try:
            self._waiting.put_nowait(work)
        except queue.Full:
            raise BusError(
                f"{MOST_WAITING:,} events wait to be written to {self.path}; its disk does not keep up. Publish slower."
            ) from None

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=5.0, isolation_level=None, check_same_thread=False)
            database.execute("PRAGMA journal_mode=WAL")
            database.execute(f"PRAGMA synchronous={self._sync}")
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, FORMAT):
                raise UsageError(
                    f"The bus's log {self.path} has format {version}; expected {FORMAT}. Use a newer JimBot."
                )
            database.executescript(_TABLES + EARS)
            if version != FORMAT:  # to say it again would be a write, and wait for others
                database.execute(f"PRAGMA user_version={FORMAT}")
        except sqlite3.DatabaseError as problem:
            raise NotWritableError(
                f"{self.path} cannot be used as a bus's log: {problem}. Name another file: embedded:FILE."
            ) from problem
        except OSError as problem:
            raise NotWritableError(f"{self.path} cannot be written: {problem.strerror}.") from problem
        return database

    def _select(self, query: str, values: Iterable[Any] = ()) -> list[Any]:
        try:
            with self._reading_lock:
                return self._reading.execute(query, tuple(values)).fetchall()
        except sqlite3.Error as problem:
            raise BusError(f"The bus's log {self.path} cannot be read: {problem}.") from problem

    def _write(self) -> None:
        database, voice = self._connect(), Voice()
        seen, trimmed = None, time.monotonic()
        while True:
            found = self._next(LOOK_EVERY if self._wake else 10 * LOOK_EVERY)
            work = [one for one in found if one is not None and one is not LOOK]
            if work:
                self._transact(database, work)
            if any(isinstance(one, Entry) for one in work):
                self._tell()
                voice.call(database, self._ear)
            elif (now := _version(database)) != seen:
                seen = now
                self._tell()
            if found and found[-1] is None:
                voice.close()
                database.close()
                return
            if time.monotonic() - trimmed > TRIM_EVERY:
                trimmed = time.monotonic()
                self._transact(database, [self._trim])

    def _next(self, seconds: float) -> list[Any]:
        """All that waits, up to one transaction; None, where it must end, comes last."""
        work: list[Any] = []
        with suppress(queue.Empty):
            work.append(self._waiting.get(timeout=seconds))
            while work[-1] is not None and len(work) < BATCH:
                work.append(self._waiting.get_nowait())
        return work

    def _tell(self) -> None:
        for wake in list(self._wake):
            wake()

    def _transact(self, database: sqlite3.Connection, work: list[Any]) -> None:
        told: list[Callable[[], None]] = []
        now = time.time()
        try:
            database.execute("BEGIN IMMEDIATE")
            for one in work:
                if isinstance(one, Entry):
                    place, again = _insert(database, one, now)
                    if one.told is not None:
                        told.append(partial(one.told, place, again))
                elif isinstance(one, Claim):
                    told.append(partial(one.told, _claim(database, one, now)))
                else:
                    one(database)
            database.execute("COMMIT")
        except sqlite3.Error as problem:
            if database.in_transaction:
                database.execute("ROLLBACK")
            error = BusError(f"The bus's log {self.path} could not be written: {problem}.")
            for one in work:
                if isinstance(one, Entry) and one.told is not None:
                    one.told(error, False)
                elif isinstance(one, Claim):
                    one.told(False)
            return
        for tell in told:
            tell()

    def _trim(self, database: sqlite3.Connection) -> None:
        """Old figures go, then what every durable reader has handled and is old; the hard limit spares nobody."""
        settings, now = self._settings, time.time()
        forget_the_dead(database)
        for stem in _FIGURES:
            database.execute(
                "DELETE FROM events WHERE topic GLOB ? AND time < ?", (stem + "*", now - settings.keep_figures_seconds)
            )
        needed = database.execute("SELECT min(position) FROM readers WHERE durable").fetchone()[0]
        database.execute(
            "DELETE FROM events WHERE time < ? AND sequence <= coalesce(?, sequence)",
            (now - settings.keep_seconds, needed),
        )
        database.execute(
            "DELETE FROM events WHERE sequence <= (SELECT max(sequence) FROM events) - ?", (settings.keep_events,)
        )


def _insert(database: sqlite3.Connection, entry: Entry, now: float) -> tuple[int, bool]:
    done = database.execute(
        "INSERT OR IGNORE INTO events (event_id, topic, time, body) VALUES (?, ?, ?, ?)",
        (entry.event_id, entry.topic, now, entry.body),
    )
    if done.rowcount == 1:
        return int(done.lastrowid or 0), False
    found = database.execute("SELECT sequence FROM events WHERE event_id = ?", (entry.event_id,)).fetchone()
    return int(found[0]), True


def _claim(database: sqlite3.Connection, claim: Claim, now: float) -> bool:
    """Whether the name is the claimant's: it was free, or its own, or its holder is late or dead."""
    row = database.execute("SELECT holder FROM readers WHERE name = ?", (claim.reader,)).fetchone()
    free = row[0] if row is not None and row[0] and not _lives(row[0]) else ""
    done = database.execute(
        "UPDATE readers SET holder = ?, lease = ? WHERE name = ? AND (holder IN (?, ?, '') OR lease < ?)",
        (claim.holder, now + claim.seconds, claim.reader, claim.holder, free, now),
    )
    return done.rowcount == 1


def _lives(holder: str) -> bool:
    """Whether the process that a holder's name begins with is still there; all are on this machine."""
    return psutil.pid_exists(int(holder.partition("-")[0]))


def _version(database: sqlite3.Connection) -> int:
    """Changes when another connection has written."""
    return int(database.execute("PRAGMA data_version").fetchone()[0])
