"""Processes on one log call each other: whoever has written sends a byte to everybody who listens.

SQLite tells nobody that a file has changed, so without this a reader finds an event when it looks the next time. The
ports of those who listen stand in the log itself. A call says nothing but "look": a lost one costs the time until the
next look, a false one a look too many.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress

import psutil

HERE = "127.0.0.1"
CALL = b"!"
TABLE = "CREATE TABLE IF NOT EXISTS ears (port INTEGER PRIMARY KEY, process INTEGER NOT NULL);"


class Ear:
    """A port at which this process is called, for as long as it is open."""

    def __init__(self, heard: Callable[[], None]) -> None:
        """`heard` is called in the ear's own thread. OSError where there is no port to be had."""
        self._heard = heard
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((HERE, 0))
        self.port: int = self._socket.getsockname()[1]
        self._open = True
        self._thread = threading.Thread(target=self._listen, name="jimbot-bus-ear", daemon=True)
        self._thread.start()

    def enter(self, database: sqlite3.Connection) -> None:
        """Into the log; those of dead processes leave it."""
        forget_the_dead(database)
        database.execute("INSERT OR REPLACE INTO ears (port, process) VALUES (?, ?)", (self.port, os.getpid()))

    def leave(self, database: sqlite3.Connection) -> None:
        database.execute("DELETE FROM ears WHERE port = ?", (self.port,))

    def close(self) -> None:
        self._open = False
        with suppress(OSError):
            self._socket.sendto(CALL, (HERE, self.port))
        self._thread.join(1)
        self._socket.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while self._socket.recv(16) and self._open:
                self._heard()


class Voice:
    """Calls everybody who listens to a log."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def call(self, database: sqlite3.Connection, own: Ear | None) -> None:
        """`own` has been told already."""
        with suppress(sqlite3.Error):
            for (port,) in database.execute("SELECT port FROM ears").fetchall():
                if own is None or port != own.port:
                    with suppress(OSError):
                        self._socket.sendto(CALL, (HERE, port))

    def close(self) -> None:
        self._socket.close()


def forget_the_dead(database: sqlite3.Connection) -> None:
    for port, process in database.execute("SELECT port, process FROM ears").fetchall():
        if not psutil.pid_exists(process):
            database.execute("DELETE FROM ears WHERE port = ?", (port,))
