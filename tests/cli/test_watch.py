"""`jimbot watch`: what the frames say, where the policy comes from, and the keys."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import termios
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from rich.text import Text

from jimbot.cli.look import screen
from jimbot.cli.look.keys import Keyboard
from jimbot.cli.look.watch import _seeds
from jimbot.cli.look.watcher import Pace, Watcher
from jimbot.cli.shared.common import newest_checkpoint
from jimbot.errors import CheckpointError
from jimbot.foreign_text import Terminal
from jimbot.games import make
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.seeds import bank_of
from jimbot.policies.players import Player, find_player
from jimbot.runs import find_checkpoint
from tests.cli.making import save_perfect
from tests.conftest import needs


def test_frames_show_board_chances_value_and_rewards(jimbot) -> None:
    code, out, err = jimbot("watch", "perfect", "--seed", 7)
    assert (code, err) == (0, "")
    assert "\x1b" not in out, "no control codes in a pipe"
    assert out.count("seed 7") == 9, "eight frames and the result"
    assert "perfect/1000  probe  seed 7  game 1  turn 0  return +0.00" in out
    assert "4 legal actions, value +8.00" in out
    assert "4 legal actions, value +1.00" in out
    assert "100.0%" in out
    assert "match +1.00" in out
    assert "▶ door" in out
    assert "Over, matches 8 (8 moves, return +8.00)." in out


def test_the_same_seed_shows_the_same_game(jimbot) -> None:
    assert jimbot("watch", "perfect", "--seed", 7)[1] == jimbot("watch", "perfect", "--seed", 7)[1]
    assert jimbot("watch", "perfect", "--seed", 8)[1] != jimbot("watch", "perfect", "--seed", 7)[1]


def test_several_episodes_end_with_their_mean(jimbot) -> None:
    code, out, _ = jimbot("watch", "perfect", "--episodes", 3, "--seed", 7)
    assert code == 0
    assert [f"(seed {seed}): Over, matches 8" in out for seed in (7, 8, 9)] == [True] * 3
    assert "3 games, mean return +8.00" in out


def test_checkpoint_npz_and_onnx_show_the_same_policy(jimbot, home: Path) -> None:
    checkpoint = find_checkpoint("perfect", home / "runs")
    assert jimbot("export", "perfect", "--output", "policy.onnx")[0] == 0
    shown = []
    for reference in ("perfect", checkpoint, checkpoint / "params_1000.npz", "policy.onnx"):
        code, out, err = jimbot("watch", reference, "--seed", 3)
        assert (code, err) == (0, "")
        shown.append([line for line in out.splitlines() if "seed 3" not in line])
    assert shown[0] == shown[1] == shown[2] == shown[3]


def test_scripted_players_need_only_the_game(jimbot) -> None:
    code, out, _ = jimbot("watch", "random", "--game", "probe", "--seed", 7)
    assert code == 0
    assert "25.0%" in out
    assert "value" not in out, "a heuristic player expects nothing"


def test_the_card_table_is_watched_without_training(jimbot) -> None:
    code, out, _ = jimbot("watch", "random", "--game", "balatro", "--seed", 607, "--option", "deck=blue")
    assert code == 0
    assert "Small Blind" in out
    assert "Blue, White" in out
    assert "▶ " in out
    assert "legal actions" in out
    assert "Game 1 (seed 111111ID): Lost to the Small Blind in ante 1, 72 of 300 points; 0 blinds beaten" in out


def test_options_of_the_game_can_be_changed(jimbot) -> None:
    _, out, _ = jimbot("watch", "perfect", "--seed", 7, "--option", "horizon=3")
    assert "(3 moves, return +3.00)" in out


def test_latest_takes_the_run_saved_last(home: Path, jimbot) -> None:
    second = save_perfect(home / "runs" / "second", step=2000)
    assert newest_checkpoint(home / "runs").name == second.name
    os.utime(home / "runs" / "perfect" / "checkpoints", (2e9, 2e9))
    assert "perfect/1000" in jimbot("watch", "--latest", "--seed", 1)[1]
    newer = save_perfect(home / "runs" / "second", step=3000)
    os.utime(home / "runs" / "second" / "checkpoints", (2.1e9, 2.1e9))
    assert newest_checkpoint(home / "runs").name == newer.name


def test_latest_takes_up_a_newer_checkpoint_between_games(home: Path, jimbot, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = screen.outcome

    def save_meanwhile(*arguments):
        save_perfect(home / "runs" / "perfect", step=4000)
        return printed(*arguments)

    monkeypatch.setattr(screen, "outcome", save_meanwhile)
    out = jimbot("watch", "--latest", "--episodes", 2, "--seed", 1)[1]
    assert "perfect/1000  probe  seed 1  game 1" in out
    assert "perfect/4000  probe  seed 2  game 2" in out


def test_without_a_seed_held_out_games_are_shown() -> None:
    seeds = list(islice(_seeds(None), 5))
    assert {bank_of(seed) for seed in seeds} == {"held-out"}
    assert len(set(seeds)) == 5


def test_no_checkpoint_yet_is_said(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="train first"):
        newest_checkpoint(tmp_path)


@pytest.mark.parametrize(("share", "bar"), [(0.0, ""), (1.0, "█" * 12), (0.5, "█" * 6), (0.02, "▎")])
def test_bars_are_to_scale(share: float, bar: str) -> None:
    assert screen.bar(share).rstrip() == bar


def test_what_a_key_changes_is_shown_before_the_next_step() -> None:
    class Typed(Keyboard):
        active = True
        typed = iter(("+", "space", "enter", None))

        def read(self, seconds: float | None = None) -> str | None:
            return next(self.typed)

    pace, shown = Pace(4.0, paused=False, on_terminal=True), []
    pace.wait(Typed(), lambda: shown.append(str(pace)))
    assert shown == ["6 steps/s", "paused", "6 steps/s"]


def test_keys_pause_step_change_speed_and_quit_and_the_terminal_is_restored(home: Path) -> None:
    """On a pseudo-terminal: started paused, a step by space, faster by +, on by enter, out by q."""
    leader, follower = pty.openpty()
    before = termios.tcgetattr(follower)
    process = subprocess.Popen(
        [sys.executable, "-m", "jimbot", "watch", "perfect", "--seed", "7", "--pause"],
        cwd=home, stdin=follower, stdout=follower, stderr=follower,
        env={**os.environ, "TERM": "xterm", "PYTHONPATH": str(Path(__file__).parents[2]), "LINES": "40"},
    )  # fmt: skip
    seen = b""

    def until(text: bytes) -> None:
        nonlocal seen
        while text not in seen:
            seen += os.read(leader, 10_000)

    until(b"turn 0")
    until(b"paused")
    os.write(leader, b" ")
    until(b"turn 1")
    assert b"turn 2" not in seen, "paused: one step for one press"
    os.write(leader, b"+\n")
    until(b"6 steps/s")
    until(b"turn 3")
    os.write(leader, b"q")
    assert process.wait(timeout=60) == 0
    assert termios.tcgetattr(follower) == before
    os.close(leader)
    os.close(follower)


def test_both_sides_of_a_battle_are_shown_and_told(jimbot) -> None:
    code, out, _ = jimbot("watch", "vgc", "max_damage", "--opponent", "max_power", "--seed", 3)
    assert code == 0
    assert "max_damage (one) against max_power (two)" in out
    assert "one: max_damage" in out
    assert "two: max_power" in out
    assert "comes out" in out
    assert "faints" in out
    assert out.rstrip().endswith("turns.")
    winner = "max_damage (one)" if "one wins" in out else "max_power (two)"
    assert f"{winner} won after" in out


@pytest.mark.parametrize(("opponent", "is_known"), [("heuristic", True), ("random", False)])
def test_the_chance_in_a_battle_is_one_against_whom_it_was_measured(jimbot, opponent: str, is_known: bool) -> None:
    needs("vgc")
    code, out, _ = jimbot("watch", "vgc", "--opponent", opponent, "--seed", 3)
    assert code == 0
    assert ("wins from here" in out) == is_known
    assert out.count("wins from here") == out.count("wins from here against heuristic: ")
    assert "wins from here" not in jimbot("watch", "vgc", "--opponent", opponent, "--seed", 3, "--stochastic")[1]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 35), (60, 16)])
def test_a_live_picture_fits_the_terminal_with_actions_value_and_keys(home: Path, width: int, height: int) -> None:
    def load() -> Player:
        return find_player("perfect", options={"horizon": 8})

    watcher = Watcher(load, False, Pace(4.0, False, True), False)
    watcher.console = Terminal(width=width, height=height, file=io.StringIO(), record=True, force_terminal=True)
    with closing(make("probe", 1)) as game:
        game.reset(np.array([7], np.uint64))
        decision = watcher.choice.policy.act(game.observation, game.legal_mask, True, np.random.default_rng(0))
        tall = Text("\n".join(["a very tall board"] * 60))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("jimbot.cli.look.screen.board", lambda entry, game, row=0: tall)
            watcher.console.print(watcher.picture(game, decision, 7))
    shown = watcher.console.export_text()
    assert len(shown.splitlines()) < height
    for words in ("▶", "value", "q quit", "legal action"):
        assert words in shown, words


def test_the_card_table_is_drawn_small_at_80_by_24() -> None:
    watcher = Watcher(lambda: find_player("balatro"), False, Pace(4.0, False, True), False)
    watcher.console = Terminal(width=80, height=24, file=io.StringIO(), record=True, force_terminal=True)
    with closing(make("balatro", 1)) as game:
        game.reset(np.array([5], np.uint64))
        for _ in range(40):  # through blinds, hands, shops and packs
            decision = watcher.choice.policy.act(game.observation, game.legal_mask, True, np.random.default_rng(0))
            watcher.console.print(watcher.picture(game, decision, 5))
            shown = watcher.console.export_text()
            assert len(shown.splitlines()) < 24
            assert all(words in shown for words in ("▶", "value", "q quit", "Jokers", "ante"))
            cards = int(cast(BalatroGame, game).games[0]["hand_count"])
            assert shown.count("╭") >= cards, "cards are drawn"
            game.step(decision.actions)
