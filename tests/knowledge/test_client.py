"""What programs ask the graph: names, questions, and hints that never stand in the way of a decision."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from jimbot.errors import KnowledgeError, UnknownNameError
from jimbot.knowledge import KnowledgeGraphClient, queries
from jimbot.knowledge.client import Pairs
from jimbot.knowledge.ladybug_store import LadybugStore
from jimbot.knowledge.records import SYNERGY, Graph, Node
from tests.knowledge.samples import GAME, JOKERS, edge, sample, sample_file

pytest.importorskip("ladybug")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return sample_file(tmp_path)


@pytest.fixture
def client(path: Path):
    client = KnowledgeGraphClient(str(path), GAME, deadline=20.0, failures=2, rest=1000.0)
    yield client
    client.close()


def test_synergies_are_asked_by_name_or_key(client: KnowledgeGraphClient) -> None:
    found = asyncio.run(client.get_joker_synergies(["Blueprint", "j_brainstorm"]))
    assert found["jokers"] == ["j_blueprint", "j_brainstorm"]
    assert [(one["a_name"], one["b_name"], one["strength"]) for one in found["synergies"]] == [
        ("Blueprint", "Brainstorm", 0.6)
    ]


def test_the_query_of_the_design_is_answered_by_column(client: KnowledgeGraphClient) -> None:
    query = "MATCH (j1:Joker)-[s:SYNERGIZES_WITH]->(j2:Joker) WHERE j1.name IN $jokers RETURN j2.name, s.strength"
    rows = asyncio.run(client.query(query, jokers=["Blueprint"]))
    assert rows == [{"j2.name": "Brainstorm", "s.strength": 0.6}]


def test_pairs_in_memory_say_what_the_engine_says(client: KnowledgeGraphClient) -> None:
    pairs = Pairs(client.store)
    for keys in (["j_mime", "j_baron"], ["j_baron", "j_blueprint", "j_mime"], ["j_loner", "j_baron"], [], list(JOKERS)):
        assert pairs.among(keys) == queries.synergies_among(client.store, keys)


def test_a_graph_that_was_replaced_is_noticed(client: KnowledgeGraphClient, path: Path) -> None:
    assert len(client.joker_synergies(["Baron", "Mime"])["synergies"]) == 2
    LadybugStore(path, GAME).add([Node("Joker", "j_new", "New")], [edge(SYNERGY, "j_baron", "j_mime", 0.1, "money")])
    assert len(client.joker_synergies(["Baron", "Mime", "new"])["synergies"]) == 3


def test_an_unknown_joker_is_answered_with_the_nearest(client: KnowledgeGraphClient) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'Blueprint'"):
        asyncio.run(client.get_joker_synergies(["Bluprint", "Mime"]))


def test_neighbours_counters_and_explanations(client: KnowledgeGraphClient) -> None:
    assert [one["b"] for one in client.neighbours("baron", channel="score", most=1)] == ["j_mime"]
    assert client.counters("the wall")[0]["a_name"] == "Baron"
    assert len(client.explain("Mime", "Brainstorm")) == 3
    assert client.strategies()[0]["share"] == 0.6
    assert client.strategies({"jokers": ["Loner"]}) == []


def test_hints_tell_what_is_known_of_a_state(client: KnowledgeGraphClient) -> None:
    hints = client.hints({"jokers": ["j_baron", "Mime", "nobody", 7], "boss": "bl_wall", "deck": "b_red",
                          "played": {"High Card": 3, "Flush": 1}})  # fmt: skip
    assert hints.answered
    assert hints.synergies[0]["strength"] == 1.2
    assert [one["a"] for one in hints.counters] == ["j_baron"]
    assert hints.strategy_name == "Baron and Mime: High Card"
    assert hints.strategy["similarity"] > 0.8
    assert client.counts()["answered"] == 1


@pytest.mark.parametrize(
    "state", [{}, {"jokers": None}, {"jokers": 5, "boss": [], "played": ["x"]}, {"boss": {"a": 1}}]
)
def test_a_strange_state_is_answered_with_nothing(client: KnowledgeGraphClient, state: dict) -> None:
    hints = client.hints(state)
    assert (hints.answered, hints.synergies, hints.counters, hints.strategy) == (True, (), (), None)


def test_hints_go_on_without_the_graph_and_rest_after_failures(client: KnowledgeGraphClient, path: Path) -> None:
    state = {"jokers": ["j_baron", "j_mime"]}
    assert client.hints(state).answered
    whole = path.read_bytes()
    path.write_bytes(b"damaged")
    for _ in range(4):
        assert not client.hints(state).answered
    path.write_bytes(whole)
    assert not client.hints(state).answered  # resting
    assert client.counts() == {"answered": 1, "late": 0, "failed": 2, "resting": 3}


def test_a_graph_that_does_not_answer_costs_no_more_than_the_deadline(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = KnowledgeGraphClient(str(path), GAME, deadline=0.01, rest=0.0)
    free = threading.Event()
    monkeypatch.setattr(client.store, "ask", lambda *rest, **more: free.wait(60))
    assert not client.hints({"jokers": ["j_baron"]}).answered
    assert not client.hints({"jokers": ["j_baron"]}).answered  # the first is still being worked on
    assert client.counts()["late"] == 1
    assert client.counts()["resting"] == 1
    free.set()
    client.close()


def test_a_missing_graph_is_made_at_first_use_where_none_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("JIMBOT_GRAPH", raising=False)
    monkeypatch.setattr("jimbot.knowledge.first_use.first_graph", lambda game: sample())
    client = KnowledgeGraphClient(game=GAME)
    assert client.neighbours("Baron")
    assert (tmp_path / "jimbot" / "knowledge" / "cards.lbug").exists()
    named = KnowledgeGraphClient(str(tmp_path / "other.lbug"), GAME)
    with pytest.raises(KnowledgeError, match="There is no graph"):
        named.neighbours("Baron")


def test_an_address_may_come_from_the_environment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIMBOT_GRAPH", str(path))
    assert KnowledgeGraphClient(game=GAME).neighbours("Baron")
    with pytest.raises(KnowledgeError, match="no address of a graph"):
        KnowledgeGraphClient("http://here", GAME)


def test_an_empty_graph_answers_with_nothing(tmp_path: Path) -> None:
    LadybugStore(tmp_path / "g", GAME).replace(Graph(GAME))
    assert KnowledgeGraphClient(str(tmp_path / "g"), GAME).strategies() == []


class _Server(LadybugStore):
    """A graph that is asked over a network, which stands still at will."""

    local = False
    now = 0
    hangs: threading.Event | None = None

    def stamp(self):
        return self.now

    def ask(self, *args, **more):
        if self.hangs is not None:
            self.hangs.wait(20)
        return super().ask(*args, **more)


def test_hints_of_a_server_come_from_memory_while_it_is_read_anew(path: Path) -> None:
    client = KnowledgeGraphClient(str(path), GAME, deadline=20.0)
    client.store = store = _Server(path, GAME)
    state = {"jokers": ["j_baron", "j_mime"], "boss": "bl_wall"}
    first = client.hints(state)
    assert len(first.synergies) == 2
    assert first.counters
    LadybugStore(path, GAME).add([], [edge(SYNERGY, "j_baron", "j_mime", 0.1, "money")])
    store.hangs, store.now = threading.Event(), 1
    client._guard._deadline = 0.05
    for _ in range(20):
        assert client.hints(state).synergies == first.synergies
    assert client.counts() == {"answered": 21, "late": 0, "failed": 0, "resting": 0}
    store.hangs.set()
    for _ in range(400):
        if len(client.hints(state).synergies) == 3:
            break
        threading.Event().wait(0.02)
    assert len(client.hints(state).synergies) == 3
    client.close()
