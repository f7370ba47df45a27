"""Answers by the hash of the state they were given for: the same seeds played again cost nothing.

In memory, and in a file of its own beside the ledger where one is named. It may be lost or damaged at any time: then
the question is asked again.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections import OrderedDict
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jimbot.advisor.question import Question
from jimbot.advisor.reply import Advice
from jimbot.errors import StorageError
from jimbot.runs.files import make_directory

MOST_IN_MEMORY, MOST_IN_FILE = 4096, 100_000
_log = logging.getLogger("jimbot.advisor")


class AnswerCache:
    """Answers of one edition (model and prompt); shared by threads."""

    def __init__(self, edition: str, path: Path | None = None) -> None:
        self._edition, self._path = edition, path
        self._known: OrderedDict[str, Advice] = OrderedDict()
        self._lock = threading.Lock()
        self._database = self._opened()

    def get(self, question: Question) -> Advice | None:
        """What was answered before, if it is a legal move of this question still."""
        with self._lock:
            advice = self._known.get(question.key) or self._stored(question.key)
        if advice is None:
            return None
        fits = any(move.action == advice.action and move.label == advice.label for move in question.moves)
        return advice.again() if fits else None

    def put(self, question: Question, advice: Advice) -> None:
        with self._lock:
            self._known[question.key] = advice
            if len(self._known) > MOST_IN_MEMORY:
                self._known.popitem(last=False)
            if self._database is not None:
                try:
                    self._database.execute(
                        "INSERT OR REPLACE INTO answers (edition, key, body) VALUES (?, ?, ?)",
                        (self._edition, question.key, json.dumps(asdict(advice))),
                    )
                    self._database.execute(
                        "DELETE FROM answers WHERE rowid <= (SELECT max(rowid) FROM answers) - ?", (MOST_IN_FILE,)
                    )
                except sqlite3.Error as problem:
                    self._given_up(problem)

    def close(self) -> None:
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _stored(self, key: str) -> Advice | None:
        if self._database is None:
            return None
        try:
            found = self._database.execute(
                "SELECT body FROM answers WHERE edition = ? AND key = ?", (self._edition, key)
            ).fetchone()
            values: dict[str, Any] | None = json.loads(found[0]) if found else None
            if values is None:
                return None
            return Advice(then=tuple(values.pop("then")), **values)
        except (sqlite3.Error, ValueError, TypeError, KeyError) as problem:
            self._given_up(problem)
            return None

    def _opened(self) -> sqlite3.Connection | None:
        if self._path is None:
            return None
        try:
            make_directory(self._path.parent)
            database = sqlite3.connect(self._path, timeout=1.0, isolation_level=None, check_same_thread=False)
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")
            database.execute(
                "CREATE TABLE IF NOT EXISTS answers (edition TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, "
                "PRIMARY KEY (edition, key))"
            )
        except (sqlite3.Error, StorageError) as problem:
            self._given_up(problem)
            return None
        return database

    def _given_up(self, problem: Exception) -> None:
        _log.warning("The file of remembered advice %s cannot be used (%s); going on without it.", self._path, problem)
        self._database = None
