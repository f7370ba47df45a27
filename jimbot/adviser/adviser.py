"""`Adviser`: one door to Claude, or the planner in its place.

    adviser = open_adviser(AdviserSettings(), policy, run="evening")
    advice = adviser.ask(question)          # or None: then the policy's own move is played

`ask` never raises and never takes longer than it was given: the answer to a question that was left alone is kept for
the next time. Why there is no advice is counted (`metrics`) and logged.
"""

from __future__ import annotations

import json
import logging
import math
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from jimbot.adviser.claude import Claude, has_key
from jimbot.adviser.ledger import Ledger
from jimbot.adviser.metrics import ANSWERED, CACHED, AdviceMetrics
from jimbot.adviser.question import Hints, Question
from jimbot.adviser.reply import Advice, NoAdviceError
from jimbot.adviser.settings import AdviserSettings
from jimbot.errors import JimbotError, StorageError, UsageError
from jimbot.games.entry import GameEntry
from jimbot.planning.planner import Planner, SnapshotGame
from jimbot.planning.settings import PlanSettings
from jimbot.policies.contract import Decision, Policy
from jimbot.runs.files import open_database
from jimbot.runs.manifest import Manifest

COPIES = 64
NAME = "planner"


class PlannerAdviser:
    """The planner behind the same door as Claude. `policy` plays on in the simulations."""

    name = NAME
    edition = NAME
    used_llm = False

    def __init__(self, settings: AdviserSettings, policy: Policy, manifest: Manifest | None = None) -> None:
        self._settings, self._policy = settings, policy
        self._planner = Planner(policy, manifest, PlanSettings(rollouts=settings.rollouts, certain=1.0), copies=COPIES)
        self._game: SnapshotGame | None = None
        self._lock = threading.Lock()

    def ask(self, question: Question, seconds: float) -> Advice:
        ends = time.monotonic() + seconds
        if not self._lock.acquire(timeout=max(0.0, min(seconds, threading.TIMEOUT_MAX))):
            raise NoAdviceError("timeout", "The planner was busy with other questions for as long as this one had.")
        try:
            if time.monotonic() >= ends:
                raise NoAdviceError("timeout", "The planner came to this question when its time was over.")
            return self._together([question])[0]
        finally:
            self._lock.release()

    def warm(self, entry: GameEntry, options: Mapping[str, Any]) -> None:
        """Plans one move of a game's first position: what simulations load and compile is there before somebody asks.
        A game that cannot be planned says so when it is asked about."""
        game = entry.make(1, options=entry.spec.parse_options(dict(options)))
        try:
            game.reset()
            table = SnapshotGame(entry.spec.id, entry.spec.parse_options(dict(options)))
            at = table.stand([game.snapshot(np.arange(1))], game.observation, game.legal_mask)
            with self._lock, suppress(JimbotError):
                self._game = table
                self._planner.plan(at, np.ones(1, bool), self._policy.act(game.observation, game.legal_mask))
        finally:
            game.close()

    def ask_together(self, questions: Sequence[Question]) -> list[Advice]:
        """The same for several positions of one game, whose simulations are played together."""
        with self._lock:
            return self._together(questions)

    def _together(self, questions: Sequence[Question]) -> list[Advice]:
        positions = [question.position for question in questions if question.position is not None]
        if len(positions) < len(questions):
            raise NoAdviceError("no_plan", "The question holds no position that moves could be tried out in.")
        own = Decision(*(np.concatenate(parts) for parts in zip(*(one.decision for one in positions), strict=True)))
        if self._game is None or self._game.options != positions[0].options:
            self._game = SnapshotGame(positions[0].game, positions[0].options)
        game = self._game.stand(
            [position.snapshot for position in positions],
            np.stack([position.observation for position in positions]),
            np.stack([position.legal_mask for position in positions]),
        )
        try:
            decision = self._planner.plan(game, game.acting, own).decision
        except UsageError as problem:  # a game of two players, for instance
            raise NoAdviceError("no_plan", str(problem)) from problem
        return [
            self._advice(question, int(decision.actions[row]), int(own.actions[row]), float(decision.values[row]))
            for row, question in enumerate(questions)
        ]

    def _advice(self, question: Question, action: int, own: int, value: float) -> Advice:
        move = next(move for move in question.moves if move.action == action)
        tried = f"{self._settings.rollouts} simulations in copies of the game"
        reason = f"{tried} found nothing better." if action == own else f"{tried} brought {value:+.2f}."
        return Advice(action, move.label, move.words, reason, self.name, False)

    def close(self) -> None:
        self._planner.close()


_log = logging.getLogger("jimbot.adviser")


class Source(Protocol):
    """What answers questions."""

    name: str
    edition: str
    """Answers are remembered by it."""
    used_llm: bool

    def ask(self, question: Question, seconds: float) -> Advice: ...


class Adviser:
    """A source, when to ask it, what it said before, and what came of it. May be shared by threads."""

    def __init__(
        self, source: Source, settings: AdviserSettings, metrics: AdviceMetrics | None = None,
        cache: AnswerCache | None = None, hints: Hints | None = None,
    ) -> None:  # fmt: skip
        self.source, self.settings, self.hints = source, settings, hints
        self.metrics = metrics or AdviceMetrics()
        self.when = When(settings, self.metrics)
        self._cache = cache or AnswerCache(source.edition)
        self._open = threading.BoundedSemaphore(settings.at_once)

    def ask(self, question: Question, seconds: float | None = None) -> Advice | None:
        """Advice within so many seconds; None where there is none."""
        return self.ask_all([question], seconds)[0]

    def ask_all(self, questions: Sequence[Question], seconds: float | None = None) -> list[Advice | None]:
        """The same for several, as many at a time as the settings allow. Without `seconds` each of them has the time
        that the settings give it, and a planner, which comes to its end by itself, all it needs."""
        if seconds is None and isinstance(self.source, PlannerAdviser):
            return self._planned(self.source, questions)
        usual = self.settings.seconds if self.source.used_llm else math.inf
        ends = time.monotonic() + (usual if seconds is None else seconds)
        answers: list[Advice | None] = []
        size = self.settings.at_once
        for first in range(0, len(questions), size):
            if seconds is None:
                ends = time.monotonic() + usual
            begun = [self.begin(question, ends - time.monotonic()) for question in questions[first : first + size]]
            answers += [self._waited(future, ends) for future in begun]
        return answers

    def begin(self, question: Question, seconds: float) -> Future[Advice | None]:
        """Asks without waiting."""
        future: Future[Advice | None] = Future()
        known = self._cache.get(question)
        if known is not None:
            self.metrics.count(CACHED)
            future.set_result(known)
        elif not self._open.acquire(blocking=False):
            self.metrics.count("busy")
            future.set_result(None)
        else:
            # A thread of its own, which nobody waits for at the end of the process: what it reserved stays charged.
            threading.Thread(target=self._work, args=(question, seconds, future), name="adviser", daemon=True).start()
        return future

    def warm(self, entry: GameEntry, options: Mapping[str, Any]) -> None:
        """Whatever its source loads or compiles for its first answer, so that the first questions of a service do not
        fill all places with waiting."""
        if isinstance(self.source, PlannerAdviser):
            self.source.warm(entry, options)

    def close(self) -> None:
        self._cache.close()
        close: Callable[[], None] | None = getattr(self.source, "close", None)
        if close is not None:
            close()

    def _planned(self, planner: PlannerAdviser, questions: Sequence[Question]) -> list[Advice | None]:
        """All positions in one plan: it is nobody else's time that is spent."""
        if not questions:
            return []
        try:
            answers = planner.ask_together(questions)
        except NoAdviceError as problem:
            self._count(problem.outcome, len(questions))
            return [None] * len(questions)
        self._count(ANSWERED, len(questions))
        return list(answers)

    def _count(self, outcome: str, times: int) -> None:
        for _ in range(times):
            self.metrics.count(outcome)

    def _waited(self, future: Future[Advice | None], ends: float) -> Advice | None:
        try:
            return future.result(None if ends == math.inf else max(0.0, ends - time.monotonic()))
        except TimeoutError:
            return None

    def _work(self, question: Question, seconds: float, future: Future[Advice | None]) -> None:
        advice: Advice | None = None
        try:
            advice = self.source.ask(question, seconds)
            self._cache.put(question, advice)
            self.metrics.count(ANSWERED)
        except NoAdviceError as problem:
            self.metrics.count(problem.outcome)
            _log.info("No advice: %s", problem)
        except Exception as problem:  # whatever it is, the policy plays on alone
            self.metrics.count("fault")
            _log.warning("The adviser failed: %s: %s", type(problem).__name__, problem)
        finally:
            self._open.release()
            future.set_result(advice)


def open_adviser(
    settings: AdviserSettings,
    policy: Policy | None = None,
    manifest: Manifest | None = None,
    run: str = "",
    hints: Hints | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> Adviser:
    """The adviser the settings mean. `policy` is what the planner plays on with, where it stands in; `run` is whose
    limits are charged; `notify` gets who it is, for people."""
    metrics = AdviceMetrics()
    if settings.source == "claude" or (settings.source == "auto" and has_key()):
        ledger = Ledger(settings.ledger_path)
        source = Claude(settings, ledger, run or "one of its own", metrics)
        notify(f"The adviser is {source.name}, within ${settings.dollars_per_hour:g} an hour and "
             f"${settings.dollars_per_run:g} for this run (jimbot adviser budget).")  # fmt: skip
        path = settings.ledger_path
        cache = AnswerCache(source.edition, path.with_name(f"{path.stem}-answers.sqlite"))
        return Adviser(source, settings, metrics, cache, hints)
    if policy is None:
        raise UsageError("There is no API key (ANTHROPIC_API_KEY) and no policy for the planner to stand in with.")
    notify("The adviser is the planner, which needs no key; set ANTHROPIC_API_KEY to ask Claude.")
    return Adviser(PlannerAdviser(settings, policy, manifest), settings, metrics, hints=hints)


# Answers by the hash of the state they were given for: the same seeds played again cost nothing.


MOST_IN_MEMORY, MOST_IN_FILE = 4096, 100_000


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
            database = open_database(self._path, 1.0)
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


# Which decisions are worth a question: the policy is not sure, something depends on it, and only so many of all.


class When:
    """Counts decisions and questions; shared by threads."""

    def __init__(self, settings: AdviserSettings, metrics: AdviceMetrics) -> None:
        self.settings, self._metrics = settings, metrics
        self._lock = threading.Lock()

    def unsure(
        self, entry: GameEntry, observation: np.ndarray, legal_mask: np.ndarray, probabilities: np.ndarray,
        threshold: float | None = None,
    ) -> np.ndarray:  # fmt: skip
        """(N,) bool: rows whose policy is below the threshold where enough is at stake."""
        limit = self.settings.confidence_threshold if threshold is None else threshold
        wanted = (probabilities.max(axis=1) < limit) & (legal_mask.sum(axis=1) > 1)
        rows = np.flatnonzero(wanted)
        if len(rows) and entry.decision_importance is not None:
            wanted[rows] = entry.decision_importance(observation[rows], legal_mask[rows]) >= self.settings.least_stake
        return wanted

    def note(self, decisions: int) -> None:
        """So many decisions were taken, with or without a question."""
        with self._lock:
            self._metrics.decisions += decisions

    def claim(self) -> bool:
        """Whether one more question stays within the share of all decisions; it is counted then."""
        with self._lock:
            if self._metrics.asked + 1 > math.floor(self.settings.share * self._metrics.decisions + 1e-9):
                return False
            self._metrics.asked += 1
            return True
