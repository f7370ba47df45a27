from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from jimbot.envs import GameVectorEnv, env_id, make_env, make_vector_env
from jimbot.errors import UsageError
from jimbot.games.seeds import TRAIN, bank_of
from tests.envs.games import COMPILED_ROWS, GAMES, legal_player


def rollout(envs: GameVectorEnv, steps: int, **reset: Any) -> list[tuple]:
    choose = legal_player()
    seen: list[tuple] = [envs.reset(**reset)]
    for _ in range(steps):
        seen.append(envs.step(choose(envs.action_masks())))
    return seen


def assert_equal(left: Any, right: Any) -> None:
    """Equal values and types all the way down; None only equals None."""
    assert type(left) is type(right)
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            assert_equal(left[key], right[key])
    elif isinstance(left, tuple | list) or (isinstance(left, np.ndarray) and left.dtype == object):
        for mine, theirs in zip(left, right, strict=True):
            assert_equal(mine, theirs)
    else:
        assert np.asarray(left).dtype == np.asarray(right).dtype
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("game_id", GAMES)
def test_make_vec_gives_the_native_environment_that_stays_in_its_spaces(game_id: str) -> None:
    envs = gymnasium.make_vec(env_id(game_id), num_envs=COMPILED_ROWS, checked=True)
    assert isinstance(envs, GameVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observation, info = envs.reset(seed=1)
    for _ in range(20):
        assert envs.observation_space.contains(observation)
        assert info["action_mask"].shape == (COMPILED_ROWS, envs.game.spec.actions.size)
        observation, *_, info = envs.step(envs.action_space.sample())
    assert envs.game.illegal_actions == 0
    envs.close()


@pytest.mark.parametrize("options", [{"horizon": 3}, {"horizon": 9, "step_limit": 4}])
def test_it_reports_what_gymnasiums_own_vector_environment_reports(options: dict[str, int]) -> None:
    """Same games, same actions, up to the first restart: equal in every value, key and dtype, endings included."""
    seeds = np.array([5, 6, 7], np.uint64)
    native = make_vector_env("probe", 3, **options)
    single = [lambda: make_env("probe", **options)] * 3
    sync = SyncVectorEnv(single, autoreset_mode=AutoresetMode.SAME_STEP)
    # SyncVectorEnv hands the same options to all, so its games are started one by one.
    native.reset(options={"game_seed": seeds})
    sync.reset()
    for env, seed in zip(sync.envs, seeds, strict=True):
        env.reset(options={"game_seed": seed})
    choose = legal_player()
    for step in range(1, options.get("step_limit", options["horizon"]) + 1):
        actions = choose(native.action_masks())
        left, right = native.step(actions), sync.step(actions)
        if not (left[2] | left[3]).any():
            assert_equal(left, right)
            continue
        assert step == options.get("step_limit", options["horizon"])
        assert_equal(left[1:4], right[1:4])
        assert left[4].keys() == right[4].keys()
        for key in ("final_obs", "_final_obs", "final_info", "_final_info"):
            assert_equal(left[4][key], right[4][key])


@pytest.mark.parametrize("seed", [3, [3, 4, 5, 6]])
def test_a_seed_decides_everything_that_follows_restarts_included(seed: Any) -> None:
    envs = make_vector_env("probe", 4, horizon=3)
    first = rollout(envs, 10, seed=seed)
    again = rollout(envs, 10, seed=seed)
    assert_equal(first, again)
    other = rollout(envs, 10, seed=99)
    assert not np.array_equal(first[0][1]["seed"], other[0][1]["seed"])
    for step in first:
        assert {bank_of(int(value)) for value in step[-1]["seed"]} == {TRAIN}


def test_two_environments_made_without_a_seed_play_different_games() -> None:
    seeds = [make_vector_env("probe", 4).reset()[1]["seed"] for _ in range(2)]
    assert not np.isin(seeds[0], seeds[1]).any()


def test_only_the_games_that_ended_have_endings() -> None:
    envs = make_vector_env("probe", 2, horizon=4)
    choose = legal_player()
    envs.reset(seed=1)
    envs.step(choose(envs.action_masks()))
    played = envs.game.snapshot(np.array([0]))
    envs.reset(seed=1)
    envs.game.restore(played, np.array([0]))  # the first game is now one step ahead
    for _ in range(3):
        observation, _, terminated, _, info = envs.step(choose(envs.action_masks()))
    assert terminated.tolist() == [True, False]
    assert info["_final_obs"].tolist() == [True, False]
    assert info["final_obs"][1] is None
    progress = envs.game_spec.observation.span("progress")
    assert info["final_obs"][0][progress] == 1
    assert observation[0, progress] == 0
    assert info["final_info"]["_stats"].tolist() == [True, False]
    assert info["final_info"]["action_mask"].all(axis=1).tolist() == [True, False]


def test_gymnasiums_episode_statistics_work_on_it() -> None:
    envs = RecordEpisodeStatistics(make_vector_env("probe", 2, horizon=3))
    envs.reset(seed=1)
    for _ in range(3):
        *_, info = envs.step(envs.action_space.sample())
    assert info["episode"]["l"].tolist() == [3, 3]
    assert info["episode"]["r"].tolist() == info["final_info"]["stats"]["matches"].tolist()


def test_what_was_returned_outlives_the_next_step() -> None:
    envs = make_vector_env("probe", 4)
    seen = rollout(envs, 1, seed=1)
    kept = [np.copy(part) for part in seen[1][:4]]
    envs.step(envs.action_space.sample())
    for before, now in zip(kept, seen[1][:4], strict=True):
        assert np.array_equal(before, now)


def test_every_game_can_be_read_as_text() -> None:
    envs = make_vector_env("probe", 3, render_mode="ansi")
    envs.reset(seed=1)
    assert [text.startswith("turn 0") for text in envs.render()] == [True] * 3


def test_wrong_numbers_of_seeds_are_a_sentence() -> None:
    with pytest.raises(UsageError, match="names 2 games; expected 3"):
        make_vector_env("probe", 3).reset(options={"game_seed": [1, 2]})


def test_games_of_two_players_are_played_from_the_first_seats(duel: str) -> None:
    envs = make_vector_env(duel, 3, checked=True)
    observation, info = envs.reset(seed=1)
    for _ in range(12):
        assert envs.observation_space.contains(observation)
        assert (envs.game_spec.observation.view(observation, "seat") == 0).all()
        observation, _, terminated, _, info = envs.step(envs.action_space.sample())
        if terminated.all():
            assert info["final_info"]["stats"]["won"].shape == (3,)
