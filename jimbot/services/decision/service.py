"""`DecisionService`: the one core behind gRPC, the bus and callers in the same process.

    service = DecisionService()
    service.add(ServedPolicy.make(game_entry("hackmatrix"), *load_policy("hackmatrix")))
    answer = service.decide(LearningDecisionRequest(...))

A decision is a chain: read → recognise → compute → improve → answer → log. A request is read and checked by its caller
(bad ones fail alone and at once), recognised by its id or its state where it was answered before, computed in its
policy's batcher together with others, and answered with all that happened. The cache, canary, shadow, fallbacks, hints,
plans, advisers and listeners are links of the chain only where they were configured.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import numpy as np

from jimbot.adviser.adviser import Adviser
from jimbot.adviser.reply import Advice
from jimbot.games.hooks.programs import Sight
from jimbot.games.spec import GameSpec
from jimbot.planning import OwnSearch, Planner
from jimbot.proto import decisions_pb2 as wire
from jimbot.proto import events_pb2 as messages
from jimbot.runs.resources import ResourceCoordinator
from jimbot.services.decision.answers import computed, stepped_in, strategy_message, take_advice
from jimbot.services.decision.batcher import BLOCKING, IN_LOOP, Batcher, Caller, Item, finished
from jimbot.services.decision.question import BEST, Answer, DecisionRecord, Question, Request, choose, read_choosing
from jimbot.services.decision.recent import RecentAnswers, RequestIds, digest
from jimbot.services.decision.refusal import Code, RefusedError, invalid, stopping
from jimbot.services.decision.rows import LONGEST_ID, RowDecisions
from jimbot.services.decision.served import ServedPolicy
from jimbot.services.decision.slots import OTHER, Slot, Slots
from jimbot.services.decision.stages import Advising, Fallbacks, Given, Hinting, Plans
from jimbot.services.decision.states import OBSERVATION, check_rows, limited, read_observations
from jimbot.services.settings import ServiceSettings

_MARGIN_MS = 5.0  # left of a deadline for the way back, where a fallback is to arrive in time


class DecisionService(Slots):
    """Answers for the policies it was given (`Slots`: add, replace, try_out, shadow)."""

    def __init__(
        self, settings: ServiceSettings = ServiceSettings(), coordinator: ResourceCoordinator | None = None
    ) -> None:
        super().__init__(settings, coordinator)
        self.listeners: list[Callable[[DecisionRecord], None]] = []
        """Called with every answer and refusal: the log, the bus. They must not block."""
        self._ids: RequestIds[Answer] = RequestIds(Answer, settings.idempotency_seconds, settings.idempotency_size)
        self._cache = RecentAnswers(settings.cache_size, self.metrics) if settings.cache_size else None
        self._fallbacks = Fallbacks(settings.fallback) if settings.fallback != "none" else None
        self.hinting: Hinting | None = None
        """What the knowledge graph adds to answers, where one is asked."""
        self.plans, self.advising = Plans(self.metrics), Advising()
        self._improvers: list[Plans | Advising] = []
        self._rows = RowDecisions(self)
        self.draining = False

    # --- deciding ---

    def decide(self, request: Request) -> Answer:
        """The decision, for a caller that waits; a RefusedError says why there is none."""
        return finished(self.decide_async(request, caller=BLOCKING))

    async def decide_async(
        self, request: Request, remaining: float | None = None, traceparent: str = "", caller: Caller = IN_LOOP
    ) -> Answer:
        """The same without blocking the event loop; `remaining` seconds are what the caller has left,
        `traceparent` is the trace it belongs to."""
        began = time.perf_counter()
        self.metrics.answering.append(None)
        try:
            if request.game_state.WhichOneof("form") in (OBSERVATION, None):
                question = self._read(request, remaining, began)
            else:  # a game is restored, in a thread of its own
                question = await caller.start(self._read, request, remaining, began)
            claimed = self._ids.claim(request.request_id, question.body)
            if claimed is not None:
                answer = await self._joined(claimed, question, caller)
            elif self._cache is not None and (known := self._cache.find(question)) is not None:
                answer = self._give(question, known)
            else:
                answer = await self._computed(question, caller)
        except RefusedError as refusal:
            self.log(request, None, refusal, began, traceparent)
            raise
        finally:
            self.metrics.answering.pop()
        self.log(request, answer, None, began, traceparent)
        return answer

    async def decide_rows(self, batch: wire.DecisionBatch, traceparent: str = "") -> wire.DecisionBatchAnswer:
        """All rows of a message by one inference; a refusal is an answer too, so that a stream goes on."""
        self.metrics.answering.append(None)
        try:
            return await self._rows.decide(batch, traceparent)
        finally:
            self.metrics.answering.pop()

    async def strategy(self, request: messages.StrategyRequest) -> messages.StrategyResponse:
        """What the adviser of a game says about a state that a client is in doubt about; a RefusedError says why it
        says nothing."""
        game, limit = request.game or self.only_game(), request.time_limit_ms or self.settings.longest_ms
        asked = Request(request_id=uuid.uuid4().hex, game=game, game_state=request.game_state, time_limit_ms=limit)
        question = await asyncio.to_thread(self._read, asked, None, time.perf_counter())
        rows = question.sight.observation[None], question.legal[None]
        outcome = await self.compute(
            question.slot, question.batchers, rows, question.deadline, unchecked=question.unchecked
        )
        if isinstance(outcome, RefusedError):
            raise outcome
        return strategy_message(request, outcome, await self.advising.strategy(question, outcome, IN_LOOP))

    # --- what is configured ---

    def advise(self, game: str, adviser: Adviser) -> None:
        """From now on `adviser` is asked about decisions of a game that its policies are not sure of."""
        self.advising.advisers[game] = adviser
        self._improve_by(self.advising, *self._slots.get(game, {}).values())

    def look_ahead(self, served: ServedPolicy, planner: Planner | OwnSearch) -> None:
        """From now on decisions of this policy are planned, as long as their requests have time."""
        self.plans.add(served, planner)
        self._improve_by(self.plans, self.find(served.spec.id, served.name))

    def _improve_by(self, stage: Plans | Advising, *slots: Slot) -> None:
        wanted = {id(stage), *map(id, self._improvers)}
        self._improvers = [one for one in (self.plans, self.advising) if id(one) in wanted]
        for slot in slots:
            slot.reader.describes = True
            slot.reader.warm()

    def drain(self) -> None:
        """No new work; what was taken is finished."""
        self.draining = True

    def close(self) -> None:
        """Finishes what was taken and stops."""
        self.drain()
        super().close()
        self.advising.close()
        self.plans.close()
        if self.hinting is not None:
            self.hinting.close()

    # --- read ---

    def _read(self, request: Request, remaining: float | None, began: float) -> Question:
        if self.draining:
            raise stopping()
        if len(request.request_id) > LONGEST_ID:
            raise invalid(f"The request id has {len(request.request_id)} characters; at most {LONGEST_ID} are taken.")
        if not request.request_id:
            request.request_id = uuid.uuid4().hex
        slot = self.find(request.game, request.policy, request.game_version)
        batcher = slot.batcher
        if self._fallbacks is None and len(batcher.queue) >= self.settings.queue_size:
            raise batcher.full()  # before anything is read: turning away must cost next to nothing
        deadline = self.deadline(request.time_limit_ms, remaining, began)
        choosing, alternatives = BEST, 0
        if request.HasField("choosing"):
            choosing, alternatives = read_choosing(request.choosing), request.choosing.alternatives
        state, spec, unchecked = request.game_state, batcher.served.spec, None
        if state.WhichOneof("form") == OBSERVATION:  # looked at with the others of its batch
            unchecked = slot.reader.spec
            observation, masks = read_observations(state.observation, unchecked, most_rows=1)
            sight = Sight(observation[0], masks[0])
        else:
            sight = slot.reader.read(state)
        legal = sight.legal_mask
        if request.available_actions or request.available_labels:
            legal = limited(legal, request, spec)
        alternatives = min(alternatives or self.settings.alternatives, spec.actions.size)
        said = f"{request.game} {request.policy} {alternatives} {sight.words is None}".encode()
        if choosing.sample:
            said += choosing.key
        body = digest(said + legal.tobytes(), sight.observation.tobytes())
        batchers = (batcher,) if slot.canary is None else slot.batchers(request.session_id or request.request_id)
        return Question(request, slot, batchers, sight, legal, choosing, alternatives, deadline, body, began, unchecked)

    def deadline(self, limit_ms: int, remaining: float | None, began: float) -> float:
        """When a request is over: what it says itself, else what its call has left, else the usual; never later than
        the cap. (One call may be the first of several attempts, so its own end is not the request's.)"""
        limit = self.settings.time_limit_ms / 1000 if remaining is None else remaining
        limit = min(limit_ms / 1000 if limit_ms else limit, self.settings.longest_ms / 1000)
        if self._fallbacks is not None:
            limit -= min(_MARGIN_MS / 1000, 0.1 * limit)
        return began + limit

    # --- recognise ---

    async def _joined(self, claimed: Future[Answer], question: Question, caller: Caller) -> Answer:
        """The answer that was, or is being, computed for the first request of the same id."""
        self.metrics.count(self.metrics.repeats, question.request.game)
        try:
            return await caller.join(claimed, question.deadline - time.perf_counter())
        except TimeoutError:
            problem = "The first request of this id is still being computed."
            raise RefusedError(Code.DEADLINE_EXCEEDED, problem) from None

    # --- compute ---

    async def _computed(self, question: Question, caller: Caller) -> Answer:
        """The policy and the graph at the same time; then whatever improves the decision. A caller that goes away
        meanwhile does not stop the work: it may ask again under the same id, and then finds the policy's answer."""
        looking = None
        if self.hinting is not None and self.hinting.suits(question):
            looking = caller.start(self.hinting.hints, question)

        def settle(outcome: Item | RefusedError) -> None:
            with suppress(RefusedError):
                self._settle(question, outcome)

        rows = question.sight.observation[None], question.legal[None]
        outcome = await self.compute(
            question.slot, question.batchers, rows, question.deadline, caller, settle, question.unchecked
        )
        if looking is not None:
            question.hints = await looking
        advice = None
        if self._improvers and isinstance(outcome, Item):
            try:
                for stage in self._improvers:
                    advice = advice or await stage.improve(question, outcome, caller)
            except asyncio.CancelledError:
                settle(outcome)
                raise
        return self._settle(question, outcome, advice)

    async def compute(
        self,
        slot: Slot,
        batchers: Sequence[Batcher],
        rows: tuple[np.ndarray, np.ndarray],
        deadline: float,
        caller: Caller = IN_LOOP,
        gone: Callable[[Item | RefusedError], None] | None = None,
        unchecked: GameSpec | None = None,
    ) -> Item | RefusedError:
        """The first answer of these batchers to (n, D) observations and (n, A) masks, which nobody has looked at yet
        where `unchecked` says what they should be; `gone` gets it where the caller did not wait for it."""
        for batcher in batchers:
            item = Item(*rows, deadline, unchecked)
            outcome: Item | RefusedError
            try:
                await caller.compute(batcher, item)
                outcome = item.error or item
            except RefusedError as full:
                outcome = full
            except asyncio.CancelledError:
                if gone is not None:
                    _when_done(item, gone)
                raise
            if slot.canary is None or not slot.judge(batcher, item):
                break
        return outcome

    # --- answer ---

    def _settle(self, question: Question, outcome: Item | RefusedError, advice: Advice | None = None) -> Answer:
        """The answer to a computed request, as advised where it was; or a fallback, or the refusal."""
        if isinstance(outcome, RefusedError):
            return self._stepped_in(question, outcome)
        request, served = question.request, outcome.served
        assert served is not None
        answer = computed(question, served, outcome)
        own = answer.selected_action.number
        if advice is not None:
            take_advice(answer, question, served, outcome, advice)
        if self._cache is not None:
            self._cache.keep(question, served, answer)
        self._give(question, answer)
        timing = answer.timing
        self.metrics.decided(request.game, served.name, 1, timing.queue_ms, timing.inference_ms, timing.total_ms)
        if question.slot.shadow is not None:
            question.slot.show_shadow(
                outcome, [own], lambda rows: [choose(rows[0], question.choosing, request.request_id)]
            )
        return answer

    def _stepped_in(self, question: Question, refusal: RefusedError) -> Answer:
        served = question.slot.served
        try:
            given = self.stand_in(served, question.sight.observation[None], question.legal[None], refusal)
        except RefusedError as fault:  # it was refused before anybody had looked at what it holds
            given, refusal = None, fault
        if given is not None:
            return self._give(question, stepped_in(question, served, given, refusal))
        self._ids.drop(question.request.request_id, refusal)
        raise refusal

    def stand_in(
        self, served: ServedPolicy, observation: np.ndarray, legal: np.ndarray, refusal: RefusedError
    ) -> Given | None:
        """A legal move in the policy's place, where one is wanted."""
        if self._fallbacks is None or refusal.code == Code.INVALID_ARGUMENT:
            return None
        check_rows(observation, legal, served.spec)
        given = self._fallbacks.answer(served, observation, legal, refusal)
        if given is not None:
            reason = messages.Fallback.Name(given.reason).removeprefix("FALLBACK_").lower()
            self.metrics.count(self.metrics.fallbacks, served.spec.id, reason)
        return given

    def _give(self, question: Question, answer: Answer) -> Answer:
        """Hands the answer to all who wait for this id."""
        answer.timing.total_ms = (time.perf_counter() - question.began) * 1000
        self._ids.settle(question.request.request_id, answer)
        return answer

    # --- log ---

    def log(
        self,
        request: Request,
        answer: Answer | None,
        refusal: RefusedError | None,
        began: float,
        traceparent: str = "",
        rows: int = 0,
    ) -> None:
        """Counts, and calls the listeners."""
        metrics, game = self.metrics, request.game if request.game in self._slots else OTHER
        code = Code.OK if refusal is None else refusal.code
        metrics.count(metrics.requests, game, code.name)
        if code == Code.RESOURCE_EXHAUSTED:
            metrics.count(metrics.shed, game)
        if self.listeners:
            total_ms = (time.perf_counter() - began) * 1000
            record = DecisionRecord(request, answer, refusal, game, total_ms, traceparent, rows)
            for listener in self.listeners:
                listener(record)


def _when_done(item: Item, then: Callable[[Item | RefusedError], None]) -> None:
    def called(_: Any) -> None:
        then(item.error or item)

    item.wait_on().add_done_callback(called)
