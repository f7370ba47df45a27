"""`jimbot verify`: the table, the differences, the exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from jimbot.games.balatro.live.table import LiveTable

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "balatro"


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    folder = tmp_path / "recordings"
    folder.mkdir()
    for name in ("pools.json", "real_game.json"):
        shutil.copy(GOLDEN / name, folder)
    (folder / "README.md").write_text("Not a recording.")
    return folder


def change_score(folder: Path) -> None:
    document = json.loads((folder / "real_game.json").read_text())
    document["scored_hands"][0]["score"] = 172
    (folder / "real_game.json").write_text(json.dumps(document))


def test_agreement_is_a_table_and_exit_code_0(jimbot, recordings: Path) -> None:
    code, out, _ = jimbot("verify", "balatro", recordings)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["file", "compared", "agree", "differ", "undecided", "values"]
    assert lines[1].split()[:5] == ["pools.json", "18", "lists", "18", "0"]
    assert lines[2].split()[:5] == ["real_game.json", "18", "sightings", "18", "0"]
    assert len(lines) == 3


def test_a_difference_is_told_with_seed_and_both_values_and_exit_code_1(jimbot, recordings: Path) -> None:
    change_score(recordings)
    code, out, _ = jimbot("verify", "balatro", recordings)
    assert code == 1
    assert "real_game.json: scored hand 0, seed U4CVJVIE: score recorded 172, simulator 171.0" in out
    assert "✗ differs" in out


def test_json_holds_counts_and_differences(jimbot, recordings: Path) -> None:
    change_score(recordings)
    code, out, err = jimbot("verify", "balatro", recordings, "--json")
    assert (code, err) == (1, "")
    result = json.loads(out)
    assert (result["agrees"], result["entries"], result["agreeing"], result["differing"]) == (False, 36, 35, 1)
    pools, real = result["files"]
    assert (pools["file"], pools["differences"]) == ("pools.json", [])
    (difference,) = real["differences"]
    assert difference == {
        "entry": "scored hand 0", "seed": "U4CVJVIE", "step": None, "field": "score", "recorded": 172,
        "simulated": 171.0,
    }  # fmt: skip


def test_differences_beyond_the_shown_ones_are_counted(jimbot, recordings: Path) -> None:
    document = json.loads((recordings / "pools.json").read_text())
    document["Tarot"].reverse()
    (recordings / "pools.json").write_text(json.dumps(document))
    code, out, _ = jimbot("verify", "balatro", recordings / "pools.json", "--differences", 2)
    assert code == 1
    assert out.count("recorded") == 2
    assert "pools.json: 20 more; see them with --differences 22." in out


def test_what_is_undecided_is_told_with_the_reason(jimbot, tmp_path: Path) -> None:
    table = LiveTable()
    table.call("start", {"deck": "RED", "stake": "WHITE", "seed": "7LB2WVPK"})
    (tmp_path / "joined.jsonl").write_text(table.call("select") + "\n")
    code, out, _ = jimbot("verify", "balatro", tmp_path / "joined.jsonl")
    assert code == 0
    assert "joined.jsonl: " in out
    assert "undecided: beginning of the run recorded SELECTING_HAND, simulator needs the run from its start" in out
