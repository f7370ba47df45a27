"""Every form in which a request may show a game, to a service that answers plainly, plans, is advised or has hints."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jimbot.adviser.adviser import Adviser
from jimbot.adviser.settings import AdviserSettings
from jimbot.clients import DecisionClient, EventBusClient
from jimbot.games.contract import game_entry
from jimbot.knowledge import KnowledgeGraphClient
from jimbot.planning import Planner, PlanSettings
from jimbot.proto.events_pb2 import ForeignState, GameState, LearningDecisionRequest
from jimbot.services.decision import DecisionService, ServedPolicy
from jimbot.services.decision.stages import Hinting
from jimbot.services.decision.states import StateReader
from jimbot.services.orchestrator import PolicyServer, RayLearningOrchestrator
from tests.conftest import needs
from tests.services.test_advice import Last, Unsure

pytest.importorskip("grpc")
pytest.importorskip("nats")

FORMS = {
    "probe": ("observation", "snapshot"),
    "hackmatrix": ("observation", "snapshot", "by_keys"),
    "balatro": ("observation", "snapshot", "by_keys", "foreign"),
    "vgc": ("observation", "snapshot", "by_keys"),
}
STAGES = ("plain", "plan", "adviser", "graph")


def states_of(game: str) -> dict[str, GameState]:
    """The first state of a game in every form."""
    found = {str(state.WhichOneof("form")): state for state in StateReader(game_entry(game), {})._samples()}
    if game == "balatro":
        from jimbot.games.balatro.live.table import LiveTable

        table = LiveTable(rng_seed=0)
        table.begin(0, 1, 0, None)
        foreign = ForeignState(form="balatrobot/1", body=table.gamestate().encode())
        found["foreign"] = GameState(foreign=foreign)
    return found


@pytest.fixture(scope="module", params=list(FORMS))
def game(request: pytest.FixtureRequest) -> str:
    needs(request.param)
    return request.param


@pytest.fixture(scope="module")
def states(game: str) -> dict[str, GameState]:
    return states_of(game)


@pytest.fixture(scope="module", params=STAGES)
def service(request: pytest.FixtureRequest, game: str) -> Iterator[DecisionService]:
    service = DecisionService()
    served = ServedPolicy.make(game_entry(game), Unsure())
    service.add(served)
    if request.param == "plan":
        settings = PlanSettings(rollouts=2, candidates=2, depth=1)
        service.look_ahead(served, Planner(served.policy, settings=settings, copies=4))
    elif request.param == "adviser":
        adviser = Adviser(Last(), AdviserSettings(least_stake=0.0))
        adviser.when.note(1000)
        service.advise(game, adviser)
    elif request.param == "graph":
        service.hinting = Hinting(KnowledgeGraphClient(), service.metrics)
    yield service
    service.close()


def request_of(game: str, state: GameState, number: int) -> LearningDecisionRequest:
    return LearningDecisionRequest(game=game, request_id=str(number), game_state=state, time_limit_ms=9000)


def test_every_form_is_answered_over_the_bus_and_over_grpc(
    service: DecisionService, game: str, states: dict[str, GameState], tmp_path: Path
) -> None:
    """The server ends the service it served, so it comes last."""
    from tests.services.running import running

    assert tuple(states) == FORMS[game]
    asked = [request_of(game, state, number) for number, state in enumerate(states.values())]
    answers = asyncio.run(over_the_bus(service, asked, f"embedded:{tmp_path / 'bus'}"))
    with running(service) as server, DecisionClient(server.address) as client:
        for request in asked:
            request.request_id += " again"
            answers.append(client.decide(request))
    for answer in answers:
        assert not answer.HasField("refusal"), answer.refusal.message
        assert answer.policy.game == game
        assert answer.selected_action.label


async def over_the_bus(service: DecisionService, asked: list[LearningDecisionRequest], address: str) -> list[Any]:
    bus = EventBusClient(address)
    async with RayLearningOrchestrator(bus, service):
        found = [await bus.publish_and_wait(request, 20) for request in asked]
    await bus.close()
    return found


def test_an_orchestrator_without_a_service_serves_what_ships_and_asks_its_ray_server(tmp_path: Path) -> None:
    class Counted(PolicyServer):
        asked = 0

        async def get_decision(self, request: LearningDecisionRequest, traceparent: str = "") -> Any:
            Counted.asked += 1
            return await super().get_decision(request, traceparent)

    async def work() -> list[Any]:
        bus = EventBusClient(f"embedded:{tmp_path / 'bus'}")
        orchestrator = RayLearningOrchestrator(bus)
        orchestrator.ray_server = Counted(orchestrator.service)
        async with orchestrator:
            found = [
                await bus.publish_and_wait(request_of(game, states_of(game)["observation"], number), 20)
                for number, game in enumerate(("balatro", "hackmatrix"))
            ]
        await bus.close()
        orchestrator.service.close()
        return found

    answers = asyncio.run(work())
    assert [answer.policy.game for answer in answers] == ["balatro", "hackmatrix"]
    assert Counted.asked == 2
