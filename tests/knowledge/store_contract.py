"""What every engine must do. `test_ladybug_store.py` and `test_bolt_store.py` run it, each with its own engine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jimbot.errors import KnowledgeError
from jimbot.knowledge import queries
from jimbot.knowledge.queries import Names
from jimbot.knowledge.records import SYNERGY, Graph, Node
from jimbot.knowledge.store import GraphStore, Limits
from tests.knowledge.samples import GAME, JOKERS, edge, sample

Open = Callable[[], GraphStore]


def same(one: Graph, other: Graph) -> bool:
    def keyed(graph: Graph) -> tuple:
        return graph.game, {node.key: node for node in graph.nodes}, {edge.identity: edge for edge in graph.edges}

    return keyed(one) == keyed(other)


def holds_what_was_put_in(open_store: Open) -> None:
    store = open_store()
    store.replace(sample())
    assert same(store.graph(), sample())
    again = open_store()
    assert again.exists()
    assert same(again.graph(), sample())
    again.close()


def adds_and_takes_the_newer(open_store: Open) -> None:
    store = open_store()
    store.replace(sample())
    stronger = edge(SYNERGY, "j_baron", "j_mime", 2.0)
    more = Node("Joker", "j_new", "New"), edge(SYNERGY, "j_mime", "j_new", 0.1, "money")
    store.add([more[0], Node("Joker", "j_mime", "Mime the Second")], [stronger, more[1]])
    expected = sample().with_more([more[0], Node("Joker", "j_mime", "Mime the Second")], [stronger, more[1]])
    assert same(store.graph(), expected)


def forgets_what_was_replaced(open_store: Open) -> None:
    store = open_store()
    store.replace(sample())
    small = Graph(GAME, (Node("Joker", "j_only", "Only"),))
    store.replace(small)
    assert same(store.graph(), small)


def answers_the_questions(store: GraphStore) -> None:
    found = queries.synergies_among(store, ["j_baron", "j_mime", "j_blueprint"])
    assert [(claim["a"], claim["b"], claim["strength"], claim["channel"]) for claim in found] == [
        ("j_baron", "j_mime", 1.2, "score"), ("j_baron", "j_mime", 0.8, "score"),
        ("j_baron", "j_blueprint", 0.7, "score"), ("j_baron", "j_mime", 0.3, "growth"),
    ]  # fmt: skip
    assert found[1]["others"] == ["j_blueprint"]
    assert found[2]["order"] == "b_left"
    assert len(queries.synergies_among(store, ["j_baron", "j_mime"])) == 2  # the group has a third one
    assert {claim["a"] for claim in queries.partners(store, "j_mime")} == {"j_baron", "j_brainstorm"}
    assert [claim["a"] for claim in queries.counters_to(store, "bl_wall")] == ["j_baron", "Flush"]
    assert [claim["b"] for claim in queries.favours(store, "j_baron")] == ["High Card"]
    assert [claim["b_name"] for claim in queries.counters_of(store, "Joker", "j_baron")] == ["The Wall"]
    chain = queries.explanation(store, "j_mime", "j_brainstorm")
    assert [(claim["a"], claim["b"]) for claim in chain] == [
        ("j_baron", "j_mime"), ("j_baron", "j_blueprint"), ("j_blueprint", "j_brainstorm"),
    ]  # fmt: skip
    assert queries.explanation(store, "j_mime", "j_loner") == []
    assert queries.nearest_strategies(queries.strategies(store), ["j_baron", "j_mime"])[0]["key"] == "s_kings"
    assert Names.of(store).key("lone wolf the 2nd É", "Joker") == "j_loner"


def answers_the_query_of_the_design(store: GraphStore) -> None:
    rows = store.ask(
        """
        MATCH (j1:Joker)-[s:SYNERGIZES_WITH]->(j2:Joker)
        WHERE j1.name IN $jokers AND j2.name IN $jokers
        RETURN j1.name, j2.name, s.strength
        """,
        {"jokers": ["Blueprint", "Brainstorm"]},
    )
    assert rows.values == (("Blueprint", "Brainstorm", 0.6),)


def keeps_to_its_limits(store: GraphStore) -> None:
    some = store.ask("MATCH (j:Joker) RETURN j.key AS key", limits=Limits(rows=2))
    assert len(some.values) == 2
    assert some.cut
    everything = store.ask("MATCH (j:Joker) RETURN j.key AS key", limits=Limits(rows=len(JOKERS)))
    assert not everything.cut
    assert everything.columns == ("key",)


def only_reads_when_asked(store: GraphStore) -> None:
    for hostile in (
        "MATCH (j:Joker) DETACH DELETE j",
        "MATCH (j:Joker) SET j.name = 'x' RETURN j",
        "CREATE (:Joker {key: 'x'})",
        "MATCH (j:Joker) RETURN j; MATCH (j:Joker) DELETE j",
    ):
        with pytest.raises(KnowledgeError):
            store.ask(hostile)
    assert same(store.graph(), sample())


def says_what_it_does_not_understand(store: GraphStore) -> None:
    with pytest.raises(KnowledgeError, match="did not answer") as problem:
        store.ask("MATCH (j:Joker RETURN j")
    assert "\n" not in str(problem.value)
    assert store.ask("MATCH (j:Joker) RETURN count(j)").values == ((len(JOKERS),),)


READING = (
    answers_the_questions, answers_the_query_of_the_design, keeps_to_its_limits, only_reads_when_asked,
    says_what_it_does_not_understand,
)  # fmt: skip
"""Promises about a store that holds the sample."""
WRITING = (holds_what_was_put_in, adds_and_takes_the_newer, forgets_what_was_replaced)
"""Promises about a place for a store, opened as often as wanted."""
