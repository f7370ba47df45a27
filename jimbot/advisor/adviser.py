"""`Adviser`: one door to whoever advises.

    adviser = open_adviser(AdviserSettings(), policy, run="evening")
    advice = adviser.ask(question)          # or None: then the policy's own move is played

`ask` never raises and never takes longer than it was given: the answer to a question that was left alone is kept for
the next time. Why there is no advice is counted (`figures`) and logged.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

from jimbot.advisor.cache import AnswerCache
from jimbot.advisor.claude import Claude, has_key
from jimbot.advisor.figures import ANSWERED, CACHED, AdviceFigures
from jimbot.advisor.hints import Hints
from jimbot.advisor.ledger import Ledger
from jimbot.advisor.question import Question
from jimbot.advisor.reply import Advice, NoAdviceError
from jimbot.advisor.scripted import PlannerAdviser
from jimbot.advisor.settings import AdviserSettings
from jimbot.advisor.when import When
from jimbot.errors import UsageError
from jimbot.policies.contract import Policy
from jimbot.runs.manifest import Manifest

_log = logging.getLogger("jimbot.advisor")


class Source(Protocol):
    """Somebody who can be asked."""

    name: str
    edition: str
    """Answers are remembered by it."""
    used_llm: bool

    def ask(self, question: Question, seconds: float) -> Advice: ...


class Adviser:
    """A source, when to ask it, what it said before, and what came of it. May be shared by threads."""

    def __init__(
        self, source: Source, settings: AdviserSettings, figures: AdviceFigures | None = None,
        cache: AnswerCache | None = None, hints: Hints | None = None,
    ) -> None:  # fmt: skip
        self.source, self.settings, self.hints = source, settings, hints
        self.figures = figures or AdviceFigures()
        self.when = When(settings, self.figures)
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
            self.figures.count(CACHED)
            future.set_result(known)
        elif not self._open.acquire(blocking=False):
            self.figures.count("busy")
            future.set_result(None)
        else:
            # A thread of its own, which nobody waits for at the end of the process: what it reserved stays charged.
            threading.Thread(target=self._work, args=(question, seconds, future), name="adviser", daemon=True).start()
        return future

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
            self.figures.count(outcome)

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
            self.figures.count(ANSWERED)
        except NoAdviceError as problem:
            self.figures.count(problem.outcome)
            _log.info("No advice: %s", problem)
        except Exception as problem:  # whatever it is, the policy plays on alone
            self.figures.count("fault")
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
    told: Callable[[str], None] = lambda _: None,
) -> Adviser:
    """The adviser the settings mean. `policy` is what the planner plays on with, where it stands in; `run` is whose
    limits are charged; `told` hears who it is, for people."""
    figures = AdviceFigures()
    if settings.source == "claude" or (settings.source == "auto" and has_key()):
        ledger = Ledger(settings.ledger_path)
        source = Claude(settings, ledger, run or "one of its own", figures)
        told(f"The adviser is {source.name}, within ${settings.dollars_per_hour:g} an hour and "
             f"${settings.dollars_per_run:g} for this run (jimbot adviser budget).")  # fmt: skip
        path = settings.ledger_path
        cache = AnswerCache(source.edition, path.with_name(f"{path.stem}-answers.sqlite"))
        return Adviser(source, settings, figures, cache, hints)
    if policy is None:
        raise UsageError("There is no API key (ANTHROPIC_API_KEY) and no policy for the planner to stand in with.")
    told("The adviser is the planner, which needs no key; set ANTHROPIC_API_KEY to ask Claude.")
    return Adviser(PlannerAdviser(settings, policy, manifest), settings, figures, hints=hints)
