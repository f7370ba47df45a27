"""`DecisionService`: the one core behind gRPC, the bus and callers in the same process.

    service = DecisionService()
    service.add(ServedPolicy.make(game_entry("hackmatrix"), *load_policy("hackmatrix")))
    answer = service.decide(LearningDecisionRequest(...))

A request is read and checked by whoever brings it (bad ones fail alone and at once), recognised by its id or its state
where it was answered before, computed in its policy's lane together with others, and answered with all that happened.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress

import numpy as np

from jimbot.advisor.adviser import Adviser
from jimbot.advisor.reply import Advice
from jimbot.planning import OwnSearch, Planner
from jimbot.proto import decisions_pb2 as wire
from jimbot.proto import events_pb2 as messages
from jimbot.runs.resources import ResourceCoordinator
from jimbot.services.decision.advising import Advising
from jimbot.services.decision.answers import computed, stepped_in, strategy_message, take_advice
from jimbot.services.decision.choosing import choose, read_choosing
from jimbot.services.decision.fallback import Fallbacks, Given
from jimbot.services.decision.hinting import Hinting
from jimbot.services.decision.lane import Item, Lane
from jimbot.services.decision.places import Place, Places
from jimbot.services.decision.plans import Plans
from jimbot.services.decision.question import (
    Answer,
    DecisionRecord,
    Question,
    Request,
    joined,
    joined_async,
    session_of,
)
from jimbot.services.decision.recent import RecentAnswers, RequestIds, digest
from jimbot.services.decision.refusal import Code, RefusedError, invalid
from jimbot.services.decision.rows import LONGEST_ID, RowDecisions
from jimbot.services.decision.served import ServedPolicy
from jimbot.services.decision.settings import ServiceSettings
from jimbot.services.decision.states import check_version, is_ready_made, limited

NOBODY = RefusedError(Code.INTERNAL, "No policy was asked.")
_MARGIN_MS = 5.0  # left of a deadline for the way back, where a fallback is to arrive in time


class DecisionService(Places):
    """Answers for the policies it was given (`Places`: add, replace, try_out, shadow)."""

    def __init__(
        self, settings: ServiceSettings = ServiceSettings(), coordinator: ResourceCoordinator | None = None
    ) -> None:
        super().__init__(settings, coordinator)
        self.listeners: list[Callable[[DecisionRecord], None]] = []
        """Told of every answer and refusal: the log, the bus. They must not block."""
        self._ids: RequestIds[Answer] = RequestIds(settings.idempotency_seconds, settings.idempotency_size)
        self._cache: RecentAnswers[Answer] = RecentAnswers(settings.cache_size)
        self.fallbacks = Fallbacks(settings.fallback)
        self.advising = Advising()
        self.plans = Plans(self.figures)
        self._rows = RowDecisions(self)
        self.hinting: Hinting | None = None
        """What the knowledge graph adds to answers, where one is asked."""
        self.draining = False

    # --- deciding ---

    async def decide_rows(self, batch: wire.DecisionBatch, traceparent: str = "") -> wire.DecisionBatchAnswer:
        """All rows of a message by one inference; a refusal is an answer too, so that a stream goes on."""
        return await self._rows.decide(batch, traceparent)

    def decide(self, request: Request) -> Answer:
        """The decision, for a caller that waits; a RefusedError says why there is none."""
        began = time.perf_counter()
        try:
            question = self._question(request, None, began)
            answer, mine = self._known(question)
            if not mine:
                answer = joined(question)
            elif answer is None:
                if self.hinting is not None and self.hinting.suits(question):
                    question.hints = self.hinting.hints(question)
                outcome = self._asked(question)
                advice = None
                if isinstance(outcome, Item):
                    advice = self.plans.ask(question, outcome) or self.advising.ask(question, outcome)
                answer = self._settle(question, outcome, advice)
        except RefusedError as refusal:
            raise self.refused(request, refusal, began) from None
        self.tell(request, answer, None, began)
        return answer

    async def decide_async(self, request: Request, remaining: float | None = None, traceparent: str = "") -> Answer:
        """The same without blocking the event loop; `remaining` seconds are what the caller has left,
        `traceparent` is the trace it belongs to."""
        began = time.perf_counter()
        try:
            if is_ready_made(request.game_state):
                question = self._question(request, remaining, began)
            else:  # games are restored in a thread of their own
                question = await asyncio.to_thread(self._question, request, remaining, began)
            answer, mine = self._known(question)
            if not mine:
                answer = await joined_async(question)
            elif answer is None:
                outcome = await self._asked_with_hints(question)
                answer = self._settle(question, outcome, await self._advised(question, outcome))
        except RefusedError as refusal:
            raise self.refused(request, refusal, began, traceparent) from None
        self.tell(request, answer, None, began, traceparent)
        return answer

    async def strategy(self, request: messages.StrategyRequest) -> messages.StrategyResponse:
        """What the adviser of a game says about a state somebody else is in doubt about; a RefusedError says why it
        says nothing."""
        game, limit = request.game or self.only_game(), request.time_limit_ms or self.settings.time_limit_cap_ms
        asked = Request(request_id=uuid.uuid4().hex, game=game, game_state=request.game_state, time_limit_ms=limit)
        question = await asyncio.to_thread(self._question, asked, None, time.perf_counter())
        outcome = await self._asked_async(question)
        if isinstance(outcome, RefusedError):
            raise outcome
        return strategy_message(request, outcome, await self.advising.strategy(question, outcome))

    def advise(self, game: str, adviser: Adviser) -> None:
        """From now on `adviser` is asked about decisions of a game that its policies are not sure of."""
        self.advising.advisers[game] = adviser
        for place in self._places.get(game, {}).values():
            place.reader.telling = True
            place.reader.warm()

    def look_ahead(self, served: ServedPolicy, planner: Planner | OwnSearch) -> None:
        """From now on decisions of this policy are planned, as long as their requests have time."""
        self.plans.add(served, planner)
        reader = self.find(served.spec.id, served.name).reader
        reader.telling = True
        reader.warm()

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

    # --- reading a request ---

    def _question(self, request: Request, remaining: float | None, began: float) -> Question:
        self.require_open()
        if len(request.request_id) > LONGEST_ID:
            raise invalid(f"The request id has {len(request.request_id)} characters; at most {LONGEST_ID} are taken.")
        if not request.request_id:
            request.request_id = uuid.uuid4().hex
        place = self.find(request.game, request.policy)
        spec = place.served.spec
        check_version(spec, request.game_version)
        if not self.fallbacks.chain:
            place.lane.require_room()  # before anything is read: turning away must cost next to nothing
        deadline = self.deadline(request.time_limit_ms, remaining, began)
        choosing = read_choosing(request.choosing)
        sight = place.reader.read(request.game_state)
        legal = limited(sight.legal_mask, request, spec)
        asked = request.choosing.alternatives
        alternatives = min(asked or self.settings.alternatives, spec.actions.size)
        said = f"{request.game} {request.policy} {alternatives} {sight.words is None}".encode() + choosing.key
        body = digest(said + legal.tobytes(), sight.observation.tobytes())
        return Question(request, place, sight, legal, choosing, alternatives, deadline, body, began)

    def deadline(self, limit_ms: int, remaining: float | None, began: float) -> float:
        """When a request is over: what it says itself, else what its call has left, else the usual; never later than
        the cap. (One call may be the first of several attempts, so its own end is not the request's.)"""
        limit = self.settings.time_limit_ms / 1000 if remaining is None else remaining
        limit = min(limit_ms / 1000 if limit_ms else limit, self.settings.time_limit_cap_ms / 1000)
        if self.fallbacks.chain:
            limit -= min(_MARGIN_MS / 1000, 0.1 * limit)
        return began + limit

    def require_open(self) -> None:
        if self.draining:
            raise RefusedError(Code.UNAVAILABLE, "The service is stopping; ask another one.", 1000)

    # --- answers that are known already ---

    def _known(self, question: Question) -> tuple[Answer | None, bool]:
        """(the answer if there is one, whether this request is the first of its id)."""
        request = question.request
        question.answer, mine = self._ids.claim(request.request_id, question.body)
        if not mine:
            self.figures.count(self.figures.repeats, request.game)
            return None, False
        lane = next(question.place.lanes(session_of(request)))
        found = self._cache.get(self._key(question, lane.served)) if self._may_cache(question) else None
        if found is None:
            return None, True
        answer = Answer()
        answer.CopyFrom(found)
        answer.request_id, answer.cached = request.request_id, True
        answer.timing.queue_ms = answer.timing.inference_ms = 0.0
        answer.timing.batch_size = 0
        self.figures.count(self.figures.cache_hits, request.game)
        self._give(question, answer)
        return answer, True

    def _may_cache(self, question: Question) -> bool:
        """Luck that comes from the request's id is its own."""
        return self.settings.cache_size > 0 and (not question.choosing.sample or question.choosing.seed != 0)

    def _key(self, question: Question, served: ServedPolicy) -> bytes:
        return question.body + served.hash.encode()

    def _give(self, question: Question, answer: Answer) -> None:
        answer.timing.total_ms = (time.perf_counter() - question.began) * 1000
        if question.answer is not None and not question.answer.done():
            question.answer.set_result(answer)

    # --- computing ---

    def _asked(self, question: Question) -> Item | RefusedError:
        outcome: Item | RefusedError = NOBODY
        for lane, item in self._attempts(question):
            try:
                lane.ask(item)
            except RefusedError as full:
                outcome = full
            else:
                outcome = item.error or item
        return outcome

    async def _asked_async(self, question: Question) -> Item | RefusedError:
        outcome: Item | RefusedError = NOBODY
        for lane, item in self._attempts(question):
            try:
                await self._finished(question, lane, item)
            except RefusedError as full:
                outcome = full
            else:
                outcome = item.error or item
        return outcome

    async def _asked_with_hints(self, question: Question) -> Item | RefusedError:
        """The policy and the graph at the same time, each in threads of its own."""
        if self.hinting is None or not self.hinting.suits(question):
            return await self._asked_async(question)
        looking = asyncio.create_task(asyncio.to_thread(self.hinting.hints, question))
        outcome = await self._asked_async(question)
        question.hints = await looking
        return outcome

    def _attempts(self, question: Question) -> Iterator[tuple[Lane, Item]]:
        """Whom to ask with what, one after the other until one has answered."""
        for lane in question.place.lanes(session_of(question.request)):
            item = Item(question.sight.observation[None], question.legal[None], question.deadline)
            yield lane, item
            if not self.keep_books(question.place, lane, item):
                return

    async def _finished(self, question: Question, lane: Lane, item: Item) -> None:
        """Waits for a lane. A caller that goes away meanwhile does not stop the work: it may ask again under the same
        id, and then finds the answer or joins the wait."""
        try:
            await lane.submit(item)
        except asyncio.CancelledError:

            def settle_later(_: object) -> None:
                with suppress(RefusedError):
                    self._settle(question, item.error or item)

            item.wait_on().add_done_callback(settle_later)
            raise

    async def _advised(self, question: Question, outcome: Item | RefusedError) -> Advice | None:
        """What a plan or an adviser says to a decision, in time; who goes away meanwhile leaves the policy's."""
        if isinstance(outcome, RefusedError):
            return None
        try:
            planned = await self.plans.ask_async(question, outcome)
            return planned or await self.advising.ask_async(question, outcome)
        except asyncio.CancelledError:
            self._settle(question, outcome)
            raise

    def keep_books(self, place: Place, lane: Lane, item: Item) -> bool:
        """Of a trial; whether the proven policy shall answer in the canary's place."""
        canary = place.canary
        if canary is None:
            return False
        if lane is place.lane:
            if item.decision is not None:
                canary.note_other(item.inference_ms)
            return False
        failed = item.decision is None
        if item.error is not None and item.error.code == Code.INVALID_ARGUMENT:  # nobody could have answered that
            return False
        if canary.note(failed, item.inference_ms, item.illegal):
            self.figures.count(self.figures.steps_back, place.served.spec.id)
        return failed

    def stand_in(
        self, served: ServedPolicy, observation: np.ndarray, legal: np.ndarray, refusal: RefusedError
    ) -> Given | None:
        """A legal move in the policy's place, where one is wanted."""
        given = self.fallbacks.answer(served, observation, legal, refusal)
        if given is not None:
            reason = messages.Fallback.Name(given.reason).removeprefix("FALLBACK_").lower()
            self.figures.count(self.figures.fallbacks, served.spec.id, reason)
        return given

    def _settle(self, question: Question, outcome: Item | RefusedError, advice: Advice | None = None) -> Answer:
        """The answer to a computed request, as advised where it was; or a fallback, or the refusal."""
        request, served = question.request, question.place.served
        if isinstance(outcome, RefusedError):
            given = self.stand_in(served, question.sight.observation[None], question.legal[None], outcome)
            if given is None:
                self._ids.drop(request.request_id)
                if question.answer is not None:
                    question.answer.set_exception(outcome)
                raise outcome
            answer = stepped_in(question, served, given, outcome)
            self._give(question, answer)
            return answer
        assert outcome.served is not None
        assert outcome.decision is not None
        answer = computed(question, outcome.served, outcome)
        own = answer.selected_action.number
        if advice is not None:
            take_advice(answer, question, outcome.served, outcome, advice)
        if self._may_cache(question) and not question.doubted:
            self._cache.put(self._key(question, outcome.served), answer)
        self.figures.count(self.figures.decisions, request.game, outcome.served.name)
        self.figures.timed(outcome.queue_ms, outcome.inference_ms, (time.perf_counter() - question.began) * 1000)
        self._give(question, answer)
        self.show_shadow(
            question.place, outcome, [own], lambda rows: [choose(rows[0], question.choosing, request.request_id)]
        )
        return answer

    def show_shadow(
        self, place: Place, answered: Item, actions: list[int], choose: Callable[[np.ndarray], list[int]]
    ) -> None:
        """Asks the shadow what was just computed, and counts how often it would have said the same."""
        shadow = place.shadow
        if shadow is None:
            return
        game, figures, rows = place.served.spec.id, self.figures, len(actions)
        item = Item(answered.observation, answered.legal, answered.deadline)

        def compare(_: object) -> None:
            if item.decision is None:
                figures.count(figures.shadows, game, "failed", amount=rows)
                return
            others = choose(item.decision.probabilities)
            same = sum(other == action for other, action in zip(others, actions, strict=True))
            for result, amount in (("same", same), ("other", rows - same)):
                if amount:
                    figures.count(figures.shadows, game, result, amount=amount)

        item.future = Future()
        item.future.add_done_callback(compare)
        if not shadow.send(item):
            figures.count(figures.shadows, game, "dropped", amount=rows)

    # --- what happened ---

    def refused(
        self, request: Request, refusal: RefusedError, began: float, traceparent: str = "", rows: int = 0
    ) -> RefusedError:
        if refusal.code == Code.RESOURCE_EXHAUSTED:
            self.figures.count(self.figures.shed, self.label(request.game))
        self.tell(request, None, refusal, began, traceparent, rows)
        return refusal

    def tell(
        self,
        request: Request,
        answer: Answer | None,
        refusal: RefusedError | None,
        began: float,
        traceparent: str = "",
        rows: int = 0,
    ) -> None:
        """Counts, and tells the listeners."""
        game = self.label(request.game)
        code = Code.OK if refusal is None else refusal.code
        self.figures.count(self.figures.requests, game, code.name)
        if self.listeners:
            record = DecisionRecord(
                request, answer, refusal, game, (time.perf_counter() - began) * 1000, traceparent, rows
            )
            for listener in self.listeners:
                listener(record)
