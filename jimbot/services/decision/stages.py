"""Stages of a decision that exist only where they were asked for.

- `Fallbacks`: a legal move where the served policy has none to give, always marked as what it is;
- `Hinting`: what the knowledge graph says, asked while the policy computes, within a deadline of its own;
- `Plans`: moves are tried out in copies of the game a request carries. A request with an observation only is answered
  without a plan, and the log says so once; only a search that fills a head of its own from what it sees
  (`planning.own_search`) needs no more;
- `Advising`: an adviser is asked about decisions the policy is not sure of, where a request describes its state.

Plans and advice improve a decision that was computed already, so there is an answer in time whatever becomes of them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jimbot.adviser.adviser import Adviser
from jimbot.adviser.question import Position, question_of
from jimbot.adviser.question import Question as Asked
from jimbot.adviser.reply import Advice
from jimbot.errors import JimbotError
from jimbot.games.contract import BatchGame
from jimbot.knowledge import Hints, KnowledgeGraphClient
from jimbot.planning import OwnSearch, Plan, Planner
from jimbot.planning.planner import SnapshotGame
from jimbot.policies.contract import Decision
from jimbot.policies.heuristics import heuristic_policy
from jimbot.proto import events_pb2 as messages
from jimbot.services.decision.batcher import Caller, Item
from jimbot.services.decision.metrics import ServiceMetrics
from jimbot.services.decision.question import Question
from jimbot.services.decision.refusal import Code, RefusedError
from jimbot.services.decision.served import ServedPolicy, faults_of
from jimbot.services.settings import FALLBACKS

HEURISTIC = "heuristic"
_REASONS = {
    Code.RESOURCE_EXHAUSTED: messages.FALLBACK_OVERLOAD,
    Code.DEADLINE_EXCEEDED: messages.FALLBACK_DEADLINE,
    Code.INTERNAL: messages.FALLBACK_FAULT,
    Code.UNAVAILABLE: messages.FALLBACK_NO_POLICY,
}
SOURCE = "plan"
LEAST_SECONDS = 0.02  # with less left nothing is planned
MARGIN_SECONDS = 0.02  # left of the deadline for the way back
_SAFE = 0.8  # of the time left is spent: simulations are not all as long
LEAST_ADVICE_SECONDS = 0.05  # with less left no adviser is asked
ADVICE_MARGIN_SECONDS = 0.01

_log = logging.getLogger("jimbot.services")


class Given(NamedTuple):
    decision: Decision
    who: str
    """What answered: policy, heuristic, first."""
    reason: messages.Fallback


class Fallbacks:
    """The chain behind one setting; see `settings.FALLBACKS`."""

    def __init__(self, setting: str) -> None:
        self.chain = FALLBACKS[FALLBACKS.index(setting) :] if setting != "none" else ()
        self._players: dict[str, ServedPolicy | None] = {}

    def answer(
        self, served: ServedPolicy, observation: np.ndarray, legal: np.ndarray, refusal: RefusedError
    ) -> Given | None:
        """A legal move for (n, D) and (n, A), or None where the refusal stands."""
        reason = _REASONS.get(refusal.code)
        if reason is None:
            return None
        for who in self.chain:
            # A full queue or a passed deadline is no time to ask the policy again.
            if who == "policy" and reason != messages.FALLBACK_FAULT:
                continue
            decision = self._ask(who, served, observation, legal)
            if decision is not None:
                return Given(decision, who, reason)
        return None

    def _ask(self, who: str, served: ServedPolicy, observation: np.ndarray, legal: np.ndarray) -> Decision | None:
        if who == "first":
            actions = legal.argmax(axis=1)
            probabilities = np.zeros(legal.shape, np.float32)
            probabilities[np.arange(len(legal)), actions] = 1
            return Decision(actions, probabilities, np.zeros(len(legal), np.float32))
        asked = served if who == "policy" else self._heuristic(served)
        if asked is None:
            return None
        try:
            decision = asked.policy.act(observation, legal)
        except Exception as problem:  # whatever it raises, the next in the chain is asked
            _log.warning("The fallback '%s' of game '%s' failed too: %s", who, served.spec.id, problem)
            return None
        return None if faults_of(decision, legal)[0].any() else decision

    def _heuristic(self, served: ServedPolicy) -> ServedPolicy | None:
        game = served.spec.id
        if game not in self._players:
            known = HEURISTIC in served.entry.heuristics
            player = heuristic_policy(HEURISTIC, game) if known else None
            self._players[game] = ServedPolicy.make(served.entry, player) if player is not None else None
        return self._players[game]


class Hinting:
    """Asks one graph for decisions of its game; the others go without."""

    def __init__(self, client: KnowledgeGraphClient, metrics: ServiceMetrics) -> None:
        self._client, self._metrics = client, metrics

    def suits(self, question: Question) -> bool:
        """Whether there is anything to ask about."""
        knowledge = question.slot.served.entry.knowledge
        return question.request.game == self._client.game and knowledge is not None and (
            knowledge.read_observation is not None
        )  # fmt: skip

    def hints(self, question: Question) -> Hints:
        """Waits no longer than the graph's own deadline; never raises."""
        found = self._client.hints(lambda: self._state(question))
        self._metrics.count(self._metrics.hints, question.request.game, found.outcome)
        return found

    def close(self) -> None:
        self._client.close()

    def _state(self, question: Question) -> dict[str, Any]:
        knowledge = question.slot.served.entry.knowledge
        assert knowledge is not None
        assert knowledge.read_observation is not None
        return knowledge.read_observation(question.sight.observation)


@dataclass
class _PlannedPolicy:
    """Where the plans of one policy are made, one at a time."""

    planner: Planner | OwnSearch
    game: SnapshotGame
    lock: threading.Lock


class Plans:
    """The planners of a service, by game and policy."""

    def __init__(self, metrics: ServiceMetrics) -> None:
        self._metrics = metrics
        self._tables: dict[tuple[str, str], _PlannedPolicy] = {}
        self._unplanned: set[str] = set()  # games of which the log has said that a request could not be planned in

    def add(self, served: ServedPolicy, planner: Planner | OwnSearch) -> None:
        """Decisions of this policy are planned from now on. Plays a first plan, which compiles and tells how long
        simulations take here."""
        options = served.spec.parse_options(dict(served.options))
        table = _PlannedPolicy(planner, SnapshotGame(served.spec.id, options), threading.Lock())
        game = served.entry.make(1, options=options)
        try:
            game.reset()
            at = table.game.stand([game.snapshot(np.arange(1))], game.observation, game.legal_mask)
            decision = served.policy.act(game.observation, game.legal_mask)
            planner.plan(at, np.ones(1, bool), decision)
        finally:
            game.close()
        self._tables[served.spec.id, served.name] = table

    async def improve(self, question: Question, item: Item, caller: Caller) -> Advice | None:
        """What a plan makes of a decision, in the time its request has left; None where it leaves it as it is."""
        table = self._table_of(item)
        if table is None or question.choosing.sample:
            return None
        if table.planner.needs_game and not _snapshots(question):
            self._log_once(question.slot.served.spec.id)
            return None
        if self._seconds(question) < LEAST_SECONDS:
            return None
        return await caller.start(self._plan, table, question, item)

    def _plan(self, table: _PlannedPolicy, question: Question, item: Item) -> Advice | None:
        assert item.decision is not None
        game = question.slot.served.spec.id
        if not table.lock.acquire(timeout=max(0.0, self._seconds(question))):
            self._metrics.count(self._metrics.plans, game, "busy")
            question.doubted = True
            return None
        try:
            at = table.game.stand(_snapshots(question), question.sight.observation[None], question.legal[None])
            until = time.monotonic() + _SAFE * self._seconds(question)
            plan = table.planner.plan(at, np.ones(1, bool), item.decision, until)
        except JimbotError as problem:  # a snapshot of another version, for instance
            _log.warning("A decision of game '%s' was not planned: %s", game, problem)
            self._metrics.count(self._metrics.plans, game, "failed")
            return None
        finally:
            table.lock.release()
        return self._advice(question, at, plan)

    def close(self) -> None:
        for table in self._tables.values():
            table.planner.close()

    def _table_of(self, item: Item) -> _PlannedPolicy | None:
        served = item.served
        return None if served is None else self._tables.get((served.spec.id, served.name))

    def _seconds(self, question: Question) -> float:
        return question.deadline - time.perf_counter() - MARGIN_SECONDS

    def _advice(self, question: Question, game: BatchGame, plan: Plan) -> Advice | None:
        labels, action, own = game.spec.actions.label, int(plan.decision.actions[0]), int(plan.own[0])
        changed, simulations = action != own, int(plan.simulations[0])
        outcome = "changed" if changed else "kept" if simulations else "sure"
        self._metrics.count(self._metrics.plans, game.spec.id, outcome)
        if not simulations and not changed:
            return None
        found = f"{labels(action)} instead of {labels(own)}" if changed else "nothing better"
        words = (question.sight.words or (lambda _: None))(action) or labels(action)
        reason = f"{simulations} simulations found {found}; {plan.decision.values[0]:+.3f} expected"
        return Advice(action, labels(action), words, reason, SOURCE, False)

    def _log_once(self, game: str) -> None:
        self._metrics.count(self._metrics.plans, game, "no_game")
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


class Advising:
    """The advisers of a service, by game."""

    def __init__(self) -> None:
        self.advisers: dict[str, Adviser] = {}

    async def improve(self, question: Question, item: Item, caller: Caller) -> Advice | None:
        """What an adviser says to a decision that was computed; None where it stands as it is. A caller that gives up
        does not stop the question: its answer is kept for the next time."""
        adviser = self.advisers.get(question.slot.served.spec.id)
        if adviser is None or item.decision is None or question.choosing.sample:
            return None
        adviser.when.note(1)
        seen, legal = question.sight.observation[None], question.legal[None]
        if not adviser.when.unsure(question.slot.served.entry, seen, legal, item.decision.probabilities)[0]:
            return None
        if question.sight.table is None:
            adviser.metrics.count("no_words")
            return None
        if self._seconds(question) < LEAST_ADVICE_SECONDS:
            adviser.metrics.count("too_late")
            return None
        if not adviser.when.claim():
            return None
        advice = await self._ask(adviser, question, item, caller)
        question.doubted = advice is None
        if advice is None or not question.legal[advice.action]:
            return None
        adviser.metrics.add(followed=1, changed=int(advice.action != int(item.decision.actions[0])))
        return advice

    async def strategy(self, question: Question, item: Item, caller: Caller) -> Advice:
        """Advice a client asks for by name: whether it is needed was judged there; share and budget hold here."""
        game = question.slot.served.spec.id
        adviser = self.advisers.get(game)
        if adviser is None:
            raise RefusedError(Code.FAILED_PRECONDITION, f"Nobody advises game '{game}' here; serve it with --adviser.")
        if question.sight.table is None:
            adviser.metrics.count("no_words")
            raise RefusedError(
                Code.INVALID_ARGUMENT, "An adviser needs the state in words; send a snapshot or a state by keys."
            )
        adviser.when.note(1)
        if not adviser.when.claim():
            raise RefusedError(
                Code.RESOURCE_EXHAUSTED,
                f"The adviser is asked about {adviser.when.settings.share:.3g} of the decisions at most, and was asked "
                "about so many; come again when more were taken.",
            )
        advice = await self._ask(adviser, question, item, caller)
        if advice is None or not question.legal[advice.action]:
            raise RefusedError(Code.UNAVAILABLE, "There is no advice now; why is counted (jimbot_adviser_outcomes).")
        return advice

    def close(self) -> None:
        for adviser in self.advisers.values():
            adviser.close()

    async def _ask(self, adviser: Adviser, question: Question, item: Item, caller: Caller) -> Advice | None:
        seconds = self._seconds(question)
        try:
            return await caller.join(adviser.begin(_asked_about(adviser, question, item), seconds), seconds)
        except TimeoutError:
            return None

    def _seconds(self, question: Question) -> float:
        return question.deadline - time.perf_counter() - ADVICE_MARGIN_SECONDS


def _asked_about(adviser: Adviser, question: Question, item: Item) -> Asked:
    """A decision in the words of a question."""
    served, sight = question.slot.served, question.sight
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
