"""Graphs as JSON: what is written is read again, and nothing wrong gets in."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path

import pytest

from jimbot.errors import KnowledgeError
from jimbot.knowledge.documents import document_of, graph_of, read_document
from tests.knowledge.samples import sample
from tests.knowledge.store_contract import same


def test_a_graph_survives_the_document(tmp_path: Path) -> None:
    text = json.dumps(document_of(sample()))
    assert same(graph_of(json.loads(text)), sample())
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(text.encode()))
    assert same(read_document(tmp_path / "a.json.gz"), sample())


def test_synergies_stand_in_a_list_of_plain_numbers() -> None:
    first = document_of(sample())["synergies"][0]
    assert {name: first[name] for name in ("a", "b", "strength", "low", "high", "channel", "evidence")} == {
        "a": "j_baron", "b": "j_mime", "strength": 1.2, "low": 1.2 - 0.1, "high": 1.2 + 0.1, "channel": "score",
        "evidence": "measured",
    }  # fmt: skip


def changed(**values) -> dict:
    document = copy.deepcopy(document_of(sample()))
    for place, value in values.items():
        section, _, field = place.partition("__")
        if field:
            document[section][0][field] = value
        else:
            document[section] = value
    return document


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "no 'version'"),
        ({}, "no 'version'"),
        (changed(version=99), "schema version 99"),
        (changed(version=0), "schema version 0"),
        (changed(version=True), "no 'version'"),
        (changed(surprise=1), "surprise"),
        (changed(synergies__strength="strong"), r"synergies\.0\.strength"),
        (changed(synergies__strength=float("nan")), "finite"),
        (changed(synergies__low=5.0), "outside its own interval"),
        (changed(synergies__a="j_nobody"), "not all of these are nodes"),
        (changed(synergies__a="bl_wall"), "cannot lead from 'bl_wall'"),
        (changed(synergies__others=["j_nobody"]), "not all of these are nodes"),
        (changed(synergies__evidence="rumour"), "evidence"),
        (changed(synergies__samples=-1), "samples"),
        (changed(nodes__label="Wizard"), "Wizard"),
        (changed(nodes__values={"seed": "x"}), "values"),
        (changed(nodes__key="j_brainstorm"), "same key"),
        (changed(nodes__name="x" * 5000), "4000"),
        (changed(strategies__uses={"j_nobody": 1.0}), "not all of these are nodes"),
    ],
)
def test_a_wrong_document_is_refused_in_one_sentence(document, words: str) -> None:
    with pytest.raises(KnowledgeError, match=words) as problem:
        graph_of(document)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("data", [b"", b"[", b"\x1f\x8bnope", b"\xff\xfe", b"null"])
def test_a_file_that_is_no_graph_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "bad.json").write_bytes(data)
    with pytest.raises(KnowledgeError, match=r"bad\.json"):
        read_document(tmp_path / "bad.json")
