"""Looking ahead for other programs: moves are tried out in copies of the game a request carries, in the time it has.

The policy has decided already when a plan is begun, so there is an answer in time whatever happens here. A request that
carries an observation only tells too little to play on from; it is answered without a plan, and the log says so once.
Only a search that fills a head of its own from what it sees (`planning.own_search`) needs no more.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from jimbot.advisor.reply import Advice
from jimbot.errors import JimbotError
from jimbot.games.contract import BatchGame
from jimbot.planning import OwnSearch, Plan, Planner
from jimbot.planning.standing import Standing
from jimbot.services.decision.figures import Figures
from jimbot.services.decision.lane import Item
from jimbot.services.decision.question import Question
from jimbot.services.decision.served import ServedPolicy

SOURCE = "plan"
LEAST_SECONDS = 0.02  # with less left nothing is tried
MARGIN_SECONDS = 0.02  # left of the deadline for the way back
_SAFE = 0.8  # of the time left is spent: tries are not all as long

_log = logging.getLogger("jimbot.services")


@dataclass
class _Place:
    """Where the plans of one policy are made, one at a time."""

    planner: Planner | OwnSearch
    standing: Standing
    lock: threading.Lock


class Plans:
    """The planners of a service, by game and policy."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._places: dict[tuple[str, str], _Place] = {}
        self._unplanned: set[str] = set()  # games of which the log has said that a request could not be planned in

    def add(self, served: ServedPolicy, planner: Planner | OwnSearch) -> None:
        """Decisions of this policy are planned from now on. Plays a first plan, which compiles and tells how long tries
        take here."""
        options = served.spec.parse_options(dict(served.options))
        place = _Place(planner, Standing(served.spec.id, options), threading.Lock())
        game = served.entry.make(1, options=options)
        try:
            game.reset()
            at = place.standing.stand([game.snapshot(np.arange(1))], game.observation, game.legal_mask)
            decision = served.ask(game.observation, game.legal_mask)
            planner.plan(at, np.ones(1, bool), decision)
        finally:
            game.close()
        self._places[served.spec.id, served.name] = place

    def wanted(self, question: Question, item: Item) -> bool:
        """Whether a decision is to be planned: it is not a draw, and its request carries a game."""
        place = self._place_of(item)
        if place is None or item.decision is None or question.choosing.sample:
            return False
        if place.planner.needs_game and not _snapshots(question):
            self._say_once(question.place.served.spec.id)
            return False
        return self._seconds(question) >= LEAST_SECONDS

    def ask(self, question: Question, item: Item) -> Advice | None:
        """What a plan makes of a decision, in the time its request has left; None where it leaves it as it is."""
        if not self.wanted(question, item):
            return None
        place, decision = self._place_of(item), item.decision
        assert place is not None
        assert decision is not None
        game = question.place.served.spec.id
        if not place.lock.acquire(timeout=self._seconds(question)):
            self._figures.count(self._figures.plans, game, "busy")
            question.doubted = True
            return None
        try:
            at = place.standing.stand(_snapshots(question), question.sight.observation[None], question.legal[None])
            until = time.monotonic() + _SAFE * self._seconds(question)
            plan = place.planner.plan(at, np.ones(1, bool), decision, until)
        except JimbotError as problem:  # a snapshot of another version, for instance
            _log.warning("A decision of game '%s' was not planned: %s", game, problem)
            self._figures.count(self._figures.plans, game, "failed")
            return None
        finally:
            place.lock.release()
        return self._told(question, at, plan)

    async def ask_async(self, question: Question, item: Item) -> Advice | None:
        """The same without blocking the event loop."""
        if not self.wanted(question, item):
            return None
        return await asyncio.to_thread(self.ask, question, item)

    def close(self) -> None:
        for place in self._places.values():
            place.planner.close()

    def _place_of(self, item: Item) -> _Place | None:
        served = item.served
        return None if served is None else self._places.get((served.spec.id, served.name))

    def _seconds(self, question: Question) -> float:
        return question.deadline - time.perf_counter() - MARGIN_SECONDS

    def _told(self, question: Question, game: BatchGame, plan: Plan) -> Advice | None:
        labels, action, own = game.spec.actions.label, int(plan.decision.actions[0]), int(plan.own[0])
        changed, tries = action != own, int(plan.tries[0])
        outcome = "changed" if changed else "kept" if tries else "sure"
        self._figures.count(self._figures.plans, game.spec.id, outcome)
        if not tries and not changed:
            return None
        found = f"{labels(action)} instead of {labels(own)}" if changed else "nothing better"
        words = (question.sight.words or (lambda _: None))(action) or labels(action)
        reason = f"{tries} tries found {found}; {plan.decision.values[0]:+.3f} expected"
        return Advice(action, labels(action), words, reason, SOURCE, False)

    def _say_once(self, game: str) -> None:
        self._figures.count(self._figures.plans, game, "no_game")
        if game not in self._unplanned:
            self._unplanned.add(game)
            _log.warning(
                "A request for game '%s' carries an observation only, which nothing can be tried out in; such requests "
                "are answered without a plan. Send a snapshot or a state by keys.", game,
            )  # fmt: skip


def _snapshots(question: Question) -> list[Mapping[str, np.ndarray]]:
    """The game a request carries, if it does."""
    table = question.sight.table
    return [] if table is None or table.snapshot is None else [table.snapshot]
