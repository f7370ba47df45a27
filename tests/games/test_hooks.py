"""A game that nobody knows gets curriculum, rare events, figures, recording, verifying and benchmarks by its entry.

What an entry promises and does not keep is caught by the contract checker.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.envs import make_env
from jimbot.errors import TranscriptError, UsageError
from jimbot.games import contract, game_entry, make
from jimbot.games.checker import ContractError, check_game
from jimbot.games.contract import InfoMetric, RareEvent, register_game
from jimbot.games.recording import Recording, begin_recording, read_recording
from jimbot.games.seeds import bank_of
from jimbot.training.curriculum import Curriculum, CurriculumGame
from jimbot.training.env_wrapper import wrap_game_env
from jimbot.training.environments import training_game
from jimbot.training.replay.rare_events import RareEventWatch, events_of
from jimbot.training.settings.record import load_settings
from tests.games import stairs
from tests.games.stairs import REST, UP
from tests.training.tower import Tower


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "_GAMES", dict(contract._GAMES))
    register_game("stairs", "tests.games.stairs")


def climb(game: Any) -> None:
    """One step upwards, or a rest before a wet stair."""
    game.step(np.where(game.observation[:, 1] > 0, REST, UP))


def test_the_game_and_its_hooks_keep_the_contract() -> None:
    check_game("stairs")


def test_the_curriculum_stops_it_at_its_own_milestones() -> None:
    game = training_game(load_settings({"game": "stairs", "num_envs": 2, "use_curriculum": True}))
    assert isinstance(game, CurriculumGame)
    assert (game.curriculum.goal, game.curriculum.final_goal) == (1, stairs.LANDINGS)
    game.reset()
    while not game.truncated.any():
        climb(game)
    ended = int(np.flatnonzero(game.truncated)[0])
    assert game.final_stats[ended].tolist() == [0, stairs.STEPS_PER_LANDING]
    assert bank_of(int(game.seeds[ended])) == "train"
    assert list(game.curriculum.outcomes) == [True] * int(game.truncated.sum())


def test_a_schedule_counts_in_its_own_milestones() -> None:
    game = training_game(
        load_settings({"game": "stairs", "num_envs": 2, "difficulty_schedule": {0: "medium", 10: "hard"}})
    )
    assert isinstance(game, CurriculumGame)
    assert game.curriculum.goal == stairs.LANDINGS // 2
    game.curriculum.played(10)
    assert game.curriculum.goal == stairs.LANDINGS


def test_a_game_that_is_won_by_its_rules_is_a_success() -> None:
    game = CurriculumGame(
        make("stairs", 1, seed=1), Curriculum(initial_goal=stairs.LANDINGS, final_goal=stairs.LANDINGS)
    )
    game.reset()
    while not game.terminated.any():
        climb(game)
    assert list(game.curriculum.outcomes) == [True]


def test_a_wrapped_environment_has_its_figures_and_its_curriculum() -> None:
    env = wrap_game_env(make_env("stairs"), Curriculum(initial_goal=1, final_goal=stairs.LANDINGS))
    observation, info = env.reset(seed=1)
    assert (info["landing"], info["height"], info["max_landing"]) == (1, 0, 1)
    truncated = False
    while not truncated:
        observation, _, _, truncated, info = env.step(REST if observation[1] else UP)
    assert info["success"]
    assert info["landing"] == 2
    with pytest.raises(UsageError, match="expected a game of JimBot"):
        wrap_game_env(Tower())


def test_its_rare_events_raise_priorities() -> None:
    watch = RareEventWatch(stairs.SPEC)
    before, after = np.array([[0, 0], [1, 0]], np.float32), np.array([[1, 0], [2, 0]], np.float32)
    assert [watch.boost(before, after).tolist() for _ in range(3)] == [[1, 5], [1, 5], [1, 1]]
    assert events_of("stairs", {"high_up": 2.0})[0].boost == 2


def test_it_is_recorded_in_its_own_form_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "climb.json"
    assert run(["watch", "random", "--game", "stairs", "--seed", "5", "--record", str(file)]) == 0
    capsys.readouterr()
    moves = json.loads(file.read_text())["moves"]
    assert run(["replay", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Stairs of seed 5"
    assert len(lines) == len(moves) + 2
    assert lines[-1] == f"{moves.count('u')} times up."
    assert run(["replay", str(file), "--json", "--step", "1"]) == 0
    assert json.loads(capsys.readouterr().out) == {"moves": [moves[0]]}


def test_a_game_without_a_form_is_recorded_as_its_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stairs, "GAME", replace(stairs.GAME, recording=None))
    game = make("stairs", 1)
    game.reset(np.array([5], np.uint64))
    recorder = begin_recording(game, 5, {})
    recorder.note(REST)
    game.step(np.array([REST]))
    recorded = read_recording(recorder.finish(0.0).to_json())
    assert list(recorded.lines()) == ["   1  rest", "The game is not over, with a return of +0.00."]
    assert list(recorded.picture(0))[1] == "next: rest"


def test_it_is_verified_and_measured_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(str(stairs.LANDINGS))
    bad.write_text("9")
    assert run(["verify", "stairs", str(good)]) == 0
    assert run(["verify", "stairs", str(bad)]) == 1
    capsys.readouterr()
    assert run(["bench", "stairs", "--seconds", "0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"stairs": {"game": "stairs", "num_envs": 3}}


def test_a_game_without_a_hook_is_told_in_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["setup", "stairs"]) == 2
    assert "Unknown game to set up 'stairs'" in capsys.readouterr().err
    assert run(["play", "stairs", "--server", "ws://nowhere", "--policy", "random"]) == 2
    assert "Game 'stairs' has no servers" in capsys.readouterr().err
    assert run(["record", "stairs", "--replays", str(tmp_path)]) == 2
    assert "Game 'stairs' has no public replays" in capsys.readouterr().err


def broken(**hooks: Any) -> Any:
    return replace(game_entry("stairs"), **hooks)


def forgetful(game: Any, rows: np.ndarray) -> None:
    game.truncated[rows] = True


def greedy(game: Any, rows: np.ndarray) -> None:
    game.cut_off(np.arange(game.num_rows))


def unpaid(game: Any, rows: np.ndarray) -> None:
    game.cut_off(rows)
    game.reward[:] = 7


class Seat:
    """A human interface that keeps its word: `u` climbs, `r` rests."""

    how = "Type u to go up or r to rest."

    def __init__(self, game: Any) -> None:
        self.game = game

    def choices(self) -> str:
        return "u up, r rest"

    def actions(self, text: str) -> list[int]:
        if text not in ("u", "r"):
            raise UsageError(f"'{text}' is no move here. Type u or r.")
        return [UP if text == "u" else REST]

    def messages(self, ended: bool) -> list[str]:
        return ["You stand on a stair."]


class Silent(Seat):
    def choices(self) -> str:
        return ""


class Careless(Seat):
    def actions(self, text: str) -> list[int]:
        return []


class Hasty(Seat):
    def actions(self, text: str) -> list[int]:
        self.game.observation[:] += 1
        raise UsageError("No.")


class Mumbling(Seat):
    def messages(self, ended: bool) -> Any:
        return [7]


MILESTONES = stairs.GAME.milestones
assert MILESTONES is not None
BROKEN = {
    "numbered from 1": {"milestones": replace(MILESTONES, reached=lambda game: 0 * stairs.landing(game))},
    "expected one per row": {"milestones": replace(MILESTONES, reached=lambda game: np.ones(1))},
    "its next one must begin": {"milestones": replace(MILESTONES, cut_off=forgetful)},
    "rows that it was not given": {"milestones": replace(MILESTONES, cut_off=greedy)},
    "changed the reward": {"milestones": replace(MILESTONES, cut_off=unpaid)},
    "a row or key that does not exist": {
        "rare_events": lambda: (
            RareEvent("odd", 2.0, 1, 1, lambda before, after: (np.array([0]), np.array([3]))),
        )
    },
    "which the game does not have": {"info_metrics": {"shoes": InfoMetric(lambda game, row: 2, "shoes")}},
    "is not in whole sentences": {"about": "stairs and"},
    "The scene shows nothing": {"scene": lambda game, row: {"kind": "text", "text": ""}},
    "The scene takes 41 rows": {"scene": lambda game, row: {"kind": "text", "text": "stairs\n" * 40}},
    "A human interface does not say how": {"human_interface": lambda game: type("Mute", (Seat,), {"how": ""})(game)},
    "A human interface offers nothing": {"human_interface": Silent},
    "A human interface reads '1' as an illegal move": {"human_interface": Careless},
    "A human interface changes the game": {"human_interface": Hasty},
    "tells something that is no text": {"human_interface": Mumbling},
    "expected a plain number": {"info_metrics": {"shoes": InfoMetric(lambda game, row: np.zeros(2))}},
}  # fmt: skip


def test_hooks_for_people_that_keep_their_word_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    small = broken(
        human_interface=Seat,
        about="Stairs to climb.",
        scene=lambda game, row: {"kind": "text", "text": f"{game.observation}"},
    )
    monkeypatch.setattr(stairs, "GAME", small)
    check_game("stairs")


@pytest.mark.parametrize("sentence", BROKEN)
def test_a_hook_that_does_not_keep_its_word_is_caught(sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stairs, "GAME", broken(**BROKEN[sentence]))
    with pytest.raises(ContractError, match=sentence):
        check_game("stairs")


@pytest.mark.parametrize(
    ("name", "value"), [("total_return", float("nan")), ("total_return", float("inf")), ("seed", -1)]
)
def test_a_recording_of_no_numbers_is_refused(name: str, value: float) -> None:
    document = {**json.loads(Recording("probe", 1, 7).to_json()), name: value}
    with pytest.raises(TranscriptError, match="is damaged"):
        Recording.from_document(document)
