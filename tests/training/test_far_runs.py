"""Games of a training run that came far are kept with what they held, and the graph learns from them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jimbot.errors import KnowledgeError, UsageError
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.contract import game_entry
from jimbot.games.hooks.programs import PlayedGame
from jimbot.knowledge.played import pair_lifts, runs_of_played, runs_of_training
from jimbot.knowledge.sorting import NONE, sorter
from jimbot.training.jax_ppo.extensions.far_games import FILE, FarGames
from jimbot.training.settings.record import load_settings

ENTRY = game_entry("balatro")


def standing(antes: list[int], jokers: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """(observations (N, D) of runs at these antes with these jokers, their seeds)"""
    game = BalatroGame(len(antes), 0, ENTRY.spec.options())
    game.reset(np.arange(len(antes), dtype=np.uint64))
    assert ENTRY.knowledge is not None
    assert ENTRY.knowledge.give is not None
    for row, ante in enumerate(antes):
        game.games["ante"][row] = ante
        game.games["hand_played"][row, 3] = 5
        ENTRY.knowledge.give(game, row, jokers)
    return game.observation.copy(), game.seeds.copy()


def ends(*rows: int, turns: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """(ended (T, 2), stats (T, 2, S)): these rows win with the last step."""
    ended = np.zeros((turns, 2), bool)
    stats = np.zeros((turns, 2, len(ENTRY.spec.episode_stats)), np.float32)
    ended[-1, list(rows)] = True
    stats[-1, list(rows), ENTRY.spec.episode_stats.index("won")] = 1
    return ended, stats


def far_games(folder: Path, most: int = 5) -> FarGames:
    part = FarGames(load_settings({"game": "balatro", "keep_games": most}), ENTRY.spec)
    part.open(run_in(folder))
    return part


def run_in(folder: Path) -> Any:
    """All that the part asks of a trainer: where its run is."""
    return SimpleNamespace(session=SimpleNamespace(run=SimpleNamespace(path=folder)))


def test_a_run_is_kept_from_its_milestone_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "mine" / "checkpoints").mkdir(parents=True)
    notes = far_games(tmp_path / "mine")
    early, seeds = standing([2, 4], ["j_baron"])
    later, _ = standing([2, 6], ["j_baron", "j_mime"])
    notes.follow(np.stack([early, early, later]), *ends(0), seeds)  # row 0 ends at ante 2 and tells nothing
    notes.follow(np.stack([later, later, later]), *ends(1), seeds)
    notes.saved(run_in(tmp_path / "mine"))
    assert (tmp_path / "mine" / FILE).stat().st_size < 2000
    [run] = runs_of_training("mine", tmp_path)
    assert (run.won, run.reached, run.player, sorted(run.at)) == (True, 6, "mine", [4, 6])
    assert run.at[4]["jokers"] == ["j_baron"]
    assert run.last["jokers"] == ["j_baron", "j_mime"]
    assert ENTRY.seed_form is not None
    assert run.seed == ENTRY.seed_form.write(int(seeds[1]))
    assert pair_lifts([run]) == []


def test_only_the_newest_are_kept_and_a_resumed_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "mine" / "checkpoints").mkdir(parents=True)
    shown, seeds = standing([4, 5], ["j_baron"])
    for _ in range(2):
        notes = far_games(tmp_path / "mine", most=3)
        notes.follow(shown[None], *ends(0, 1, turns=1), seeds)
        notes.saved(run_in(tmp_path / "mine"))
    assert [run.reached for run in runs_of_training("mine", tmp_path)] == [5, 4, 5]


def test_a_run_without_them_and_a_damaged_file_are_told(tmp_path: Path) -> None:
    (tmp_path / "mine" / "checkpoints").mkdir(parents=True)
    with pytest.raises(UsageError, match="kept none of its games"):
        runs_of_training("mine", tmp_path)
    for text in ("{", "[]", '{"seed": "A", "won": 1, "reached": 4, "player": "", "at": {"4": {"jokers": 3}}}'):
        (tmp_path / "mine" / FILE).write_text(text + "\n")
        with pytest.raises(KnowledgeError, match=r"far_runs\.jsonl is damaged"):
            runs_of_training("mine", tmp_path)
    assert FarGames.wanted(load_settings({"game": "balatro"}))
    assert not FarGames.wanted(load_settings({"game": "probe"}))
    assert not FarGames.wanted(load_settings({"game": "balatro", "keep_games": 0}))


def test_games_told_elsewhere_are_runs_too() -> None:
    shown, _ = standing([3, 4], ["j_baron", "j_mime"])
    stats = ends(0, turns=1)[1][0, 0]
    mask = np.ones((2, ENTRY.spec.actions.size), bool)
    told = PlayedGame(shown, mask, np.zeros(2, np.int32), np.zeros(2, np.float32), stats, 1.0, True, 7)
    [run] = runs_of_played("balatro", [told])
    assert (run.won, run.reached, sorted(run.at)) == (True, 4, [3, 4])
    assert run.last["jokers"] == ["j_baron", "j_mime"]


def test_many_observations_are_sorted_into_strategies_at_once() -> None:
    assert ENTRY.knowledge is not None
    assert ENTRY.knowledge.held is not None
    known = [
        {"name": "kings", "uses": {"j_baron": 1.0, "j_mime": 1.0}},
        {"name": "flushes", "uses": {"j_droll": 1.0, "Flush": 1.0}},
    ]
    found = sorter(ENTRY.knowledge.held, known)
    assert found is not None
    kings, _ = standing([4, 4], ["j_baron", "j_joker"])
    assert found.nearest(kings).tolist() == [0, 0]
    lonely, _ = standing([4, 4], ["j_baron"])
    assert found.nearest(lonely).tolist() == [NONE, NONE]  # one joker is no strategy
