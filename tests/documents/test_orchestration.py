"""The orchestration plan: its five examples as they stand, its split of memory and its promises in numbers."""

from __future__ import annotations

import asyncio
import typing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.clients import DecisionClient, EventBusClient
from jimbot.errors import JimbotError
from jimbot.proto.events_pb2 import GameState, LearningDecisionRequest, LearningDecisionResponse, StrategyRequest
from jimbot.runs.resources import ResourceCoordinator, ResourceError, ResourceType
from jimbot.services import orchestrator
from jimbot.services.orchestrator import RayLearningOrchestrator
from jimbot.training.memory import GIGABYTE, WARNING_SHARE, MemoryBudget
from tests.services.asking import GAME, LEGAL, SPEC, Scripted, request, serve, service_of
from tests.services.buses import in_loop

ORCHESTRATOR = """
from jimbot.proto.events_pb2 import Event, LearningDecisionRequest, LearningDecisionResponse
from jimbot.clients import EventBusClient

class RayLearningOrchestrator:
    def __init__(self):
        self.event_bus = EventBusClient()
        self.ray_server = self._init_ray_server()

    async def start(self):
        # Subscribe to learning decision requests
        await self.event_bus.subscribe(
            topics=['learning.decision.request'],
            handler=self.handle_decision_request
        )

    async def handle_decision_request(self, event: Event):
        request = LearningDecisionRequest()
        event.payload.Unpack(request)

        # Get decision from Ray model
        decision = await self.ray_server.get_decision(request)

        # Publish response
        response_event = self._create_response_event(decision)
        await self.event_bus.publish(response_event)
"""

DECISION_SERVICE = """
class RayDecisionService(DecisionServicer):
    def GetDecision(self, request: LearningDecisionRequest, context):
        # Use trained policy for inference
        with self.inference_lock:
            obs = self._convert_game_state(request.game_state)
            action, info = self.policy.compute_single_action(obs)

        return LearningDecisionResponse(
            request_id=request.request_id,
            selected_action=self._decode_action(action),
            confidence=info['action_prob'],
            used_llm=False,
            strategy_name=self.current_strategy
        )
"""

SYNERGIES = '''
class KnowledgeGraphClient:
    async def get_joker_synergies(self, jokers: List[str]) -> Dict:
        query = """
        MATCH (j1:Joker)-[s:SYNERGIZES_WITH]->(j2:Joker)
        WHERE j1.name IN $jokers AND j2.name IN $jokers
        RETURN j1.name, j2.name, s.strength
        """
        return await self.graph_client.query(query, jokers=jokers)
'''

ADVICE = """
async def request_claude_advice(self, game_state, confidence_threshold=0.7):
    if self.decision_confidence < confidence_threshold:
        # Request advice via Event Bus
        advice_request = StrategyRequest(
            game_state=game_state,
            context="low_confidence_decision"
        )
        await self.event_bus.publish_and_wait(advice_request)
"""

RESOURCES = """
async def allocate_training_resources(self):
    gpu_grant = await self.resource_coordinator.request({
        'type': ResourceType.GPU_COMPUTE,
        'amount': 100,  # 100ms time slice
        'component': 'ray_training'
    })

    if gpu_grant.approved:
        with gpu_grant:
            await self.run_training_step()
"""


def written(example: str, name: str, **names: Any) -> Any:
    """What the example defines under a name; `names` are what the document takes for granted."""
    exec(compile(example, "the plan", "exec", dont_inherit=True), names)
    return names[name]


def test_the_orchestrator_answers_over_the_bus_with_what_ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIMBOT_BUS", f"embedded:{tmp_path / 'bus.sqlite'}")
    monkeypatch.setattr(orchestrator, "shipped_games", lambda: (GAME,))  # one is enough, and starts sooner

    class Whole(written(ORCHESTRATOR, "RayLearningOrchestrator"), RayLearningOrchestrator):
        """What the plan leaves out is ours."""

    async def work() -> None:
        learning, bus = Whole(), EventBusClient()
        await learning.start()
        questions = [request(row) for row in (1, 2, 3)]
        answers = await asyncio.gather(*(bus.publish_and_wait(question) for question in questions))
        assert [answer.request_id for answer in answers] == [question.request_id for question in questions]
        for row, answer in zip((1, 2, 3), answers, strict=True):
            assert isinstance(answer, LearningDecisionResponse)
            assert LEGAL[row][answer.selected_action.number]
            assert answer.policy.game == GAME
        await bus.close()
        await learning.event_bus.close()
        learning.ray_server.service.close()

    in_loop(work)


def test_an_answer_can_only_be_made_to_a_question() -> None:
    service = service_of(serve(Scripted()))
    learning = RayLearningOrchestrator(EventBusClient("embedded:unused"), service)
    with pytest.raises(JimbotError, match="No event is being handled"):
        learning._create_response_event(LearningDecisionResponse())
    service.close()


def test_the_decision_service_answers_by_grpc_and_refuses_with_a_sentence() -> None:
    grpc = pytest.importorskip("grpc")
    from jimbot.proto.decisions_pb2_grpc import add_DecisionServiceServicer_to_server
    from jimbot.services.grpc_server import DecisionServicer

    names = {"LearningDecisionRequest": LearningDecisionRequest, "LearningDecisionResponse": LearningDecisionResponse}
    kind = written(DECISION_SERVICE, "RayDecisionService", DecisionServicer=DecisionServicer, **names)
    assert kind.__bases__ == (DecisionServicer,)
    service, server = kind(GAME), grpc.server(ThreadPoolExecutor(2))
    add_DecisionServiceServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with DecisionClient(f"127.0.0.1:{port}") as client:
            question = request(3, request_id="third")
            answer = client.decide(question)
            observation = np.frombuffer(question.game_state.observation.values, "<f4")[None]
            best = service.served.policy.act(observation, LEGAL[3][None])
            number = int(best.actions[0])
            assert (answer.selected_action.number, answer.selected_action.label) == (number, SPEC.actions.label(number))
            assert answer.confidence == pytest.approx(float(best.probabilities[0, number]), abs=1e-6)
            assert (answer.request_id, answer.used_llm) == ("third", False)
            assert answer.strategy_name == service.current_strategy == service.served.name
            with pytest.raises(JimbotError, match="has 0 bytes of values"):
                client.decide(LearningDecisionRequest(game=GAME, game_state=GameState(observation={})))
    finally:
        server.stop(None).wait()
        service.close()


def test_the_graph_is_asked_by_name(tmp_path: Path) -> None:
    pytest.importorskip("ladybug")
    from jimbot.knowledge import KnowledgeGraphClient
    from tests.knowledge import samples

    client = written(SYNERGIES, "KnowledgeGraphClient", List=typing.List, Dict=typing.Dict)()  # noqa: UP006
    client.graph_client = KnowledgeGraphClient(str(samples.sample_file(tmp_path)), samples.GAME)
    found = asyncio.run(client.get_joker_synergies(["Blueprint", "Brainstorm", "Nobody"]))
    assert found == [{"j1.name": "Blueprint", "j2.name": "Brainstorm", "s.strength": 0.6}]
    client.graph_client.close()


def test_advice_is_asked_for_where_the_decision_was_in_doubt(tmp_path: Path) -> None:
    from tests.services.test_advice import Last, service_with, snapshot

    request_claude_advice = written(ADVICE, "request_claude_advice", StrategyRequest=StrategyRequest)
    source = Last()

    async def work() -> None:
        service, _ = service_with(source)
        address = f"embedded:{tmp_path / 'bus.sqlite'}"
        async with RayLearningOrchestrator(EventBusClient(address), service) as learning:
            game_state = snapshot(7)
            learning.decision_confidence = 0.7
            await request_claude_advice(learning, game_state)
            assert not source.questions, "it was sure enough"
            learning.decision_confidence = 0.69
            await request_claude_advice(learning, game_state)
            assert len(source.questions) == 1
            await learning.event_bus.close()
        service.close()

    asyncio.run(work())


class Training:
    """Whoever has the example as a method."""

    def __init__(self, resource_coordinator: ResourceCoordinator) -> None:
        self.resource_coordinator = resource_coordinator
        self.steps = 0

    async def run_training_step(self) -> None:
        assert self.resource_coordinator.in_use("gpu") == 1
        self.steps += 1


def test_a_slice_of_the_gpu_is_asked_for_used_and_given_back() -> None:
    training = Training(ResourceCoordinator({"gpu": 1}))
    allocate = written(RESOURCES, "allocate_training_resources", ResourceType=ResourceType)
    asyncio.run(allocate(training))
    assert training.steps == 1
    assert training.resource_coordinator.in_use("gpu") == 0


def test_whoever_is_not_approved_does_not_train() -> None:
    training = Training(ResourceCoordinator({"gpu": 1}))
    wish = {"type": ResourceType.GPU_COMPUTE, "amount": 100, "component": "ray_training", "timeout": 0.01}

    async def refused() -> None:
        with training.resource_coordinator.request("gpu", owner="decisions", seconds=60):
            answer = await training.resource_coordinator.request(wish)
            assert not answer.approved
            with pytest.raises(ResourceError, match="not approved"), answer:
                pass

    asyncio.run(refused())


def test_8_gb_are_shared_out_as_planned_with_a_warning_at_80_percent() -> None:
    budget = MemoryBudget()
    parts = {name: budget.part(name) / GIGABYTE for name in ("object_store", "workers", "checkpoints", "buffer")}
    assert parts == {"object_store": 2.5, "workers": 3.5, "checkpoints": 1.0, "buffer": 1.0}
    assert (budget.limit_gb, WARNING_SHARE) == (8.0, 0.8)
