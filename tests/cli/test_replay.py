"""`jimbot replay`: a recorded game in words, as data, as a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_play import paying_actions


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    from jimbot.games.balatro.transcript import RecordedRun

    game = RecordedRun("4WAX5M4D")
    for move in ("skip", "select", "play 1 2", "discard 1"):
        game.do(move)
    path = tmp_path / "game.json"
    path.write_text(game.transcript().to_json(), encoding="utf-8")
    return path


def test_the_log_has_a_line_for_every_move(jimbot, recording: Path) -> None:
    code, out, _ = jimbot("replay", recording)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "Balatro, seed 4WAX5M4D, Red Deck, White Stake, 4 moves"
    assert lines[1] == "   1  skip the Small Blind for the Coupon Tag: Coupon Tag gained"
    assert "points, " in lines[3]
    assert lines[5] == "Ends in ante 1, round 1, with $4: selecting hand."


def test_a_step_is_shown_as_a_table_with_the_next_move(jimbot, recording: Path) -> None:
    code, out, _ = jimbot("replay", recording, "--step", 2)
    assert code == 0
    assert "Big Blind" in out
    assert "Hand 8" in out
    assert out.splitlines()[-1].startswith("next: play ")
    assert "next:" not in jimbot("replay", recording, "--step", 4)[1]


def test_json_holds_every_move_and_state(jimbot, recording: Path) -> None:
    code, out, err = jimbot("replay", recording, "--json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["seed"] == "4WAX5M4D"
    assert [step.get("move") for step in document["steps"]] == [None, "skip", "select", "play 1 2", "discard 1"]
    assert document["steps"][2]["state"]["phase"] == "selecting_hand"
    (only,) = json.loads(jimbot("replay", recording, "--json", "--step", 1)[1])["steps"]
    assert only["effects"] == ["Coupon Tag gained"]


def test_a_game_that_was_played_is_recorded_and_plays_again(jimbot, run_jimbot, tmp_path: Path) -> None:
    file = tmp_path / "probe.json"
    done = run_jimbot("play", "probe", "--seed", 5, "--record", file, stdin="\n".join(paying_actions(5)) + "\n")
    assert f"jimbot replay {file}" in done.stdout
    code, out, _ = jimbot("replay", file)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "probe, seed 5, 8 moves"
    assert lines[1].endswith(": match +1.00")
    assert lines[-1] == "Over, matches 8 (return +8.00)."
    assert json.loads(jimbot("replay", file, "--json")[1])["moves"][7]["over"]
    assert "next: " in jimbot("replay", file, "--step", 3)[1]


def test_watched_games_are_recorded_each_in_its_own_file(jimbot, tmp_path: Path) -> None:
    file = tmp_path / "game.json"
    code, _, _ = jimbot("watch", "random", "--game", "probe", "--episodes", 2, "--record", file)
    assert code == 0
    for path in (file, tmp_path / "game-2.json"):
        assert jimbot("replay", path)[0] == 0


def test_a_watched_game_of_balatro_is_recorded_as_moves(jimbot, tmp_path: Path) -> None:
    file = tmp_path / "game.json"
    assert jimbot("watch", "random", "--game", "balatro", "--seed", 3, "--record", file)[0] == 0
    code, out, _ = jimbot("replay", file)
    assert code == 0
    assert out.startswith("Balatro, seed ")
    assert "Lost to the Small Blind in ante 1, " in out.splitlines()[-1]
