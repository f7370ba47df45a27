"""Many rows of one game in one message, for callers that play many games at once: one inference answers all.

Trials count them too: a message with a session id goes to the canary or stays with the proven policy as a whole
(without one nobody could say which rows are one game, so it stays), and a shadow sees every row. Only the cache of
recent states is left out: looking rows up costs as much as computing them.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np

from jimbot.proto import decisions_pb2 as wire
from jimbot.services.decision.batcher import Item
from jimbot.services.decision.question import BEST, Answer, Choosing, Request, choose_rows, read_choosing
from jimbot.services.decision.recent import RequestIds, digest
from jimbot.services.decision.refusal import Code, RefusedError, invalid, refusal_message, stopping
from jimbot.services.decision.slots import Slot
from jimbot.services.decision.states import check_rows, read_observations

if TYPE_CHECKING:
    from jimbot.services.decision.service import DecisionService

LONGEST_ID = 200
MOST_IDS = 1024  # messages are large


class RowDecisions:
    """The part of a service that answers messages of a stream."""

    def __init__(self, service: DecisionService) -> None:
        self._service, self._metrics = service, service.metrics
        seconds = service.settings.idempotency_seconds
        self._ids: RequestIds[wire.DecisionBatchAnswer] = RequestIds(wire.DecisionBatchAnswer, seconds, MOST_IDS)

    async def decide(self, batch: wire.DecisionBatch, traceparent: str = "") -> wire.DecisionBatchAnswer:
        """All rows of a message by one inference; a refusal is an answer too, so that a stream goes on."""
        began = time.perf_counter()
        try:
            answer = await self._rows(batch, began)
        except RefusedError as refusal:
            self._service.log(_request(batch), None, refusal, began, traceparent, _size(batch))
            return wire.DecisionBatchAnswer(batch_id=batch.batch_id, refusal=refusal_message(refusal))
        self._service.log(_request(batch), _summary(answer), None, began, traceparent, _size(batch))
        return answer

    async def _rows(self, batch: wire.DecisionBatch, began: float) -> wire.DecisionBatchAnswer:
        service = self._service
        if service.draining:
            raise stopping()
        for what, name in (("batch", batch.batch_id), ("session", batch.session_id)):
            if len(name) > LONGEST_ID:
                raise invalid(f"The {what} id has {len(name)} characters; at most {LONGEST_ID} are taken.")
        slot = service.find(batch.game, batch.policy, batch.game_version)
        choosing = read_choosing(batch.choosing)
        spec = slot.served.spec
        rows = read_observations(batch.observations, spec, service.settings.rows_per_message)
        check_rows(*rows, spec)
        deadline = service.deadline(batch.time_limit_ms, None, began)
        if not batch.batch_id:
            return await self._computed(batch, slot, Item(*rows, deadline), choosing, began)
        said = f"{batch.game} {batch.policy} {batch.probabilities}".encode() + choosing.key
        body = digest(said + batch.observations.legal_mask, batch.observations.values)
        claimed = self._ids.claim(batch.batch_id, body)
        if claimed is not None:
            self._metrics.count(self._metrics.repeats, batch.game)
            return await _joined(claimed, deadline)
        try:
            answer = await self._computed(batch, slot, Item(*rows, deadline), choosing, began)
        except BaseException as problem:  # refused, or the caller went away: it may ask again under this id
            self._ids.drop(batch.batch_id, problem if isinstance(problem, RefusedError) else _gone())
            raise
        self._ids.settle(batch.batch_id, answer)
        return answer

    async def _computed(
        self, batch: wire.DecisionBatch, slot: Slot, item: Item, choosing: Choosing, began: float
    ) -> wire.DecisionBatchAnswer:
        service = self._service
        batchers = slot.batchers(batch.session_id) if batch.session_id else (slot.batcher,)
        outcome = await service.compute(slot, batchers, (item.observation, item.legal), item.deadline)
        if isinstance(outcome, RefusedError):
            given = service.stand_in(slot.served, item.observation, item.legal, outcome)
            if given is None:
                raise outcome
            item.decision, item.served = given.decision, slot.served
            answer = self._rows_answer(batch, item, BEST)
            answer.fallback, answer.fallback_reason = given.reason, f"{given.who}: {outcome}"
        else:
            item = outcome
            answer = self._rows_answer(batch, item, choosing)
            slot.show_shadow(item, list(answer.actions), lambda rows: choose_rows(rows, choosing, batch.batch_id))
        timing, rows = answer.timing, len(answer.actions)
        timing.total_ms = (time.perf_counter() - began) * 1000
        self._metrics.decided(
            batch.game, answer.policy.name, rows, timing.queue_ms, timing.inference_ms, timing.total_ms
        )
        return answer

    def _rows_answer(self, batch: wire.DecisionBatch, item: Item, choosing: Choosing) -> wire.DecisionBatchAnswer:
        decision, served = item.decision, item.served
        assert decision is not None
        assert served is not None
        rows = np.arange(len(decision.values))
        actions = decision.actions
        if choosing.sample:
            actions = np.array(choose_rows(decision.probabilities, choosing, batch.batch_id))
        answer = wire.DecisionBatchAnswer(
            batch_id=batch.batch_id,
            actions=actions.tolist(),
            confidence=decision.probabilities[rows, actions].tolist(),
            values=decision.values.tolist(),
            policy=served.identity,
        )
        if batch.probabilities:
            answer.probabilities = np.ascontiguousarray(decision.probabilities, "<f4").tobytes()
        answer.timing.queue_ms, answer.timing.inference_ms = item.queue_ms, item.inference_ms
        answer.timing.batch_size = item.batch_rows
        return answer


async def _joined(claimed: Future[wire.DecisionBatchAnswer], deadline: float) -> wire.DecisionBatchAnswer:
    """The answer that is being computed for the first message of the same id."""
    try:
        async with asyncio.timeout(max(0.0, deadline - time.perf_counter())):
            return await asyncio.shield(asyncio.wrap_future(claimed))
    except TimeoutError:
        raise RefusedError(Code.DEADLINE_EXCEEDED, "The first message of this id is still being computed.") from None


def _gone() -> RefusedError:
    return RefusedError(Code.UNAVAILABLE, "Who sent this message first went away; send it again.", 10)


# --- a message as listeners hear of it: one decision about many rows ---


def _request(batch: wire.DecisionBatch) -> Request:
    return Request(request_id=batch.batch_id, game=batch.game, policy=batch.policy, session_id=batch.session_id)


def _summary(answer: wire.DecisionBatchAnswer) -> Answer:
    return Answer(
        request_id=answer.batch_id,
        policy=answer.policy,
        timing=answer.timing,
        fallback=answer.fallback,
        fallback_reason=answer.fallback_reason,
    )


def _size(batch: wire.DecisionBatch) -> int:
    return batch.observations.rows or 1
