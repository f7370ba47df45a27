"""`jimbot play`, driven through a pipe like a person who types lines, and through a pseudo-terminal by keys."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pytest

from jimbot.cli.look.play import Keymap
from jimbot.games import game_entry, make
from jimbot.games.spec import ActionBlock, ActionSpec
from tests.conftest import needs


def paying_actions(seed: int) -> list[str]:
    """The eight actions that pay in the probe game of this seed, by label."""
    game = make("probe", 1)
    game.reset(np.array([seed], np.uint64))
    labels = []
    for _ in range(8):
        action = int(game.legal_mask[0].argmax() + game.observation[0, :4].argmax())
        labels.append(game.spec.actions.label(action))
        game.step(np.array([action]))
    return labels


def test_a_whole_game_is_played_by_names(run_jimbot) -> None:
    done = run_jimbot("play", "probe", "--seed", 5, stdin="\n".join(paying_actions(5)) + "\n")
    assert done.returncode == 0, done.stderr
    assert "Over, matches 8 (8 moves, return +8.00)." in done.stdout
    assert "jimbot play probe --seed 5" in done.stdout
    assert "\x1b" not in done.stdout, "no control codes in a pipe"


def test_wrong_lines_are_answered_and_change_nothing(run_jimbot) -> None:
    done = run_jimbot("play", "probe", "--seed", 5, stdin="?\nfly\nCLOSED\nq\n".replace("CLOSED", closed_door(5)))
    assert done.returncode == 0
    assert "type its key or its name, then Enter" in done.stdout
    assert "'fly' is no action here" in done.stdout
    assert "is not possible now" in done.stdout
    assert "Left after 0 turns" in done.stdout


def closed_door(seed: int) -> str:
    game = make("probe", 1)
    game.reset(np.array([seed], np.uint64))
    return game.spec.actions.label(int(game.legal_mask[0].argmin()))


def test_the_end_of_the_input_leaves_the_game(run_jimbot) -> None:
    done = run_jimbot("play", "probe", "--seed", 5, stdin=paying_actions(5)[0])
    assert done.returncode == 0
    assert "Left after 1 turns with a return of +1.00" in done.stdout


def test_moves_get_arrows_and_wasd_and_the_rest_stable_keys() -> None:
    spec = ActionSpec(
        (
            ActionBlock("move", ("up", "down", "left", "right")),
            ActionBlock("do", ("wait", *(f"PROGRAM {i}" for i in range(23)))),
        )
    )
    keymap = Keymap(spec)
    assert keymap.single
    assert [keymap.find(key) for key in ("up", "w", "down", "s", "left", "a", "right", "d")] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert keymap.find("1") == spec.index("wait")
    assert len({*keymap.token.values()}) == spec.size
    assert not {"q", "h", "?"} & {*keymap.token.values()}
    assert keymap.find("program 7") == spec.index("PROGRAM 7")
    assert keymap.find("wa") == spec.index("wait")
    assert keymap.find("program") is None, "the beginning of many is none"


def test_many_actions_are_typed_by_number() -> None:
    spec = ActionSpec((ActionBlock("play", tuple(f"card {i}" for i in range(300))),))
    keymap = Keymap(spec)
    assert not keymap.single
    assert keymap.find("299") == 299


def test_on_a_terminal_single_keys_play_and_the_terminal_is_restored(tmp_path: Path) -> None:
    """A pseudo-terminal as a person has it: the game leaves on q, and echo and line mode are back."""
    leader, follower = pty.openpty()
    before = termios.tcgetattr(follower)
    process = subprocess.Popen(
        [sys.executable, "-m", "jimbot", "play", "probe", "--seed", "5"],
        cwd=tmp_path, stdin=follower, stdout=follower, stderr=follower,
        env={**os.environ, "TERM": "xterm", "PYTHONPATH": os.getcwd(), "COLUMNS": "100", "LINES": "40"},
    )  # fmt: skip
    seen = b""
    while b"Type the key" not in seen:
        seen += os.read(leader, 10_000)
    os.write(leader, f"{paying_actions(5)[0]}\nq\n".encode())
    while b"Left after" not in seen:
        seen += os.read(leader, 10_000)
    assert process.wait(timeout=60) == 0
    assert b"match" in seen
    assert b"Left after 1 turns" in seen
    assert termios.tcgetattr(follower) == before
    os.close(leader)
    os.close(follower)


def test_help_says_what_the_game_is_about_and_the_hint_can_be_typed(run_jimbot) -> None:
    done = run_jimbot("play", "probe", "--seed", 5, "--horizon", 3, stdin="?\nq\n")
    assert game_entry("probe").about in " ".join(done.stdout.split())
    assert "Play it again: jimbot play probe --seed 5 --horizon 3" in done.stdout
    assert done.stdout.count("turn 0") == 2, "the board (its own words and the standing) is not shown twice"


def test_cards_are_played_by_place_letter_or_name_and_the_hand_is_told(jimbot, typing) -> None:
    typing("select", "1 3 kh", "3 1", "p e c a", "discard 2,4", "play 9d ad", "play kh", "place 3", "s", "?")
    code, out, _ = jimbot("play", "balatro", "--seed", "7LB2WVPK", "--deck", "blue")
    assert code == 0
    assert "select the Small Blind" in out
    assert "play A♣ 7♦ 4♠\n  High Card, 16 × 1 = 16 points, 16 of 300\n  284 points still needed, 4 hands left" in out
    assert "'3 1' may be played or discarded; type play 3 1, or discard 3 1." in out
    assert "discard Q♦ 6♥" in out
    assert "play A♦ 9♦" in out
    assert "'kh' is no card of your hand" in out
    assert "'place 3' is no move here" in out
    assert "'s' may be select or skip or sort" in out
    assert "poker against a rising number" in out
    assert not any(word in out for word in ("choose", "grab", "take up"))
    assert "Play it again: jimbot play balatro --seed 7LB2WVPK --deck blue" in out


def test_a_battle_is_played_by_numbers_and_told(jimbot, typing) -> None:
    needs("vgc")
    typing("1 2 3", "1 2 3 4", "10 1", "1", "99 98", "x")
    code, out, _ = jimbot("play", "vgc", "--seed", 7)
    assert code == 0
    assert "Type four different numbers from 1 to 6" in out
    assert " 1 Dark Pulse → Lumineon" in out, "opponents before one's own"
    assert " 3 Dark Pulse → own Armarouge" in out
    assert "13 Armor Cannon → Iron Valiant" in out
    assert "your Chi-Yu comes out" in out
    assert "the opponent's Iron Valiant: Close Combat → your Chi-Yu" in out
    assert "'x' is no order here" in out


@pytest.mark.parametrize("game", ["balatro", "hackmatrix", "vgc"])
def test_the_chance_to_win_is_shown_in_80_columns(jimbot, typing, monkeypatch: pytest.MonkeyPatch, game: str) -> None:
    needs(game)
    monkeypatch.setenv("COLUMNS", "80")
    typing("?")
    out = jimbot("play", game, "--seed", "7LB2WVPK" if game == "balatro" else 4294967295)[1]
    standing = next(line for line in out.splitlines() if line.startswith(f"{game}  seed"))
    against = " against heuristic" if game == "vgc" else ""
    assert re.search(rf"wins( from here)?{against}: \d+%", standing)
    assert "policy" in standing, "it is not the person's"
    assert len(standing) <= 80


def test_no_chance_is_shown_for_another_game_than_was_measured(jimbot, typing) -> None:
    for arguments in (("hackmatrix", "--profile", "reference"), ("balatro", "--deck", "blue"), ("probe",)):
        typing("?")
        code, out, _ = jimbot("play", *arguments, "--seed", 5)
        assert code == 0
        assert "wins" not in out.split("Play it again")[0].split("Type")[-1]


def test_a_policy_that_cannot_be_loaded_costs_the_chance_and_nothing_else(jimbot, typing, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    typing("?")
    code, out, err = jimbot("play", "hackmatrix", "--seed", 5)
    assert (code, err) == (0, "")
    assert "hackmatrix  seed 5  turn 0  return +0.00\n" in out


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch):
    return lambda *lines: monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join([*lines, "q"]) + "\n"))
