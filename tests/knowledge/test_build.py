"""Measuring into a graph: nothing twice, nothing lost, and every claim can be measured again by its own command."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from jimbot.cli import main
from jimbot.knowledge.build import Plan, build
from jimbot.knowledge.ladybug_store import LadybugStore
from tests.knowledge.measured import Measuring, strength
from tests.knowledge.samples import JOKERS

pytest.importorskip("ladybug")
PAIRS = len(JOKERS) * (len(JOKERS) - 1) // 2


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Measuring:
    measuring = Measuring()
    hook = measuring.hook()
    for module in ("first_use", "build"):
        monkeypatch.setattr(f"jimbot.knowledge.{module}.knowledge_of", lambda game: hook)
    monkeypatch.setattr("jimbot.knowledge.first_use.shipped_graph", lambda game: None)
    return measuring


@pytest.fixture
def store(tmp_path: Path) -> LadybugStore:
    return LadybugStore(tmp_path / "graph.lbug", "cards")


def test_a_stopped_build_goes_on_where_it_was(measuring: Measuring, store: LadybugStore) -> None:
    measuring.stop_after = 3
    first = build(store, Plan("cards"))
    assert (first.stopped, first.measured) == (True, 6)
    assert len(store.graph().edges) == 6
    measuring.stop_after = None
    second = build(store, Plan("cards"))
    assert (second.stopped, second.known, second.measured) == (False, 3, 2 * (PAIRS - 3))
    assert len(measuring.asked) == len(set(measuring.asked)) == PAIRS
    assert build(store, Plan("cards")).measured == 0
    assert len({node.label for node in store.graph().nodes}) == 3


def test_a_build_that_goes_on_ends_with_groups_of_all_pairs_too(
    measuring: Measuring, store: LadybugStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jimbot.knowledge.build.ALL", "score")
    measuring.stop_after = 3
    build(store, Plan("cards"))
    measuring.stop_after = None
    build(store, Plan("cards"))
    assert len(measuring.ranked) == PAIRS  # those of the first call and those of the second
    assert sum(bool(edge.others) for edge in store.graph().edges) == 1
    measuring.ranked = {}
    assert build(store, Plan("cards")).measured == 0
    assert measuring.ranked == {}


def test_another_effort_or_seed_is_another_measurement(measuring: Measuring, store: LadybugStore) -> None:
    build(store, Plan("cards", channels=("score",)))
    again = build(store, Plan("cards", channels=("score",), seed=1))
    assert again.measured == PAIRS
    edges = store.graph().edges
    assert len(edges) == PAIRS  # of the same claim the newer counts
    assert all(edge.strength == strength(edge.a, edge.b, 1) for edge in edges)


def run(*words: str) -> int:
    return main.run(["graph", *words])


def test_every_claim_is_measured_again_by_its_command(
    measuring: Measuring, store: LadybugStore, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--graph", store.address, "--game", "cards"]
    assert run("build", *where) == 0
    assert run("build", "--pairs", "Baron, Mime,j_blueprint", *where) == 0
    edges = store.graph().edges
    capsys.readouterr()
    for edge in (edges[0], edges[-1]):
        measuring.asked.clear()
        assert main.run([*shlex.split(edge.command)[1:], *where]) == 0
        assert f"{edge.strength:+.3f}" in capsys.readouterr().out
    assert {edge.identity for edge in store.graph().edges} == {edge.identity for edge in edges}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--pairs", "Baron"], "two or more different names"),
        (["--pairs", "Baron,Baron"], "two or more different names"),
        (["--pairs", "Barron,Mime"], "Did you mean 'Baron'"),
        (["--pairs", "Baron,Mime", "--overwrite"], "--overwrite forgets"),
        (["--effort", "0"], "--effort is 0"),
    ],
)
def test_wrong_use_is_a_sentence(
    measuring: Measuring, store: LadybugStore, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("build", *words, "--graph", store.address, "--game", "cards") == 2
    complaint = capsys.readouterr().err
    assert told in complaint
    assert complaint.count("\n") == 1
    assert not store.exists()
