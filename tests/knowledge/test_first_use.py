"""A newer JimBot brings newer measurements; what the user found stays."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from jimbot.knowledge import KnowledgeGraphClient
from jimbot.knowledge.documents import document_of
from jimbot.knowledge.first_use import (
    SHIPPED_EFFORT,
    own_file,
    read_with_newer,
    shipped_strategies,
    take_newer,
    with_newer,
)
from jimbot.knowledge.ladybug_store import LadybugStore
from jimbot.knowledge.records import COUNTER, PLAYED, SYNERGY, Edge, Graph, Node, Strategy
from jimbot.knowledge.sorting import known_strategies
from jimbot.viewer.http.around import Known

pytest.importorskip("ladybug")
pytest.importorskip("strawberry")

from starlette.testclient import TestClient

from jimbot.services.graph_server import graph_app

GAME = "cards"
NODES = (*(Node("Joker", key, key) for key in ("j_a", "j_b", "j_c")), Node("Boss", "bl_x", "X"))


def measured(a: str, b: str, strength: float, how: str = SHIPPED_EFFORT, relation: str = SYNERGY) -> Edge:
    return Edge(
        relation, a, b, strength, strength, strength, "all", command=f"jimbot graph build --pairs {a},{b} {how}"
    )


def strategy(key: str, name: str) -> Strategy:
    return Strategy(key, name, "", {"j_a": 1.0}, games=9, share=0.5, command="jimbot graph discover --runs 9")


def release(folder: Path, strength: float, *names: str) -> Path:
    """A release that measured a and b, and knows these strategies."""
    found = [strategy(f"s_{name}", name) for name in names]
    edges = (measured("j_a", "j_b", strength), measured("j_a", "bl_x", strength, relation=COUNTER))
    played = Edge(SYNERGY, "j_b", "j_c", strength, strength, strength, "win", PLAYED)
    graph = Graph(GAME, NODES, (*edges, played)).with_more(
        [one.node() for one in found], [edge for one in found for edge in one.edges()]
    )
    path = folder / "knowledge.json.gz"
    path.write_bytes(gzip.compress(json.dumps(document_of(graph)).encode()))
    return path


def test_a_users_graph_takes_newer_measurements_and_keeps_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("JIMBOT_GRAPH", raising=False)
    shipped = release(tmp_path, 1.0, "old", "same")
    monkeypatch.setattr("jimbot.knowledge.first_use.shipped_graph", lambda game: shipped)
    client = KnowledgeGraphClient(game=GAME)
    mine = strategy("s_mine", "mine")
    advised = replace(measured("j_a", "j_c", 7.0), evidence="advised")
    careful = measured("j_b", "j_c", 3.0, "--effort 4 --seed 0")
    client.whole()
    client.store.add([mine.node()], [*mine.edges(), advised, careful])
    client.close()
    assert not take_newer(client.store, GAME)  # of this release already

    release(tmp_path, 2.0, "same", "new")
    before = client.store.stamp()
    looked_at = read_with_newer(client.store, GAME)  # as the page does, which writes nothing
    client.close()
    assert client.store.stamp() == before
    client = KnowledgeGraphClient(game=GAME)
    assert {one["name"] for one in client.strategies()} == {"mine", "same", "new"}
    found = {(edge.a, edge.b, edge.evidence): edge.strength for edge in client.whole().edges if edge.type == SYNERGY}
    assert found == {
        ("j_a", "j_b", "measured"): 2.0,  # newer
        ("j_b", "j_c", "played"): 2.0,
        ("j_b", "j_c", "measured"): 3.0,  # the user's own, more careful than ours
        ("j_a", "j_c", "advised"): 7.0,
    }
    assert {edge.identity: edge.strength for edge in looked_at.edges} == {
        edge.identity: edge.strength for edge in client.whole().edges
    }
    stamp = client.store.stamp()
    client.close()
    assert KnowledgeGraphClient(game=GAME).strategies()
    assert client.store.stamp() == stamp  # once is enough


def test_everybody_who_asks_a_file_without_claims_hears_what_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The door for other programs, the page, and who names the strategies of a run; the file holds parts alone."""
    shipped = release(tmp_path, 1.0, "new")
    monkeypatch.setattr("jimbot.knowledge.first_use.shipped_graph", lambda game: shipped)
    monkeypatch.setattr("jimbot.viewer.http.around.graph_game", lambda: GAME)

    def old_file(place: str) -> str:
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / place))
        LadybugStore(Path(own_file(GAME)), GAME).replace(Graph(GAME, NODES))
        return own_file(GAME)

    old_file("page")
    assert Known().document("", "", "", "")["total"] == 4  # three claims, and what the strategy uses
    old_file("strategies")
    assert [one["name"] for one in known_strategies(GAME)] == ["new"]
    old_file("programs")
    client = KnowledgeGraphClient(game=GAME)
    with TestClient(graph_app(client)) as door:
        answer = door.post("/graphql", json={"query": "{ strategies { name } }"}).json()
    client.close()
    assert answer == {"data": {"strategies": [{"name": "new"}]}}


def test_a_strategy_of_the_user_is_not_replaced_by_one_of_the_same_key() -> None:
    ours, theirs = strategy("s_x", "ours"), replace(strategy("s_x", "theirs"), uses={"j_b": 1.0})
    known = Graph(GAME, NODES).with_more([theirs.node()], theirs.edges())
    after = with_newer(known, Graph(GAME, NODES).with_more([ours.node()], ours.edges()))
    [node] = [node for node in after.nodes if node.label == "Strategy"]
    assert node.name == "theirs"
    assert [edge.b for edge in after.edges] == ["j_b"]


def test_a_graph_that_cannot_be_written_now_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LadybugStore(tmp_path / "graph.lbug", GAME)
    store.replace(Graph(GAME, NODES))
    shipped = release(tmp_path, 1.0, "one")
    monkeypatch.setattr("jimbot.knowledge.first_use.shipped_graph", lambda game: shipped)
    assert not take_newer(store, GAME)  # somebody else made it
    monkeypatch.setattr("jimbot.knowledge.first_use.own_file", lambda game: store.address)
    with LadybugStore(tmp_path / "graph.lbug", GAME)._writing():
        assert not take_newer(store, GAME)
    assert store.graph().edges == ()
    assert take_newer(store, GAME)
    assert [one["name"] for one in shipped_strategies(GAME)] == ["one"]


def test_what_ships_tells_strategies_with_their_evidence() -> None:
    found = shipped_strategies("balatro")
    assert len(found) > 10
    for one in found:
        assert one["games"] > 0
        assert one["low"] <= one["share"] <= one["high"]
        assert one["command"].startswith("jimbot graph discover ")
        assert one["details"]["examples"]
        assert one["uses"]
    played = [one for one in found if not one["verdict"]]
    assert {"main_hand", "core", "economy", "deck_shape"} <= played[0]["details"].keys()
    assert any(one["verdict"] for one in found)
