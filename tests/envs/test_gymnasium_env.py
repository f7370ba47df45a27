from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from jimbot.envs import env_id, make_env
from jimbot.errors import IllegalActionError, UnknownNameError, UsageError
from jimbot.games.checker import check_game
from jimbot.games.seeds import TRAIN, bank_of, bank_seeds
from tests.envs.games import GAMES


def play_out(env: Any, limit: int = 10_000) -> tuple[float, dict[str, Any], np.ndarray]:
    """Random legal play to the end: return, last info, last observation."""
    total = 0.0
    for _ in range(limit):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        total += reward
        if terminated or truncated:
            return total, info, observation
    raise AssertionError(f"No end after {limit} steps.")


@pytest.mark.parametrize("game_id", GAMES)
def test_gymnasiums_own_check_passes_and_complains_of_nothing_but_open_bounds(game_id: str) -> None:
    env = gymnasium.make(env_id(game_id)).unwrapped
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env)
    strange = [str(entry.message) for entry in caught if "infinity" not in str(entry.message)]
    assert not strange
    env.close()


@pytest.mark.parametrize("game_id", GAMES)
def test_random_play_is_legal_and_ends_with_the_last_observation_and_the_statistics(game_id: str) -> None:
    env = make_env(game_id, checked=True)
    env.action_space.seed(5)
    _, info = env.reset(seed=4)
    assert info["action_mask"].dtype == bool
    assert np.array_equal(info["action_mask"], env.action_masks())
    assert bank_of(int(info["seed"])) == TRAIN
    _, last, observation = play_out(env)
    assert env.game.illegal_actions == 0
    assert np.array_equal(observation, env.game.final_observation[0])
    assert tuple(last["stats"]) == env.game_spec.episode_stats
    assert last["seed"] == info["seed"]
    assert last["action_mask"].all()
    env.close()


def test_the_return_is_what_the_statistics_say() -> None:
    env = make_env("probe", horizon=20)
    env.reset(seed=2)
    total, info, _ = play_out(env)
    assert total == info["stats"]["matches"]
    assert info["reward_terms"].shape == (1,)


def test_a_seed_decides_this_game_and_all_that_follow() -> None:
    def seeds_of(env: Any, seed: int | None) -> list[int]:
        first = env.reset(seed=seed)[1]["seed"]
        return [int(first), *(int(env.reset()[1]["seed"]) for _ in range(3))]

    env, other = make_env("probe"), make_env("probe")
    other.reset()  # what was played before does not matter
    assert seeds_of(env, 11) == seeds_of(other, 11)
    assert seeds_of(env, 11) != seeds_of(other, 12)
    assert len(set(seeds_of(env, None))) == 4


def test_no_seed_of_reset_leads_to_a_game_that_judges_but_the_exact_game_can_be_asked_for() -> None:
    env = make_env("probe")
    judging = bank_seeds("held-out", 3)
    for seed in judging:
        assert bank_of(int(env.reset(seed=int(seed))[1]["seed"])) == TRAIN
        assert env.reset(options={"game_seed": seed})[1]["seed"] == seed


def test_a_seed_that_cannot_be_one_is_refused() -> None:
    env = make_env("probe")
    with pytest.raises(UsageError, match="game_seed is 'ABC'; expected whole numbers"):
        env.reset(options={"game_seed": "ABC"})
    with pytest.raises(UsageError, match="game_seed is -1"):
        env.reset(options={"game_seed": -1})
    with pytest.raises(UsageError, match="names 2 games; expected 1"):
        env.reset(options={"game_seed": [1, 2]})


def test_a_game_that_ended_waits_for_reset() -> None:
    env = make_env("probe", horizon=1)
    with pytest.raises(UsageError, match="has not begun"):
        env.step(0)
    env.reset(seed=1)
    _, _, terminated, truncated, _ = env.step(env.action_space.sample())
    assert (terminated, truncated) == (True, False)
    with pytest.raises(UsageError, match=r"has ended.*Call reset"):
        env.step(0)
    env.reset()
    env.step(env.action_space.sample())


def test_a_game_that_is_cut_off_is_truncated_not_terminated() -> None:
    env = make_env("probe", step_limit=1)
    env.reset(seed=1)
    _, _, terminated, truncated, info = env.step(env.action_space.sample())
    assert (terminated, truncated) == (False, True)
    assert "stats" in info


def test_illegal_actions_are_counted_or_refused() -> None:
    env = make_env("probe")
    _, info = env.reset(seed=1)
    wrong = int(np.argmin(info["action_mask"]))
    env.step(wrong)
    assert env.game.illegal_actions == 1
    strict = make_env("probe", checked=True)
    strict.reset(seed=1)
    with pytest.raises(IllegalActionError, match="Choose inside legal_mask"):
        strict.step(wrong)


def test_the_action_space_is_an_ordinary_one_when_copied() -> None:
    space = make_env("probe").action_space
    assert copy.deepcopy(space) == pickle.loads(pickle.dumps(space)) == gymnasium.spaces.Discrete(48)
    mask = np.zeros(48, np.int8)
    mask[7] = 1
    assert space.sample(mask) == 7


@pytest.mark.parametrize("game_id", GAMES)
def test_the_board_can_be_read_as_text_and_seen_in_the_terminal(game_id: str, capsys: pytest.CaptureFixture) -> None:
    env = gymnasium.make(env_id(game_id), render_mode="ansi")
    env.reset(seed=1)
    text = env.render()
    assert isinstance(text, str)
    assert text.strip()
    env.close()
    seen = make_env(game_id, render_mode="human")
    seen.reset(seed=1)
    assert capsys.readouterr().out.strip()
    seen.close()


def test_after_the_end_the_picture_is_the_result_not_the_next_game() -> None:
    env = make_env("probe", horizon=1, render_mode="ansi")
    env.reset(seed=1)
    env.step(env.action_space.sample())
    assert env.render().startswith("The game is over: matches")


def test_unknown_names_are_sentences() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'horizon'"):
        make_env("probe", horizn=3)
    with pytest.raises(UsageError, match="expected one of ansi, human, rgb_array"):
        make_env("probe", render_mode="hologram")
    with pytest.raises(UnknownNameError, match="Unknown game 'prob'"):
        make_env("prob")


def test_a_game_of_two_players_is_played_from_the_first_seat(duel: str) -> None:
    check_game(duel, steps=40)

    def rock(observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        return np.zeros(len(observation), np.int64)

    env = make_env(duel, checked=True, opponent=rock, rounds=4)
    env.reset(seed=3)
    total = 0.0
    for turn in range(4):
        observation, reward, terminated, _, info = env.step(1)  # paper beats rock
        assert reward > 0
        total += reward
        assert terminated == (turn == 3)
    assert info["stats"] == {"won": total}
    assert env.game_spec.observation.view(observation, "seat") == 0
    random_opponent = make_env(duel, checked=True)
    random_opponent.reset(seed=3)
    play_out(random_opponent)
