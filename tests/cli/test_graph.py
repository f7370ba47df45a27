"""`jimbot graph` as people use it: what it shows and writes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from jimbot.cli import main
from jimbot.cli.doors import graph
from jimbot.errors import UsageError
from tests.knowledge.samples import GAME, sample, sample_file
from tests.knowledge.store_contract import same

pytest.importorskip("ladybug")


@pytest.fixture
def where(tmp_path: Path) -> list[str]:
    return ["--graph", str(sample_file(tmp_path)), "--game", GAME]


def test_show_tells_every_claim_with_its_command(where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["graph", "show", "baron", *where]) == 0
    out = capsys.readouterr().out
    for words in ("Baron (j_baron)", "works with", "+1.200 [+1.100, +1.300]  score     Mime (measured, 64 samples)",
                  "jimbot graph build --pairs j_baron,j_mime", "Blueprint on the left", "against bosses", "The Wall",
                  "favours", "Baron and Mime: High Card: 60% [44%, 74%] of 40 games won"):  # fmt: skip
        assert words in out
    assert out.count("jimbot graph build") == 6


def test_show_explains_two_jokers_and_other_things(where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["graph", "show", "Mime", "--to", "Brainstorm", "--json", *where]) == 0
    assert len(json.loads(capsys.readouterr().out)["chain"]) == 3
    assert main.run(["graph", "show", "the wall", *where]) == 0
    assert "-0.200" in capsys.readouterr().out


def test_query_prints_rows_and_takes_parameters(where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["MATCH (j:Joker) WHERE j.key IN $keys RETURN j.name AS name ORDER BY name", "-p", "keys=[j_baron, j_mime]"]
    assert main.run(["graph", "query", *words, "--limit", "1", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out) == {"columns": ["name"], "rows": [["Baron"]], "cut": True}


def test_what_is_exported_can_be_imported(where: list[str], tmp_path: Path) -> None:
    file = tmp_path / "graph.json.gz"
    assert main.run(["graph", "export", "--output", str(file), *where]) == 0
    other = ["--graph", str(tmp_path / "other.lbug")]
    assert main.run(["graph", "import", str(file), *other]) == 0
    from jimbot.knowledge.ladybug_store import LadybugStore

    assert same(LadybugStore(tmp_path / "other.lbug", GAME).graph(), sample())


def test_graphml_holds_every_node_and_edge(where: list[str], tmp_path: Path) -> None:
    file = tmp_path / "graph.graphml"
    assert main.run(["graph", "export", "--format", "graphml", "--output", str(file), *where]) == 0
    root = ET.parse(file).getroot()
    space = "{http://graphml.graphdrawing.org/xmlns}"
    assert len(root.findall(f".//{space}node")) == len(sample().nodes)
    assert len(root.findall(f".//{space}edge")) == len(sample().edges)


def test_pictures_are_drawn_of_a_joker_and_of_the_core(where: list[str], tmp_path: Path) -> None:
    for words in (["Baron"], ["--core"]):
        file = tmp_path / "picture.svg"
        assert main.run(["graph", "draw", *words, "--output", str(file), "--overwrite", *where]) == 0
        root = ET.parse(file).getroot()
        texts = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
        assert {"Mime", "Blueprint", "score"} <= texts


def test_a_strategy_is_shown_with_its_parts_and_seeds(where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["graph", "show", "Baron and Mime: High Card", *where]) == 0
    printed = capsys.readouterr().out
    assert "Uses Baron (100%), Mime (90%), High Card (50%), Red Deck (20%)" in printed
    assert "Seeds to look at: ABC, DEF" in printed
    assert "60% [44%, 74%] of 40 games won" in printed


def test_a_bus_without_games_cannot_be_learned_from(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No game of balatro"):
        graph._recorded("balatro", (), (), f"embedded:{tmp_path / 'bus.sqlite'}", tmp_path)
