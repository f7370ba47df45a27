"""Judging in games of two players: fair seats, the same results however many are played at once, tables, ratings."""

from __future__ import annotations

import io
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from jimbot.errors import JimbotError, UsageError
from jimbot.evaluation import cross_play, evaluate_duels
from jimbot.evaluation.duels import agreed_options, distinct
from jimbot.evaluation.matches import Match, both_seats, play_matches
from jimbot.games import game_entry
from jimbot.games.seeds import bank_seeds
from jimbot.policies.heuristics import heuristic_policy
from jimbot.policies.players import Player
from jimbot.policies.portable import OUTPUTS, OnnxPolicy
from jimbot.runs import Manifest

FAST = {"turn_limit": 30}


def shown(value: object) -> str:
    out = io.StringIO()
    Console(file=out, width=160).print(value)
    return out.getvalue()


def played(num_envs: int, seeds: int = 4, progress=None):
    players = [heuristic_policy(name, "vgc") for name in ("max_damage", "max_power")]
    matches = both_seats(bank_seeds("held-out", seeds), [(0, 1)])
    return play_matches(
        "vgc", players, ["a", "b"], matches, options=FAST, num_envs=num_envs, progress=progress
    )  # fmt: skip


def test_every_pair_meets_on_every_seed_from_both_sides() -> None:
    assert both_seats(np.array([5, 9]), [(0, 1), (0, 2)]) == [
        Match(5, 0, 1), Match(5, 1, 0), Match(5, 0, 2), Match(5, 2, 0),
        Match(9, 0, 1), Match(9, 1, 0), Match(9, 0, 2), Match(9, 2, 0),
    ]  # fmt: skip


def test_results_do_not_depend_on_how_many_are_played_at_once() -> None:
    few, many = played(3), played(8)
    np.testing.assert_array_equal(few.scores, many.scores)
    np.testing.assert_array_equal(few.turns, many.turns)
    assert set(few.scores.tolist()) <= {0.0, 0.5, 1.0}
    assert len(set(few.turns.tolist())) > 1, "different seeds must be different battles"
    assert few.illegal.sum() == 0
    assert few.decisions.min() > 0
    np.testing.assert_array_equal(few.of_pair(0, 1), 1.0 - few.of_pair(1, 0)[[4, 5, 6, 7, 0, 1, 2, 3]])


@pytest.mark.long
def test_matches_of_a_process_that_died_are_played_again() -> None:
    killed: list[int] = []

    def kill_once(over: int, of: int) -> None:
        if not killed:
            for child in children():
                os.kill(child, signal.SIGKILL)
                killed.append(child)

    again, calm = played(4, progress=kill_once), played(4)
    assert killed
    assert again.lost > 0
    np.testing.assert_array_equal(again.scores, calm.scores)
    np.testing.assert_array_equal(again.turns, calm.turns)


def children() -> list[int]:
    """The simulator processes this test process started."""
    import psutil

    return [child.pid for child in psutil.Process().children() if "worker.js" in " ".join(child.cmdline())]


def test_one_policy_against_several_opponents() -> None:
    judged = evaluate_duels("heuristic", "vgc", ["random", "max_power"], games=7, options=FAST)
    report = json.loads(json.dumps(judged.to_dict(), allow_nan=False))
    assert [duel["opponent"] for duel in report["opponents"]] == ["random", "max_power"]
    for duel in report["opponents"]:
        assert duel["games"] == 8, "an odd number is rounded up: both sides"
        assert duel["won"] + duel["tied"] + duel["lost"] == 8
        assert duel["win_rate"]["low"] <= duel["won"] / 8 <= duel["win_rate"]["high"]
    assert report["opponents"][0]["won"] >= 6, "the heuristic beats random play"
    assert report["illegal_actions"] == 0
    assert "refused_choices" in report
    assert report["decisions_per_second"] > 0
    text = shown(judged)
    assert "heuristic on vgc: held-out seeds, each from both sides" in text
    assert "0 illegal actions" in text
    first = shown(judged.headline())
    assert text.startswith(first)
    assert [line.split()[:2] for line in first.splitlines()[1:]] == [["against", "random"], ["against", "max_power"]]


def test_everybody_against_everybody(tmp_path: Path) -> None:
    judged = cross_play(["max_power", "random"], "vgc", games=8, heuristics=False, options=FAST)
    assert judged.names == ("max_power", "random")
    assert judged.ratings[0].name == "max_power"
    assert judged.ratings[0].low < judged.ratings[0].points < judged.ratings[0].high
    report = json.loads(json.dumps(judged.to_dict(), allow_nan=False))
    assert [pair["player"] for pair in report["pairs"]] == ["max_power"]
    assert "Won by the row against the column" in shown(judged)
    for kind in ("png", "svg"):
        assert judged.save_picture(tmp_path / f"table.{kind}").stat().st_size > 1000
    with pytest.raises(UsageError, match=r"expected \.png"):
        judged.save_picture(tmp_path / "table.txt")


def test_players_of_one_name_get_numbers() -> None:
    one = heuristic_policy("random", "vgc")
    players = distinct([Player(name, one, "vgc") for name in ("a", "b", "a")])
    assert [player.name for player in players] == ["a #1", "b", "a #2"]


def test_who_was_trained_on_less_goes_on_seeing_that() -> None:
    entry = game_entry("balatro")

    class Session:
        """A model whose value is how much of a row it was shown."""

        def __init__(self, size: int, actions: int) -> None:
            self.sizes = {"observation": size, "legal_mask": actions}

        def get_modelmeta(self) -> Any:
            return SimpleNamespace(custom_metadata_map={})

        def get_inputs(self) -> list[Any]:
            return [SimpleNamespace(name=name, shape=["rows", size]) for name, size in self.sizes.items()]

        def get_outputs(self) -> list[Any]:
            return [SimpleNamespace(name=name) for name in OUTPUTS]

        def run(self, _: object, given: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
            shown = given["observation"]
            return np.zeros(given["legal_mask"].shape, np.float32), np.full(len(shown), shown.shape[1], np.float32)

    def seen(trained_with: dict, options: dict) -> int:
        spec = entry.spec.under(trained_with)
        made = Manifest.for_game(spec, learner="jax", algorithm="PPO", step=1, game_options=trained_with)
        looks = OnnxPolicy(Session(spec.observation.size, spec.actions.size), "looks")
        policy = Player("one", looks, "balatro", manifest=made).shown(options)
        size = entry.spec.under(options).observation.size
        return int(policy.act(np.zeros((1, size), np.float32), np.ones((1, spec.actions.size), bool)).values[0])

    less, more = {"helpers": True}, {"helpers": True, "insight": "all"}
    narrow, wide = (entry.spec.under(options).observation.size for options in (less, more))
    assert (seen(less, less), seen(less, more), seen(more, more)) == (narrow, narrow, wide)
    with pytest.raises(JimbotError, match="observation table"):
        seen(more, less)


def test_opponents_must_have_been_trained_for_the_same_rules() -> None:
    entry = game_entry("vgc")
    assert entry.two_sides is not None

    def trained(name: str, **options: object) -> Player:
        made = Manifest.for_game(entry.spec, learner="jax", algorithm="PPO", step=1, game_options=options)
        return Player(name, heuristic_policy("random", "vgc"), "vgc", manifest=made)

    open_sheets, closed = trained("one", open_team_sheets=True, reward="win"), trained("two", open_team_sheets=False)
    with pytest.raises(UsageError, match="different open_team_sheets"):
        agreed_options(entry, [open_sheets, closed])
    assert agreed_options(entry, [open_sheets, closed], {"open_team_sheets": True}) == {"open_team_sheets": True}
    assert agreed_options(entry, [closed]) == {"open_team_sheets": False}
    showing = replace(entry, two_sides=replace(entry.two_sides, shows=("teams",)))  # as if it only showed more
    seer, other = trained("three", teams="train"), trained("four", teams="validation")
    assert agreed_options(showing, [open_sheets, seer]) == {"open_team_sheets": True, "teams": "train"}, "one sees more"
    with pytest.raises(UsageError, match="different teams"):
        agreed_options(showing, [seer, other])
    with pytest.raises(UsageError, match="--opponent"):
        agreed_options(entry, [open_sheets], {"opponent": "random"})
    with pytest.raises(UsageError, match="one player"):
        agreed_options(game_entry("probe"), [open_sheets])
