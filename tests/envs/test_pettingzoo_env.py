from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pettingzoo")
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

from jimbot.envs.pettingzoo_env import make_aec_env, make_parallel_env
from jimbot.errors import UsageError
from jimbot.games.seeds import TRAIN, bank_of, bank_seeds
from tests.envs.games import GAMES


@pytest.mark.parametrize("game_id", GAMES)
def test_pettingzoos_own_tests_pass_for_every_game(game_id: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parallel_api_test(make_parallel_env(game_id, checked=True), num_cycles=60)
        api_test(make_aec_env(game_id, checked=True), num_cycles=60)
    # The Dict of observation and mask is PettingZoo's own convention; its test knows it only for its own games.
    expected = ("Observation space for each agent probably", "Observation is not a NumPy array")
    strange = {str(entry.message) for entry in caught if entry.category is UserWarning}
    assert not {text for text in strange if not text.startswith(expected)}


@pytest.mark.parametrize("game_id", GAMES)
def test_the_same_seed_gives_the_same_game(game_id: str) -> None:
    parallel_seed_test(lambda: make_parallel_env(game_id), num_cycles=30)
    seed_test(lambda: make_aec_env(game_id), num_cycles=30)


def test_two_players_are_two_agents_with_their_own_rows(duel: str) -> None:
    parallel_api_test(make_parallel_env(duel, checked=True), num_cycles=40)
    api_test(make_aec_env(duel, checked=True), num_cycles=40)
    env = make_parallel_env(duel, checked=True, rounds=4)
    observations, _ = env.reset(seed=1)
    assert env.agents == ["player_0", "player_1"]
    assert [observations[agent]["observation"][0] for agent in env.agents] == [0, 1]
    watched = 0
    while env.agents:
        second = observations["player_1"]["action_mask"]
        watched += second.sum() == 1
        actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        observations, rewards, terminated, _, infos = env.step(actions)
        assert rewards["player_0"] == -rewards["player_1"]
    assert watched == 1
    assert terminated == {"player_0": True, "player_1": True}
    assert infos["player_0"]["stats"]["won"] == -infos["player_1"]["stats"]["won"]
    assert env.step({}) == ({}, {}, {}, {}, {})


def test_games_are_of_the_train_bank_unless_one_is_asked_for() -> None:
    env = make_parallel_env("probe")
    judging = int(bank_seeds("validation", 1)[0])
    assert bank_of(int(env.reset(seed=judging)[1]["player_0"]["seed"])) == TRAIN
    assert env.reset(options={"game_seed": judging})[1]["player_0"]["seed"] == judging


def test_a_missing_action_is_a_sentence(duel: str) -> None:
    env = make_parallel_env(duel)
    env.reset(seed=1)
    with pytest.raises(UsageError, match="no action for player_1"):
        env.step({"player_0": 0})


def test_masks_are_int8_and_agree_with_the_game() -> None:
    env: Any = make_parallel_env("probe")
    observations, infos = env.reset(seed=1)
    mask = observations["player_0"]["action_mask"]
    assert mask.dtype == np.int8
    assert np.array_equal(mask, env.game.legal_mask[0])
    assert np.array_equal(infos["player_0"]["action_mask"], env.game.legal_mask[0])


def test_the_board_can_be_read_as_text() -> None:
    env = make_parallel_env("probe", render_mode="ansi")
    env.reset(seed=1)
    assert env.render().startswith("turn 0")
