"""Decisions over the bus: as the first design writes it, shared by workers, once per question, and round a slow bus."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import numpy as np
import pytest

from jimbot.clients import EventBusClient
from jimbot.clients.resilience import RetryPolicy
from jimbot.proto.events_pb2 import Event, LearningDecisionRequest, LearningDecisionResponse
from jimbot.services.orchestrator import RayLearningOrchestrator
from tests.services.asking import Scripted, probe_request, serve, service_of
from tests.services.buses import client, in_loop, until
from tests.services.running import running


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"embedded:{tmp_path / 'bus.sqlite'}"


def event_of(request: LearningDecisionRequest, event_id: str = "") -> Event:
    event = Event(topic="learning.decision.request", event_id=event_id)
    event.payload.Pack(request)
    return event


def test_the_first_design_runs_as_written(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIMBOT_BUS", address)
    service = service_of(serve(Scripted()))

    class RayLearning:
        def __init__(self) -> None:
            self.event_bus = EventBusClient()

        async def start(self) -> None:
            await self.event_bus.subscribe(topics=["learning.decision.request"], handler=self.handle_decision_request)

        async def handle_decision_request(self, event: Event) -> None:
            request = LearningDecisionRequest()
            event.payload.Unpack(request)
            decision = await service.decide_async(request)
            response_event = Event(topic="learning.decision.response", correlation_id=event.event_id)
            response_event.payload.Pack(decision)
            await self.event_bus.publish(response_event)

    async def work() -> None:
        learning = RayLearning()
        await learning.start()
        bus = EventBusClient()
        answer = await bus.publish_and_wait(probe_request(1))
        assert isinstance(answer, LearningDecisionResponse)
        assert answer.selected_action.number == 5
        await bus.close()
        await learning.event_bus.close()

    in_loop(work)
    service.close()


def test_questions_are_decided_together_and_refusals_are_answers(address: str) -> None:
    policy = Scripted()
    service = service_of(serve(policy))

    async def work() -> None:
        async with client(address) as bus, RayLearningOrchestrator(client(address), service) as worker:
            asked = [bus.publish_and_wait(probe_request(number)) for number in range(20)]
            wrong = LearningDecisionRequest(game="chess")
            *answers, refused = await asyncio.gather(*asked, bus.publish_and_wait(wrong))
            assert {answer.selected_action.number for answer in answers} == {5}
            assert refused.refusal.code_name == "NOT_FOUND"
            assert refused.request_id
            assert worker.answers == {"OK": 20, "NOT_FOUND": 1}
            await worker.event_bus.close()

    in_loop(work)
    assert len(policy.batches) < 21  # more than one question per inference
    service.close()


def test_one_question_has_one_answer_however_often_and_by_whomever_it_is_handled(address: str) -> None:
    service, other = service_of(serve(Scripted("a"))), service_of(serve(Scripted("b")))

    async def work() -> None:
        async with client(address) as bus:
            first, second = RayLearningOrchestrator(bus, service), RayLearningOrchestrator(bus, other)
            event = event_of(probe_request(3, request_id="once"), "question-1")
            for worker in (first, second, first):  # as after a crash before the acknowledgement
                await worker.handle_decision_request(event)
            answers = [event async for event in bus.replay(["learning.decision.response"])]
            assert len(answers) == 1
            assert answers[0].correlation_id == "question-1"

    in_loop(work)
    service.close()
    other.close()


def test_questions_that_wait_are_answered_when_a_worker_comes(address: str) -> None:
    service = service_of(serve(Scripted()))

    async def work() -> None:
        async with client(address) as bus:
            asked = asyncio.create_task(bus.publish_and_wait(probe_request(2), seconds=20))
            worker = RayLearningOrchestrator(bus, service)
            await worker.start()
            await worker.stop()  # a durable name is known from here on
            await bus.publish(event_of(probe_request(4), "waits"))
            async with RayLearningOrchestrator(client(address), service) as second:
                await until(lambda: second.answers["OK"] >= 1)
                await second.event_bus.close()
            asked.cancel()
            ids = [event.correlation_id async for event in bus.replay(["learning.decision.response"])]
            assert "waits" in ids

    in_loop(work)
    service.close()


def test_fuzzed_questions_and_wrong_clocks_stop_nobody(address: str) -> None:
    """Payloads that are no message become dead letters; when a question says it was sent does not matter."""
    service = service_of(serve(Scripted()))
    luck = np.random.default_rng(4)

    async def work() -> None:
        async with client(address) as bus, RayLearningOrchestrator(client(address), service) as worker:
            for number in range(30):
                event = event_of(probe_request(number), f"fuzz {number}")
                event.payload.value = luck.bytes(int(luck.integers(1, 200)))
                await bus.publish(event)
            for number, when in enumerate((1, time.time_ns() + 10**18, -(10**15))):
                skewed = event_of(probe_request(number, time_limit_ms=5000), f"skewed {number}")
                skewed.timestamp_ns = when
                answer = LearningDecisionResponse()
                (await bus.publish_and_wait(skewed, 10)).payload.Unpack(answer)
                assert answer.selected_action.number == 5
            await until(lambda: worker.answers.total() + worker.event_bus.metrics.dead.total() == 33)
            assert worker.answers["OK"] == 3
            await worker.event_bus.close()

    in_loop(work)
    service.close()


def test_a_client_goes_round_a_bus_nobody_answers_on_and_comes_back(address: str) -> None:
    pytest.importorskip("grpc")
    service = service_of(serve(Scripted()))
    patience = RetryPolicy(deadline=2.0, cap=0.1, failures=2, rest=0.2)

    async def work(direct: str) -> None:
        async with client(address, direct=direct, patience=patience) as bus:
            for number in range(4):  # nobody listens on the bus: two tries, then it is left alone
                answer = await bus.publish_and_wait(probe_request(number))
                assert answer.selected_action.number == 5
            assert bus.asked == {"direct": 4}
            assert bus.metrics.published["learning.decision.request"] == 2
            async with RayLearningOrchestrator(client(address), service) as worker:
                await asyncio.sleep(patience.rest + 0.05)
                await bus.publish_and_wait(probe_request(9))
                assert bus.asked == {"direct": 4, "bus": 1}
                await worker.event_bus.close()

    with running(service) as server:
        in_loop(lambda: work(server.address))
