"""Random play in one compiled call, and the benchmark built on it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import balatro as benchmarks
from jimbot.errors import UsageError
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.checker import random_legal


def test_roaming_plays_legal_actions_only_and_leaves_sound_games() -> None:
    game = BalatroGame(64, seed=3)
    game.reset()
    advanced = game.roam(200)
    assert game.faults() == []
    assert 64 * 200 // 2 < advanced < 64 * 200, "most random actions advance a game, some choose or reorder"
    assert (game.games["steps"] > 0).any()
    game.step(random_legal(np.random.default_rng(0), game.legal_mask))
    assert game.illegal_actions == 0


def test_roaming_in_one_call_or_many_is_the_same() -> None:
    once, often = (BalatroGame(8, seed=5) for _ in range(2))
    once.reset()
    often.reset()
    once.roam(30)
    for _ in range(30):
        often.roam(1)
    np.testing.assert_array_equal(once.snapshot()["records"], often.snapshot()["records"])
    np.testing.assert_array_equal(once.observation, often.observation)


def test_recorded_play_replays_to_the_same_games() -> None:
    game = BalatroGame(8, seed=5)
    game.reset()
    before = game.snapshot()
    plan = np.zeros((8, 40), np.int64)
    for turn in range(40):
        game.roam(1)
        plan[:, turn] = game.arrays.actions
    played, seen = game.snapshot(), game.observation.copy()
    game.restore(before)
    game.replay(plan)
    for name, part in game.snapshot().items():
        np.testing.assert_array_equal(part, played[name])
    np.testing.assert_array_equal(game.observation, seen)
    with pytest.raises(UsageError, match=r"replay got actions of shape \(3, 2\); expected \(8, turns\)"):
        game.replay(np.zeros((3, 2), np.int64))


def test_the_benchmarks_middle_of_games_is_sound_and_where_it_says() -> None:
    game = BalatroGame(32)
    game.reset()
    game.restore({**game.snapshot(), **benchmarks.middle_of_games(32)})
    assert game.faults() == []
    assert set(game.games["ante"]) <= set(benchmarks.MIDDLE_ANTES)
    assert (game.games["joker_count"] == benchmarks.MIDDLE_JOKERS).all()
    game.roam(20)
    assert game.faults() == []
