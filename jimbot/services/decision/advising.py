"""Advice for decisions other programs ask for: only where a request tells its state in words, never after its deadline.

The policy has decided already when an adviser is asked, so whatever happens here there is an answer in time.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from typing import Any

from jimbot.advisor.adviser import Adviser
from jimbot.advisor.question import Position, question_of
from jimbot.advisor.question import Question as Asked
from jimbot.advisor.reply import Advice
from jimbot.services.decision.lane import Item
from jimbot.services.decision.question import Question
from jimbot.services.decision.refusal import Code, RefusedError

LEAST_SECONDS = 0.05  # with less left nobody is asked
MARGIN_SECONDS = 0.01  # left of the deadline for the way back


class Advising:
    """The advisers of a service, by game."""

    def __init__(self) -> None:
        self.advisers: dict[str, Adviser] = {}

    def wanted(self, question: Question, item: Item, threshold: float | None = None) -> tuple[Adviser, Asked] | None:
        """Whom to ask what about a decision that was computed; None where it stands as it is."""
        adviser = self.advisers.get(question.place.served.spec.id)
        if adviser is None or item.decision is None or question.choosing.sample:
            return None
        adviser.when.note(1)
        if not self._unsure(adviser, question, item, threshold):
            return None
        if question.sight.table is None:
            adviser.figures.count("no_words")
            return None
        if self.seconds(question) < LEAST_SECONDS:
            adviser.figures.count("too_late")
            return None
        return (adviser, asked_about(adviser, question, item)) if adviser.when.claim() else None

    def seconds(self, question: Question) -> float:
        return question.deadline - time.perf_counter() - MARGIN_SECONDS

    def ask(self, question: Question, item: Item) -> Advice | None:
        """For a caller that waits."""
        wanted = self.wanted(question, item)
        if wanted is None:
            return None
        adviser, asked = wanted
        seconds = self.seconds(question)
        return self._used(adviser, question, item, adviser.ask(asked, seconds))

    async def ask_async(self, question: Question, item: Item) -> Advice | None:
        """The same without blocking the event loop. Who gives up does not stop the question: its answer is kept for
        the next time."""
        wanted = self.wanted(question, item)
        if wanted is None:
            return None
        adviser, asked = wanted
        seconds = self.seconds(question)
        return self._used(adviser, question, item, await waited(adviser.begin(asked, seconds), seconds))

    async def strategy(self, question: Question, item: Item) -> Advice:
        """Advice somebody asks for by name: how sure the policy is was judged there, and so was how often to ask; the
        budget holds here."""
        game = question.place.served.spec.id
        adviser = self.advisers.get(game)
        if adviser is None:
            raise RefusedError(Code.FAILED_PRECONDITION, f"Nobody advises game '{game}' here; serve it with --adviser.")
        if question.sight.table is None:
            adviser.figures.count("no_words")
            raise RefusedError(
                Code.INVALID_ARGUMENT, "An adviser needs the state in words; send a snapshot or a state by keys."
            )
        seconds = self.seconds(question)
        advice = await waited(adviser.begin(asked_about(adviser, question, item), seconds), seconds)
        if advice is None or not question.legal[advice.action]:
            raise RefusedError(Code.UNAVAILABLE, "There is no advice now; why is counted (jimbot_adviser_outcomes).")
        return advice

    def close(self) -> None:
        for adviser in self.advisers.values():
            adviser.close()

    def _unsure(self, adviser: Adviser, question: Question, item: Item, threshold: float | None) -> bool:
        assert item.decision is not None
        entry, seen = question.place.served.entry, question.sight.observation[None]
        unsure = adviser.when.unsure(entry, seen, question.legal[None], item.decision.probabilities, threshold)
        return bool(unsure[0])

    def _used(self, adviser: Adviser, question: Question, item: Item, advice: Advice | None) -> Advice | None:
        question.doubted = advice is None
        if advice is None or not question.legal[advice.action]:
            return None
        assert item.decision is not None
        adviser.figures.add(followed=1, changed=int(advice.action != int(item.decision.actions[0])))
        return advice


async def waited(future: Future[Advice | None], seconds: float) -> Advice | None:
    """The answer, if it comes in time."""
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.shield(asyncio.wrap_future(future))
    except TimeoutError:
        return None


def asked_about(adviser: Adviser, question: Question, item: Item) -> Asked:
    """A decision as an adviser is told of it."""
    served, sight = question.place.served, question.sight
    assert sight.table is not None
    assert item.decision is not None
    table, decision = sight.table, item.decision
    hints = adviser.hints(table.parts) if adviser.hints is not None and table.parts is not None else ()
    position = None
    if not adviser.source.used_llm and table.snapshot is not None:
        options: Any = served.spec.parse_options(dict(served.options))
        position = Position(served.spec.id, options, table.snapshot, sight.observation, question.legal, decision)
    return question_of(
        served.entry, sight.observation, question.legal, decision.probabilities[0], float(decision.values[0]),
        table.words, sight.words or (lambda _: None), hints, position,
    )  # fmt: skip
