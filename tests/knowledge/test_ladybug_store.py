"""The embedded engine: the contract of all engines, and what a file can suffer."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from jimbot.errors import KnowledgeError
from jimbot.knowledge import records
from jimbot.knowledge.ladybug_store import LadybugStore
from jimbot.knowledge.records import Graph, Node
from tests.knowledge.samples import GAME, sample, sample_file
from tests.knowledge.store_contract import READING, WRITING, same

pytest.importorskip("ladybug")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a 'folder'" / "graph.lbug"


@pytest.mark.parametrize("promise", WRITING, ids=lambda promise: promise.__name__)
def test_the_contract_of_all_engines_writing(promise, path: Path) -> None:
    promise(lambda: LadybugStore(path, GAME))


@pytest.mark.parametrize("promise", READING, ids=lambda promise: promise.__name__)
def test_the_contract_of_all_engines_reading(promise, tmp_path: Path) -> None:
    promise(LadybugStore(sample_file(tmp_path), GAME))


def test_a_reader_sees_the_new_graph_at_its_next_question(tmp_path: Path) -> None:
    path = sample_file(tmp_path)
    writer, reader = LadybugStore(path, GAME), LadybugStore(path, GAME)
    assert reader.ask("MATCH (b:Boss) RETURN count(b)").values == ((1,),)
    writer.add([Node("Boss", "bl_ox", "The Ox")])
    assert reader.ask("MATCH (b:Boss) RETURN count(b)").values == ((2,),)


def test_nothing_else_is_left_in_the_folder(path: Path) -> None:
    LadybugStore(path, GAME).replace(sample())
    assert {file.name for file in path.parent.iterdir()} == {"graph.lbug", "graph.lbug.sum", "graph.lbug.lock"}


@pytest.mark.parametrize("harm", ["cut", "bytes", "empty", "text"])
def test_a_damaged_file_is_named_and_the_reader_recovers(tmp_path: Path, harm: str) -> None:
    path = sample_file(tmp_path)
    store = LadybugStore(path, GAME)
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes({
        "cut": whole[:middle], "bytes": whole[:middle] + b"\x01\x02" + whole[middle + 2 :], "empty": b"",
        "text": b"hello",
    }[harm])  # fmt: skip
    for reader in (store, LadybugStore(path, GAME)):
        with pytest.raises(KnowledgeError, match="damaged"):
            reader.ask("MATCH (j:Joker) RETURN j.key")
    path.write_bytes(whole)
    assert store.ask("MATCH (b:Boss) RETURN b.key").values == (("bl_wall",),)


def test_a_file_that_is_no_graph_is_refused_without_its_digest_too(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(KnowledgeError, match=r"no graph, or damaged"):
        LadybugStore(path, GAME).ask("MATCH (j:Joker) RETURN j.key")


def test_no_graph_says_how_to_make_one(path: Path) -> None:
    with pytest.raises(KnowledgeError, match="jimbot graph build"):
        LadybugStore(path, GAME).ask("MATCH (j:Joker) RETURN j.key")


def test_the_graph_of_another_game_is_refused(tmp_path: Path) -> None:
    path = sample_file(tmp_path)
    with pytest.raises(KnowledgeError, match="graph of 'cards', not of 'dice'"):
        LadybugStore(path, "dice").graph()


def test_a_graph_of_a_newer_version_is_refused_and_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(records, "VERSION", 7)
        LadybugStore(path, GAME).replace(sample())
    before = path.read_bytes()
    store = LadybugStore(path, GAME)
    for use in (lambda: store.ask("MATCH (j:Joker) RETURN j.key"), store.graph, lambda: store.add([])):
        with pytest.raises(KnowledgeError, match="version 7"):
            use()
    assert path.read_bytes() == before


def test_a_graph_of_an_older_version_is_brought_up_to_date_by_the_next_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sample_file(tmp_path)

    def renamed(document: dict) -> dict:
        for node in document["nodes"]:
            node["name"] = node["name"].upper()
        return document

    monkeypatch.setattr(records, "VERSION", records.VERSION + 1)
    monkeypatch.setitem(records.MIGRATIONS, records.VERSION - 1, renamed)
    store = LadybugStore(path, GAME)
    with pytest.raises(KnowledgeError, match="jimbot graph build"):
        store.ask("MATCH (j:Joker) RETURN j.key")
    store.add([])
    assert store.ask("MATCH (b:Boss) RETURN b.name").values == (("THE WALL",),)


def _hold(path: Path, ready, done) -> None:
    with LadybugStore(path, GAME)._writing():
        ready.set()
        done.wait(60)


def test_a_second_writer_is_told_who_writes_and_readers_go_on(tmp_path: Path) -> None:
    path = sample_file(tmp_path)
    store = LadybugStore(path, GAME)
    context = multiprocessing.get_context("fork")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(path, ready, done))
    other.start()
    try:
        assert ready.wait(60)
        with pytest.raises(KnowledgeError, match=rf"written by another program \(process {other.pid}\)"):
            store.add([Node("Boss", "bl_ox", "The Ox")])
        assert same(store.graph(), sample())
    finally:
        done.set()
        other.join(60)
    store.add([Node("Boss", "bl_ox", "The Ox")])


def test_a_writer_that_dies_half_way_leaves_the_old_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sample_file(tmp_path)
    store = LadybugStore(path, GAME)

    def killed(self, digests) -> None:
        if len(digests) == 2:
            original(self, digests)
            raise KeyboardInterrupt

    original = LadybugStore._note_digests
    monkeypatch.setattr(LadybugStore, "_note_digests", killed)
    with pytest.raises(KeyboardInterrupt):
        store.replace(Graph(GAME))
    assert len(json.loads(path.with_name("graph.lbug.sum").read_text())["digests"]) == 2
    assert same(LadybugStore(path, GAME).graph(), sample())
