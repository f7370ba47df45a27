"""The graph as GraphQL: a real server on loopback, its client, and what hostile queries get."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("strawberry")
pytest.importorskip("ladybug")

from jimbot.clients import GraphQLClient
from jimbot.clients.resilience import RetryPolicy
from jimbot.errors import KnowledgeError, SettingsError
from jimbot.knowledge import KnowledgeGraphClient
from jimbot.knowledge.graphql_schema import SCHEMA_FILE, answer, schema_text
from jimbot.knowledge.records import Strategy
from jimbot.knowledge.updates import strategy_from, synergy_from
from jimbot.services.graph_server import LARGEST_BODY, UpdateStore, graph_server, tell
from tests.knowledge.samples import GAME, sample_file
from tests.services.buses import NatsServer, nats_program

TOKEN = "a-token-of-the-tests"
TYPED = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
PATIENT = RetryPolicy(deadline=20.0, cap=20.0)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraphClient]:
    client = KnowledgeGraphClient(str(sample_file(tmp_path_factory.mktemp("graph"))), GAME)
    yield client
    client.close()


@pytest.fixture(scope="module")
def address(graph: KnowledgeGraphClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    tokens = tmp_path_factory.mktemp("tokens") / "tokens.txt"
    tokens.write_text(TOKEN + "\n")
    server = graph_server(graph, "127.0.0.1", 0, tokens)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(20)


def test_the_schema_file_is_up_to_date() -> None:
    assert SCHEMA_FILE.read_text() == schema_text(), (
        'python -c "from jimbot.knowledge.graphql_schema import *; SCHEMA_FILE.write_text(schema_text())"'
    )


def test_everything_can_be_asked_for_at_once(graph: KnowledgeGraphClient) -> None:
    found = answer(
        graph,
        """query($jokers: [String!]!) {
          joker(name: "baron") { key favours { bName } counters { bName }
            synergies(first: 1, channel: "score") {
              claim { strength command } joker { name synergies { claim { a b } } } } }
          jokers(first: 2, after: "Baron") { name }
          synergies(jokers: $jokers) { aName bName strength }
          boss(name: "The Wall") { counters { a strength } }
          explain(start: "Mime", end: "Brainstorm") { a b }
          strategies(state: {jokers: ["Baron", "Mime"], hand: "High Card"}) { name similarity uses { name weight } }
        }""",
        {"jokers": ["Blueprint", "Brainstorm"]},
    )
    assert "errors" not in found
    data = found["data"]
    assert data["joker"]["synergies"][0]["joker"]["name"] == "Mime"
    assert data["joker"]["synergies"][0]["claim"]["command"].startswith("jimbot graph build --pairs")
    assert [one["name"] for one in data["jokers"]] == ["Blueprint", "Brainstorm"]
    assert data["synergies"] == [{"aName": "Blueprint", "bName": "Brainstorm", "strength": 0.6}]
    assert [one["a"] for one in data["boss"]["counters"]] == ["j_baron", "Flush"]
    assert len(data["explain"]) == 3
    assert data["strategies"][0]["uses"][0] == {"name": "Baron", "weight": 1.0}


DEEP = '{ joker(name: "Baron") { ' + "synergies { joker { " * 5 + "name" + " } }" * 5 + " } }"
WIDE = "{ " + " ".join(f'a{n}: joker(name: "Mime") {{ key }}' for n in range(30)) + " }"
LONG = "{ jokers { " + "name " * 2000 + "} }"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("{", "Syntax Error"),
        ("{ nothing }", "Cannot query field"),
        ("mutation { drop }", "Cannot query field"),
        ('{ joker(name: "Barron") { key } }', "Did you mean 'Baron'"),
        ("{ jokers(first: 1000000) { name } }", "expected 1 to 100"),
        ("{ jokers(first: -1) { name } }", "expected 1 to 100"),
        (DEEP, "depth"),
        (WIDE, "aliases"),
        (LONG, "tokens"),
        ('{ joker(name: "\' }) DETACH DELETE n //") { key } }', "Unknown joker"),
    ],
)
def test_wrong_and_hostile_queries_are_answered_with_a_sentence(
    graph: KnowledgeGraphClient, query: str, told: str
) -> None:
    found = answer(graph, query)
    message = found["errors"][0]["message"]
    assert told in message
    assert "\n" not in message


def test_an_answer_has_a_bound_however_it_is_asked_for(
    graph: KnowledgeGraphClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "{ jokers { synergies { joker { synergies { joker { name } } } } } }"
    assert "errors" not in answer(graph, query)
    for name, told in (("MOST_THINGS", "more than 10 things"), ("MOST_QUESTIONS", "more than 10 questions")):
        with monkeypatch.context() as patch:
            patch.setattr(f"jimbot.knowledge.graphql_schema.{name}", 10)
            assert told in answer(graph, query)["errors"][0]["message"]


def test_what_breaks_inside_is_not_told_outside(graph: KnowledgeGraphClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*rest: object) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(graph, "explain", broken)
    found = answer(graph, '{ explain(start: "Mime", end: "Baron") { a } }')
    assert found["errors"][0]["message"] == "The graph could not answer; see the server's log."


def test_the_client_asks_a_real_server(address: str) -> None:
    client = GraphQLClient(address, TOKEN, PATIENT)
    found = asyncio.run(client.get_joker_synergies(["Baron", "Mime"]))
    assert found["synergies"][0]["strength"] == 1.2
    with pytest.raises(KnowledgeError, match="Did you mean 'Baron'"):
        client.ask('{ joker(name: "Barron") { key } }')


def test_the_client_says_who_did_not_answer(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JIMBOT_GRAPH_TOKEN", raising=False)
    with pytest.raises(KnowledgeError, match="token is missing"):
        GraphQLClient(address, patience=PATIENT).ask("{ jokers { key } }")
    nobody = GraphQLClient("http://127.0.0.1:9", patience=RetryPolicy(deadline=0.2, failures=1, rest=60))
    for told in ("does not answer", "left alone"):
        with pytest.raises(KnowledgeError, match=told):
            nobody.ask("{ jokers { key } }")
    with pytest.raises(KnowledgeError, match="no address"):
        GraphQLClient("bolt://127.0.0.1")


def posted(address: str, body: bytes | None, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(f"{address}/graphql", body, {**TYPED, **headers})
    try:
        with urllib.request.urlopen(request, timeout=30) as found:
            return found.status, found.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())["errors"][0]["message"]


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"query": ""}', b'{"query": 5}', b'{"query": "{a}", "variables": 3}', b"\xff", b"[" * 10_000],
)
def test_strange_bodies_are_refused(address: str, body: bytes) -> None:
    assert posted(address, body)[0] == 400


def test_the_door_keeps_out_whom_it_should(address: str) -> None:
    query = json.dumps({"query": "{ jokers { key } }"}).encode()
    assert posted(address, query)[0] == 200
    assert posted(address, query, Origin="http://elsewhere.example")[0] == 403
    assert posted(address, query, Authorization="Bearer wrong")[0] == 401
    assert posted(address, b" " * (LARGEST_BODY + 1))[0] == 413
    status, text = posted(address, None)
    assert (status, text) == (200, schema_text())


def test_other_machines_need_a_token(graph: KnowledgeGraphClient, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="can be reached by other machines"):
        graph_server(graph, "0.0.0.0", 0)


def _another(folder: Path) -> Path:
    (folder / "other").mkdir()
    return sample_file(folder / "other")


SAVE = """mutation($s: StrategyInput!) { saveStrategy(strategy: $s) { key name games low high uses { key weight } } }"""
FOUND = {
    "name": "Kings held",
    "uses": [{"part": "Baron"}, {"part": "j_mime", "weight": 0.5}],
    "games": 40,
    "share": 0.5,
}


def _post(address: str, token: str, strategy: dict) -> dict:
    body = json.dumps({"query": SAVE, "variables": {"s": strategy}}).encode()
    headers = {**TYPED, "Authorization": f"Bearer {token}"}
    with urllib.request.urlopen(urllib.request.Request(f"{address}/graphql", body, headers), timeout=20) as found:
        return json.loads(found.read())


def test_a_strategy_is_kept_for_who_shows_a_token_and_for_nobody_else(tmp_path: Path) -> None:
    client = KnowledgeGraphClient(str(sample_file(tmp_path)), GAME)
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(f"{TOKEN}\n{TOKEN}-to-look look\n")
    server = graph_server(client, "127.0.0.1", 0, tokens)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        assert "token" in _post(address, f"{TOKEN}-to-look", FOUND)["errors"][0]["message"]
        assert "token" in answer(client, SAVE, {"s": FOUND})["errors"][0]["message"]
        kept = _post(address, TOKEN, FOUND)["data"]["saveStrategy"]
        assert kept["uses"] == [{"key": "j_baron", "weight": 1.0}, {"key": "j_mime", "weight": 0.5}]
        assert kept["low"] < 0.5 < kept["high"]
        known = KnowledgeGraphClient(client.store.address, GAME)
        assert known.strategies({"jokers": ["Baron", "Mime"]})[0]["name"] == "Kings held"
        known.close()
        wrong = _post(address, TOKEN, {**FOUND, "share": 7.0})["errors"][0]["message"]
        assert "expected 0 to 1" in wrong
        assert "Did you mean" in _post(address, TOKEN, {**FOUND, "uses": [{"part": "Barom"}]})["errors"][0]["message"]
    finally:
        server.should_exit = True
        thread.join(20)
        client.close()


@pytest.mark.skipif(nats_program() is None, reason="needs nats-server")
def test_what_one_program_discovers_another_keeps_and_hostile_updates_are_left(tmp_path: Path) -> None:
    server, client = NatsServer(tmp_path / "bus"), KnowledgeGraphClient(str(sample_file(tmp_path)), GAME)
    store = None
    try:
        store = UpdateStore(client, server.address)
        found = asyncio.run(client.save_strategy("Kings held", ["Baron", "Mime"], games=10, share=0.4))
        other = KnowledgeGraphClient(str(_another(tmp_path)), GAME)
        told = strategy_from(other.names, "Copies", {"Blueprint": 1.0, "Brainstorm": 0.5}, games=30, share=0.6)
        claim = synergy_from(other.names, ["Baron", "Blueprint"], 0.3, low=0.1, high=0.5, samples=9)
        hostile = Strategy("s_x", "x", uses={"j_nobody": 1.0}, games=1, share=9.0)
        assert tell(server.address, GAME, [hostile, told, claim], "run a") == 3
        until = time.monotonic() + 20
        while store.kept + store.refused < 3 and time.monotonic() < until:
            time.sleep(0.02)
        assert (store.kept, store.refused) == (2, 1)
        assert {one["name"] for one in client.strategies()} >= {"Copies", found.name}
        [kept] = [one for one in client.strategies() if one["name"] == "Copies"]
        assert kept["uses"] == {"j_blueprint": 1.0, "j_brainstorm": 0.5}
        assert (kept["games"], kept["share"]) == (30, 0.6)
        claims = client.joker_synergies(["Baron", "Blueprint"])["synergies"]
        assert (0.3, 9) in [(one["strength"], one["samples"]) for one in claims]
        other.close()
    finally:
        if store is not None:
            store.close()
        server.kill()
        client.close()
