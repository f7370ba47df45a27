"""`DecisionService`: the one core behind gRPC, the bus and callers in the same process.

    service = DecisionService()
    service.add(ServedPolicy.make(game_entry("hackmatrix"), *load_policy("hackmatrix")))
    answer = service.decide(LearningDecisionRequest(...))

A request is read and checked by whoever brings it (bad ones fail alone and at once), recognised by its id or its state
where it was answered before, computed in its policy's lane together with others, and answered with all that happened.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

import jimbot
from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.hooks import Sight
from jimbot.proto import decisions_pb2 as wire
from jimbot.proto import events_pb2 as messages
from jimbot.runs.resources import ResourceCoordinator, default_coordinator
from jimbot.services.decision.answers import fill, strategy_name
from jimbot.services.decision.choosing import Choosing, choose, read_choosing
from jimbot.services.decision.fallback import Fallbacks, Given
from jimbot.services.decision.figures import Figures
from jimbot.services.decision.lane import Item, Lane
from jimbot.services.decision.recent import RecentAnswers, RequestIds
from jimbot.services.decision.refusal import Code, RefusedError, invalid
from jimbot.services.decision.rollout import Canary, CanaryRule
from jimbot.services.decision.rows import LONGEST_ID, RowDecisions
from jimbot.services.decision.served import ServedPolicy, check
from jimbot.services.decision.settings import ServiceSettings
from jimbot.services.decision.states import (
    StateReader,
    check_version,
    is_ready_made,
    limited,
    state_forms,
)

Request = messages.LearningDecisionRequest
Answer = messages.LearningDecisionResponse
_MARGIN_MS = 5.0  # left of a deadline for the way back, where a fallback is to arrive in time
OTHER = "other"  # label of games nobody serves


@dataclass
class Place:
    """Where the requests for one policy go."""

    lane: Lane
    reader: StateReader
    canary_lane: Lane | None = None
    canary: Canary | None = None
    shadow: Lane | None = None

    @property
    def served(self) -> ServedPolicy:
        return self.lane.served

    def lanes(self, session: str) -> Iterator[Lane]:
        """Whom to ask, in this order until one answers."""
        if self.canary is not None and self.canary_lane is not None and self.canary.takes(session):
            yield self.canary_lane
        yield self.lane


@dataclass
class Question:
    """A request that was read."""

    request: Request
    place: Place
    sight: Sight
    legal: np.ndarray  # (A,) bool: legal and available
    choosing: Choosing
    alternatives: int
    deadline: float
    body: bytes  # tells two requests apart
    began: float
    answer: Future[Answer] | None = field(default=None)


@dataclass(frozen=True)
class Told:
    """What listeners hear of a decision."""

    request: Request
    answer: Answer | None
    refusal: RefusedError | None
    game: str
    total_ms: float
    traceparent: str = ""
    """The caller's W3C trace context, if it sent one."""

    @property
    def trace_id(self) -> str:
        return self.traceparent.split("-")[1] if self.traceparent.count("-") == 3 else ""


class DecisionService:
    """Several policies at once, by game and name. The first of a game answers requests that name none."""

    def __init__(
        self, settings: ServiceSettings = ServiceSettings(), coordinator: ResourceCoordinator | None = None
    ) -> None:
        self.settings = settings
        self.figures = Figures()
        self.listeners: list[Callable[[Told], None]] = []
        """Told of every answer and refusal: the log, the bus. They must not block."""
        self._coordinator = coordinator or default_coordinator()
        self._places: dict[str, dict[str, Place]] = {}
        self._ids: RequestIds[Answer] = RequestIds(settings.idempotency_seconds, settings.idempotency_size)
        self._cache: RecentAnswers[Answer] = RecentAnswers(settings.cache_size)
        self.fallbacks = Fallbacks(settings.fallback)
        self._rows = RowDecisions(self)
        self._changing = threading.Lock()
        self.draining = False
        self.loading = False
        """While policies are still being added, one that is missing is not unknown but not there yet."""
        self.figures.gauges["queue_depth"] = self._depths

    # --- which policies ---

    def add(self, served: ServedPolicy) -> None:
        """Warms a policy, checks it on golden states and opens it to requests."""
        check(served)
        with self._changing:
            of_game = self._places.setdefault(served.spec.id, {})
            if served.name in of_game:
                raise UsageError(
                    f"Two policies of game '{served.spec.id}' are called '{served.name}'; give one another name."
                )
            of_game[served.name] = Place(self._lane(served), StateReader(served.entry, served.options))

    def replace(self, served: ServedPolicy) -> ServedPolicy:
        """The policy of this game and name is exchanged between two batches, after the new one was checked; the old
        one goes on if it fails. Returns the old one."""
        game = served.spec.id
        place = self.find(game, served.name)
        try:
            check(served)
        except Exception:
            self.figures.count(self.figures.reloads, game, "refused")
            raise
        old = place.lane.swap(served)
        self.figures.count(self.figures.reloads, game, "swapped")
        return old

    def try_out(self, served: ServedPolicy, name: str, rule: CanaryRule = CanaryRule()) -> Canary:
        """`served` answers a share of the games in place of policy `name`, until it errs."""
        check(served)
        place = self.find(served.spec.id, name)
        place.canary_lane, place.canary = self._lane(served), Canary(rule)
        return place.canary

    def shadow(self, served: ServedPolicy, name: str) -> None:
        """`served` is asked whatever policy `name` is asked; its answers are counted, never sent."""
        check(served)
        self.find(served.spec.id, name).shadow = self._lane(served)

    def policies(self, game: str = "") -> wire.PoliciesResponse:
        """What is served, with the state of every trial."""
        answer = wire.PoliciesResponse(server_version=jimbot.__version__)
        for of_game, places in self._places.items():
            for place in places.values() if game in ("", of_game) else ():
                answer.policies.append(_description(place.served, "serving"))
                if place.canary is not None and place.canary_lane is not None:
                    status = "withdrawn" if place.canary.withdrawn else "canary"
                    share = 0.0 if place.canary.withdrawn else place.canary.rule.share
                    answer.policies.append(_description(place.canary_lane.served, status, share))
                if place.shadow is not None:
                    answer.policies.append(_description(place.shadow.served, "shadow"))
        return answer

    # --- deciding ---

    async def decide_rows(self, batch: wire.DecisionBatch) -> wire.DecisionBatchAnswer:
        """All rows of a message by one inference; a refusal is an answer too, so that a stream goes on."""
        return await self._rows.decide(batch)

    def decide(self, request: Request) -> Answer:
        """The decision, for a caller that waits; a RefusedError says why there is none."""
        began = time.perf_counter()
        try:
            question = self._question(request, None, began)
            answer, mine = self._known(question)
            if not mine:
                answer = _joined(question)
            elif answer is None:
                answer = self._settle(question, self._asked(question))
        except RefusedError as refusal:
            raise self._refused(request, refusal, began) from None
        return self._answered(request, answer, began)

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
                answer = await _joined_async(question)
            elif answer is None:
                answer = self._settle(question, await self._asked_async(question))
        except RefusedError as refusal:
            raise self._refused(request, refusal, began, traceparent) from None
        return self._answered(request, answer, began, traceparent)

    def drain(self) -> None:
        """No new work; what was taken is finished."""
        self.draining = True

    def close(self) -> None:
        """Finishes what was taken and stops."""
        self.drain()
        for places in self._places.values():
            for place in places.values():
                for lane in (place.lane, place.canary_lane, place.shadow):
                    if lane is not None:
                        lane.close()
                place.reader.close()

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
        body = hashlib.blake2b(sight.observation.tobytes() + legal.tobytes(), digest_size=16)
        body.update(f"{request.game} {request.policy} {alternatives} {sight.words is None}".encode() + choosing.key)
        return Question(request, place, sight, legal, choosing, alternatives, deadline, body.digest(), began)

    def find(self, game: str, name: str) -> Place:
        places = self._places.get(game)
        if self.loading and (not places or (name and name not in places)):
            raise RefusedError(Code.UNAVAILABLE, "The service is still loading its policies; ask again soon.", 250)
        if not places:
            raise RefusedError(Code.NOT_FOUND, str(UnknownNameError("game", game[:80], self._places)))
        if not name:
            return next(iter(places.values()))
        if name not in places:
            raise RefusedError(Code.NOT_FOUND, str(UnknownNameError(f"policy of game {game}", name[:80], places)))
        return places[name]

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
        lane = next(question.place.lanes(_session(request)))
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
        refusal: Item | RefusedError = RefusedError(Code.INTERNAL, "No policy was asked.")
        for lane in question.place.lanes(_session(question.request)):
            item = Item(question.sight.observation[None], question.legal[None], question.deadline)
            try:
                lane.ask(item)
            except RefusedError as full:
                refusal = full
            else:
                refusal = item.error or item
            if not self._ask_next(question, lane, item):
                return refusal
        return refusal

    async def _asked_async(self, question: Question) -> Item | RefusedError:
        refusal: Item | RefusedError = RefusedError(Code.INTERNAL, "No policy was asked.")
        for lane in question.place.lanes(_session(question.request)):
            item = Item(question.sight.observation[None], question.legal[None], question.deadline)
            try:
                await self._finished(question, lane, item)
            except RefusedError as full:
                refusal = full
            else:
                refusal = item.error or item
            if not self._ask_next(question, lane, item):
                return refusal
        return refusal

    async def _finished(self, question: Question, lane: Lane, item: Item) -> None:
        """Waits for a lane. A caller that goes away meanwhile does not stop the work: it may ask again under the same
        id, and then finds the answer or joins the wait."""
        waiting = lane.submit(item)

        def settle_later(_: object) -> None:
            with suppress(RefusedError):
                self._settle(question, item.error or item)

        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            waiting.add_done_callback(settle_later)
            raise

    def _ask_next(self, question: Question, lane: Lane, item: Item) -> bool:
        """Keeps the books of a trial; whether the proven policy shall answer in the canary's place."""
        place, canary = question.place, question.place.canary
        if canary is None:
            return False
        if lane is place.lane:
            if item.decision is not None:
                canary.note_other(item.inference_ms)
            return False
        failed = item.decision is None
        if canary.note(failed, item.inference_ms, item.illegal):
            self.figures.count(self.figures.steps_back, question.request.game)
        return failed

    def _settle(self, question: Question, outcome: Item | RefusedError) -> Answer:
        """The answer to a computed request, or a fallback, or the refusal."""
        request, served = question.request, question.place.served
        if isinstance(outcome, RefusedError):
            given = self.fallbacks.answer(served, question.sight.observation[None], question.legal[None], outcome)
            if given is None:
                self._ids.drop(request.request_id)
                if question.answer is not None:
                    question.answer.set_exception(outcome)
                raise outcome
            answer = self._fallback_answer(question, served, given, outcome)
            self._give(question, answer)
            return answer
        assert outcome.served is not None
        assert outcome.decision is not None
        answer = self._answer(question, outcome.served, outcome)
        if self._may_cache(question):
            self._cache.put(self._key(question, outcome.served), answer)
        self.figures.count(self.figures.decisions, request.game, outcome.served.name)
        self.figures.timed(outcome.queue_ms, outcome.inference_ms, (time.perf_counter() - question.began) * 1000)
        self._give(question, answer)
        self._show_shadow(question, answer)
        return answer

    def _answer(self, question: Question, served: ServedPolicy, item: Item) -> Answer:
        assert item.decision is not None
        request = question.request
        probabilities = item.decision.probabilities[0]
        chosen = int(item.decision.actions[0])
        if question.choosing.sample:
            chosen = choose(probabilities, question.choosing, request.request_id)
        answer = Answer(request_id=request.request_id, policy=served.identity)
        value, words = item.decision.values[0], question.sight.words
        fill(answer, served.spec, chosen, probabilities, value, question.alternatives, words)
        answer.strategy_name = strategy_name(answer.policy)
        answer.timing.queue_ms, answer.timing.inference_ms = item.queue_ms, item.inference_ms
        answer.timing.batch_size = item.batch_rows
        return answer

    def _fallback_answer(self, question: Question, served: ServedPolicy, given: Given, refusal: RefusedError) -> Answer:
        decision = given.decision
        answer = Answer(request_id=question.request.request_id, policy=served.identity, fallback=given.reason)
        action = int(decision.actions[0])
        words = question.sight.words
        fill(answer, served.spec, action, decision.probabilities[0], decision.values[0], question.alternatives, words)
        answer.fallback_reason = f"{given.who}: {refusal}"
        answer.strategy_name = f"fallback {given.who}"
        reason = messages.Fallback.Name(given.reason).removeprefix("FALLBACK_").lower()
        self.figures.count(self.figures.fallbacks, question.request.game, reason)
        return answer

    def _show_shadow(self, question: Question, answer: Answer) -> None:
        shadow = question.place.shadow
        if shadow is None:
            return
        game, figures = question.request.game, self.figures
        item = Item(question.sight.observation[None], question.legal[None], question.deadline)

        def compare(_: object) -> None:
            if item.decision is None:
                figures.count(figures.shadows, game, "failed")
                return
            other = choose(item.decision.probabilities[0], question.choosing, question.request.request_id)
            same = other == answer.selected_action.number
            figures.count(figures.shadows, game, "same" if same else "other")

        item.future = Future()
        item.future.add_done_callback(compare)
        if not shadow.send(item):
            figures.count(figures.shadows, game, "dropped")

    # --- what happened ---

    def _answered(self, request: Request, answer: Answer, began: float, traceparent: str = "") -> Answer:
        self._tell(request, answer, None, began, traceparent)
        return answer

    def _refused(self, request: Request, refusal: RefusedError, began: float, traceparent: str = "") -> RefusedError:
        if refusal.code == Code.RESOURCE_EXHAUSTED:
            self.figures.count(self.figures.shed, self.label(request.game))
        self._tell(request, None, refusal, began, traceparent)
        return refusal

    def _tell(
        self,
        request: Request,
        answer: Answer | None,
        refusal: RefusedError | None,
        began: float,
        traceparent: str = "",
    ) -> None:
        game = self.label(request.game)
        code = Code.OK if refusal is None else refusal.code
        self.figures.count(self.figures.requests, game, code.name)
        if self.listeners:
            told = Told(request, answer, refusal, game, (time.perf_counter() - began) * 1000, traceparent)
            for listener in self.listeners:
                listener(told)

    def label(self, game: str) -> str:
        return game if game in self._places else OTHER

    def _depths(self) -> dict[tuple[str, ...], float]:
        return {
            (game, name): float(place.lane.depth)
            for game, places in self._places.items()
            for name, place in places.items()
        }

    def _lane(self, served: ServedPolicy) -> Lane:
        return Lane(served, self.settings, self.figures, self._coordinator)


def _session(request: Request) -> str:
    return request.session_id or request.request_id


def _joined(question: Question) -> Answer:
    """The answer somebody else is computing for the same id."""
    assert question.answer is not None
    try:
        return question.answer.result(max(0.0, question.deadline - time.perf_counter()))
    except TimeoutError:
        raise RefusedError(Code.DEADLINE_EXCEEDED, "The first request of this id is still being computed.") from None


async def _joined_async(question: Question) -> Answer:
    assert question.answer is not None
    try:
        async with asyncio.timeout(max(0.0, question.deadline - time.perf_counter())):
            return await asyncio.shield(asyncio.wrap_future(question.answer))
    except TimeoutError:
        raise RefusedError(Code.DEADLINE_EXCEEDED, "The first request of this id is still being computed.") from None


def _description(served: ServedPolicy, status: str, share: float = 0.0) -> wire.PolicyDescription:
    import json

    spec = served.spec
    return wire.PolicyDescription(
        identity=served.identity,
        status=status,
        observation_size=spec.observation.size,
        num_actions=spec.actions.size,
        observation_fingerprint=spec.observation.fingerprint,
        action_fingerprint=spec.actions.fingerprint,
        canary_share=share,
        state_forms=state_forms(served.entry),
        options_json=json.dumps(dict(served.options), sort_keys=True, default=str),
    )
