from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from jimbot.envs import make_env
from jimbot.errors import SettingsError, UnknownNameError, UsageError
from jimbot.training import env_wrapper
from tests.training.tower import CLIMB, JUMP, MasklessTower, Tower


def test_the_base_changes_nothing_and_keeps_the_mask_reachable() -> None:
    env, wrapped = Tower(), env_wrapper.EnvironmentWrapper(env_wrapper.EnvironmentWrapper(Tower()))
    assert np.array_equal(env.reset(seed=1)[0], wrapped.reset(seed=1)[0])
    for _ in range(3):
        left, right = env.step(CLIMB), wrapped.step(CLIMB)
        assert np.array_equal(left[0], right[0])
        assert left[1:4] == right[1:4]
        assert np.array_equal(env.action_masks(), wrapped.action_masks())


def test_a_wrapper_of_your_own_overrides_what_it_needs() -> None:
    class Halved(env_wrapper.EnvironmentWrapper):
        def transform_observation(self, observation: Any, info: dict[str, Any]) -> Any:
            return observation / 2

        def transform_reward(self, reward: float, info: dict[str, Any]) -> float:
            return reward + info["ante"]

    env = Halved(Tower())
    assert env.reset(seed=1)[0][0] == 0.5
    observation, reward, *_ = env.step(CLIMB)
    assert observation[0] == 1.0
    assert reward == 4.0


def test_the_curriculum_ends_an_episode_when_its_ante_is_beaten() -> None:
    env = env_wrapper.CurriculumWrapper(Tower(), window=2)
    _, info = env.reset(seed=1)
    assert info["max_ante"] == 2
    assert env.step(CLIMB)[2:4] == (False, False)
    *_, terminated, truncated, info = env.step(CLIMB)
    assert (terminated, truncated) == (False, True)
    assert info["success"] is True
    env.reset()
    env.step(CLIMB)
    *_, terminated, truncated, info = env.step(JUMP)  # the game is lost before the ante is beaten
    assert (terminated, truncated) == (True, False)
    assert info["success"] is False
    assert env.max_ante == 2


def test_success_raises_the_ante_up_to_the_whole_game() -> None:
    env = env_wrapper.CurriculumWrapper(Tower(), initial_max_ante=6, ante_increment=2, success_threshold=1.0, window=2)
    lengths = []
    for _ in range(4):
        env.reset()
        steps, ended = 0, False
        while not ended:
            *_, terminated, truncated, info = env.step(CLIMB)
            steps, ended = steps + 1, terminated or truncated
        lengths.append((steps, terminated))
        assert info["success"]
    assert lengths == [(6, False), (6, False), (8, True), (8, True)]
    assert env.max_ante == 8


def test_the_curriculum_says_what_it_misses() -> None:
    with pytest.raises(UsageError, match="no 'ante' in info"):
        env_wrapper.CurriculumWrapper(make_env("probe")).reset()


def test_rewards_are_scaled_and_cut_off_and_the_original_is_kept() -> None:
    env = env_wrapper.RewardScalingWrapper(Tower(), scale=0.25)
    env.reset(seed=1)
    _, reward, _, _, info = env.step(CLIMB)
    assert (reward, info["unscaled_reward"]) == (0.5, 2.0)
    clipped = env_wrapper.RewardScalingWrapper(Tower(), scale=10, clip=1.5)
    clipped.reset(seed=1)
    assert clipped.step(CLIMB)[1] == 1.5
    with pytest.raises(SettingsError, match="scale is 0"):
        env_wrapper.RewardScalingWrapper(Tower(), scale=0)
    with pytest.raises(SettingsError, match="clip is -1"):
        env_wrapper.RewardScalingWrapper(Tower(), clip=-1)


def test_the_mask_can_be_part_of_the_observation() -> None:
    env = env_wrapper.ActionMaskWrapper(make_env("probe", horizon=2))
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert np.array_equal(observation["action_mask"], env.action_masks())
    for _ in range(2):
        observation, _, terminated, _, _ = env.step(env.action_space.sample(observation["action_mask"]))
        assert env.observation_space.contains(observation)
    assert terminated
    with pytest.raises(UsageError, match="MasklessTower has no action_masks"):
        env_wrapper.ActionMaskWrapper(env_wrapper.EnvironmentWrapper(MasklessTower()))


def test_balatros_wrapper_takes_nothing_else() -> None:
    with pytest.raises(UsageError, match="got game 'probe'; expected Balatro"):
        env_wrapper.BalatroGymWrapper(make_env("probe"))
    with pytest.raises(UsageError, match="got Tower; expected Balatro"):
        env_wrapper.wrap_balatro_env(Tower())


def play_random(env: gymnasium.Env, seed: int, limit: int = 4000) -> list[dict[str, Any]]:
    """The infos of one random legal game."""
    rng = np.random.default_rng(seed)
    infos = [env.reset(seed=seed)[1]]
    for _ in range(limit):
        legal = np.flatnonzero(infos[-1]["action_mask"])
        *_, terminated, truncated, info = env.step(int(rng.choice(legal)))
        infos.append(info)
        if terminated or truncated:
            return infos
    raise AssertionError("No end.")


def test_balatros_figures_are_those_of_the_game() -> None:
    env = env_wrapper.wrap_balatro_env(make_env("balatro"))
    infos = play_random(env, seed=3)
    assert (infos[0]["ante"], infos[0]["round"], infos[0]["money"], infos[0]["won"]) == (1, 0, 4, False)
    assert infos[-1]["ante"] == infos[-1]["stats"]["ante"]
    assert max(info.get("score", 0) for info in infos) > 0
    assert all(0 <= info["hands_left"] <= 10 for info in infos[:-1])


def test_balatro_under_the_curriculum_passes_gymnasiums_check_and_ends_episodes() -> None:
    env = env_wrapper.wrap_balatro_env(
        make_env("balatro"), use_curriculum=True, curriculum_config={"initial_max_ante": 1}
    )
    check_env(env, skip_render_check=True)
    for seed in range(5):
        last = play_random(env, seed)[-1]
        assert last["success"] == (last["ante"] > last["max_ante"])
    _, info = env.reset(seed=1)
    game: Any = env.get_wrapper_attr("game")
    game.games["ante"] = 2  # as if the first boss had been beaten
    *_, terminated, truncated, info = env.step(int(np.argmax(info["action_mask"])))
    assert (terminated, truncated, info["success"]) == (False, True, True)


def test_the_settings_of_the_curriculum_are_checked_by_name() -> None:
    with pytest.raises(UnknownNameError, match="Unknown field of curriculum_config 'max_ante'"):
        env_wrapper.wrap_balatro_env(make_env("balatro"), use_curriculum=True, curriculum_config={"max_ante": 3})
    with pytest.raises(SettingsError, match="use_curriculum is False"):
        env_wrapper.wrap_balatro_env(make_env("balatro"), curriculum_config={"initial_max_ante": 3})
