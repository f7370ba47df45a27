"""Answers with hints of the knowledge graph, and what becomes of them when the graph is damaged, locked, slow or gone:
the decision stays the same, only the hint is missing, and counted."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ladybug")

from jimbot.games.contract import game_entry
from jimbot.games.hooks.learners import Knowledge
from jimbot.knowledge import KnowledgeGraphClient
from jimbot.knowledge.ladybug_store import LadybugStore
from jimbot.services.decision import DecisionService, ServedPolicy
from jimbot.services.decision.stages import Hinting
from tests.knowledge.measured import parts
from tests.knowledge.samples import sample
from tests.services.asking import Scripted, probe_request, service_of

DEADLINE = 20.0


def seen(observation: np.ndarray) -> dict:
    if observation[0] == 99:
        raise IndexError("an observation nobody expected")
    return {"jokers": ["j_baron", "j_mime"], "boss": "bl_wall"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    LadybugStore(folder / "graph.lbug", "probe").replace(replace(sample(), game="probe"))
    return folder


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "graph")
    return tmp_path / "graph" / "graph.lbug"


def serving(client: KnowledgeGraphClient | None) -> DecisionService:
    entry = replace(game_entry("probe"), knowledge=Knowledge(parts, lambda game, row: {}, read_observation=seen))
    service = service_of(ServedPolicy.make(entry, Scripted()), cache_size=0)
    if client is not None:
        service.hinting = Hinting(client, service.metrics)
    return service


@pytest.fixture
def service(path: Path) -> Iterator[DecisionService]:
    service = serving(KnowledgeGraphClient(str(path), "probe", deadline=DEADLINE, failures=100))
    yield service
    service.close()


def decided(answer) -> tuple:
    """All of a decision but its hint and its times."""
    same = type(answer)()
    same.CopyFrom(answer)
    for field in ("hints", "strategy_name", "timing", "request_id"):
        same.ClearField(field)
    return same.SerializeToString(deterministic=True)


def test_answers_name_the_strategy_and_what_is_known(service: DecisionService) -> None:
    answer = service.decide(probe_request())
    assert answer.strategy_name == "Baron and Mime: High Card"
    assert [(hint.kind, list(hint.subjects), hint.strength) for hint in answer.hints] == [
        ("synergy", ["j_baron", "j_mime"], 1.2), ("synergy", ["j_baron", "j_mime"], 0.3),
        ("counter", ["j_baron", "bl_wall"], 0.5),
    ]  # fmt: skip
    assert answer.hints[0].words == "Baron and Mime help each other (score +1.20 [+1.10, +1.30], measured)"
    assert answer.hints[2].words.startswith("Baron helps against The Wall")
    awaited = asyncio.run(service.decide_async(probe_request()))
    assert decided(awaited) == decided(answer)
    assert list(awaited.hints) == list(answer.hints)


def test_without_a_graph_the_same_is_decided(service: DecisionService) -> None:
    bare = serving(None)
    for number in range(3):
        with_hints, without = service.decide(probe_request(number)), bare.decide(probe_request(number))
        assert decided(with_hints) == decided(without)
        assert without.strategy_name == "probe/scripted"
        assert not without.hints
    bare.close()


@pytest.mark.parametrize("harm", ["damaged", "gone", "replaced by a folder"])
def test_a_graph_that_breaks_under_a_running_service_costs_the_hint_only(
    service: DecisionService, path: Path, harm: str
) -> None:
    healthy = service.decide(probe_request())
    aside = path.with_suffix(".aside")
    shutil.copy(path, aside)
    path.unlink()
    if harm == "damaged":
        path.write_bytes(aside.read_bytes()[:5000] + b"\xff" * 5000)
    elif harm == "replaced by a folder":
        path.mkdir()
    for ask in (service.decide, lambda request: asyncio.run(service.decide_async(request))):
        answer = ask(probe_request())
        assert decided(answer) == decided(healthy)
        assert not answer.hints
        assert answer.strategy_name == "probe/scripted"
    assert service.metrics.hints["probe", "failed"] == 2
    if path.is_dir():
        path.rmdir()
    shutil.move(aside, path)
    assert list(service.decide(probe_request()).hints) == list(healthy.hints)
    assert service.metrics.hints["probe", "answered"] == 2


def test_a_locked_graph_is_read_all_the_same(service: DecisionService, path: Path) -> None:
    with LadybugStore(path, "probe")._writing():
        assert service.decide(probe_request()).hints


def test_a_slow_graph_is_not_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = KnowledgeGraphClient(str(path), "probe", deadline=0.01, failures=2, rest=1000.0)
    free = threading.Event()
    monkeypatch.setattr(client.store, "ask", lambda *rest, **more: free.wait(60))
    service = serving(client)
    answers = [service.decide(probe_request(number)) for number in range(4)]
    assert not any(answer.hints for answer in answers)
    assert service.metrics.hints["probe", "late"] == 1
    assert service.metrics.hints["probe", "resting"] == 3
    free.set()
    service.close()


def test_a_state_that_cannot_be_read_costs_the_hint_only(service: DecisionService) -> None:
    answer = service.decide(probe_request(99))
    assert not answer.hints
    assert service.metrics.hints["probe", "failed"] == 1


def test_the_figures_are_shown(service: DecisionService) -> None:
    pytest.importorskip("prometheus_client")
    from jimbot.services.prometheus import Collector

    service.decide(probe_request())
    families = {family.name: family for family in Collector(service).collect()}
    samples = families["jimbot_serve_hints"].samples
    assert [(sample.labels, sample.value) for sample in samples if sample.name.endswith("_total")] == [
        ({"game": "probe", "outcome": "answered"}, 1)
    ]
