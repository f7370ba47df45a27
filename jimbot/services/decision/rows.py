"""Many rows of one game in one message, for callers that play many games at once: one inference answers all."""

from __future__ import annotations

import asyncio
import hashlib
import time
from typing import TYPE_CHECKING

import numpy as np

from jimbot.proto import decisions_pb2 as wire
from jimbot.services.decision.choosing import Choosing, choose, read_choosing
from jimbot.services.decision.lane import Item
from jimbot.services.decision.recent import RequestIds
from jimbot.services.decision.refusal import Code, RefusedError, refusal_message
from jimbot.services.decision.states import check_version, read_observations

if TYPE_CHECKING:
    from jimbot.services.decision.service import DecisionService

LONGEST_ID = 200
MOST_IDS = 1024  # messages are large


class RowDecisions:
    """The part of a service that answers messages of a stream."""

    def __init__(self, service: DecisionService) -> None:
        self._service, self._figures = service, service.figures
        seconds = service.settings.idempotency_seconds
        self._ids: RequestIds[wire.DecisionBatchAnswer] = RequestIds(seconds, MOST_IDS)

    async def decide(self, batch: wire.DecisionBatch) -> wire.DecisionBatchAnswer:
        """All rows of a message by one inference; a refusal is an answer too, so that a stream goes on."""
        began = time.perf_counter()
        try:
            answer = await self._rows(batch, began)
        except RefusedError as refusal:
            if refusal.code == Code.RESOURCE_EXHAUSTED:
                self._figures.count(self._figures.shed, self._service.label(batch.game))
            self._figures.count(self._figures.requests, self._service.label(batch.game), refusal.code.name)
            return wire.DecisionBatchAnswer(batch_id=batch.batch_id, refusal=refusal_message(refusal))
        self._figures.count(self._figures.requests, batch.game, Code.OK.name)
        return answer

    async def _rows(self, batch: wire.DecisionBatch, began: float) -> wire.DecisionBatchAnswer:
        self._service.require_open()
        place = self._service.find(batch.game, batch.policy)
        spec = place.served.spec
        check_version(spec, batch.game_version)
        choosing = read_choosing(batch.choosing)
        observation, legal = read_observations(batch.observations, spec, self._service.settings.rows_per_message)
        claimed = None
        if batch.batch_id:
            body = hashlib.blake2b(batch.observations.values + batch.observations.legal_mask + choosing.key)
            body.update(f"{batch.game} {batch.policy} {batch.probabilities}".encode())
            claimed, mine = self._ids.claim(batch.batch_id[:LONGEST_ID], body.digest())
            if not mine:
                self._figures.count(self._figures.repeats, batch.game)
                return await asyncio.wrap_future(claimed)
        item = Item(observation, legal, self._service.deadline(batch.time_limit_ms, None, began))
        try:
            await place.lane.submit(item)
            if item.error is not None:
                raise item.error
            answer = self._rows_answer(batch, item, choosing)
        except RefusedError as refusal:
            given = self._service.fallbacks.answer(place.served, observation, legal, refusal)
            if given is None:
                if claimed is not None:
                    self._ids.drop(batch.batch_id)
                    claimed.set_exception(refusal)
                    claimed.exception()
                raise
            item.decision, item.served = given.decision, place.served
            answer = self._rows_answer(batch, item, Choosing())
            answer.fallback, answer.fallback_reason = given.reason, f"{given.who}: {refusal}"
        answer.timing.total_ms = (time.perf_counter() - began) * 1000
        self._figures.timed(item.queue_ms, item.inference_ms, answer.timing.total_ms)
        if claimed is not None:
            claimed.set_result(answer)
        return answer

    def _rows_answer(self, batch: wire.DecisionBatch, item: Item, choosing: Choosing) -> wire.DecisionBatchAnswer:
        decision, served = item.decision, item.served
        assert decision is not None
        assert served is not None
        rows = np.arange(len(decision.values))
        actions = decision.actions
        if choosing.sample:
            chosen = (choose(decision.probabilities[row], choosing, f"{batch.batch_id} {row}") for row in rows)
            actions = np.fromiter(chosen, np.int64, len(rows))
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
        self._figures.count(self._figures.decisions, batch.game, served.name, amount=len(rows))
        return answer
