"""What runs beside the page, and what is known: shown as it is, and as sentences where it is not there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from jimbot.clients.event_bus import EventBusClient
from jimbot.knowledge.records import Edge, Graph, Node
from jimbot.proto.events_pb2 import LearningDecisionResponse
from jimbot.viewer.http import around
from jimbot.viewer.http.around import Known, Services

NOBODY = "127.0.0.1:1"


def test_services_that_are_not_there_are_sentences_and_nothing_is_created(tmp_path: Path) -> None:
    found = asyncio.run(Services(NOBODY, "", tmp_path, f"http://{NOBODY}").document())
    assert not found["decision"]["well"]
    assert "127.0.0.1:1" in found["decision"]["words"]
    assert "no bus" in found["bus"]["words"]
    assert not found["live"]["well"]
    assert f"http://{NOBODY}" in found["live"]["words"]
    assert not list(tmp_path.iterdir())


def test_the_bus_tells_its_topics_and_the_newest_decisions_first(tmp_path: Path) -> None:
    address = f"embedded:{tmp_path / 'bus.sqlite'}"

    async def work() -> dict:
        async with EventBusClient(address) as bus:
            for number in range(3):
                answer = LearningDecisionResponse(request_id=str(number), confidence=0.5)
                answer.selected_action.label = f"move <b>{number}</b>"
                await bus.publish(answer)
        return await Services(NOBODY, address).document()

    bus = asyncio.run(work())["bus"]
    assert bus["well"]
    assert bus["topics"] == [{"name": "learning.decision.response", "events": 3}]
    assert [one["move"] for one in bus["decisions"]] == [f"move <b>{number}</b>" for number in (2, 1, 0)]


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Known:
    nodes = tuple(Node("Joker", f"j_{name}", name.capitalize(), "does something") for name in ("one", "two", "three"))
    edges = (
        Edge("SYNERGIZES_WITH", "j_one", "j_two", 0.5, 0.4, 0.6, "score"),
        Edge("SYNERGIZES_WITH", "j_one", "j_three", -0.9, -1.0, -0.8, "money", "played"),
    )
    monkeypatch.setattr(around, "_users_graph", lambda: Graph("a game", nodes, edges))
    return Known()


def test_a_graph_of_ones_own_without_a_claim_hides_nothing_that_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = Graph(
        "a game", (Node("Joker", "j_one", "One", ""),) * 2, (Edge("FAVOURS", "j_one", "j_one", 1.0, 0.5, 1.5),)
    )
    monkeypatch.setattr(around, "_users_graph", lambda: Graph("a game", shipped.nodes))
    monkeypatch.setattr(around, "_shipped", lambda game: shipped)
    assert Known().document("", "", "", "")["total"] == 1


def test_claims_come_by_strength_and_can_be_narrowed_down(graph: Known) -> None:
    everything = graph.document("", "", "", "")
    assert [edge["b"] for edge in everything["edges"]] == ["j_three", "j_two"]
    assert (everything["channels"], everything["evidences"]) == (["money", "score"], ["measured", "played"])
    assert [edge["b"] for edge in graph.document("TWO", "", "", "")["edges"]] == ["j_two"]
    assert graph.document("", "score", "played", "")["found"] == 0
    assert graph.document("", "", "", "j_two")["nodes"].keys() == {"j_one", "j_two"}
