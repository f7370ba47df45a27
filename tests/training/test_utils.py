from __future__ import annotations

import contextlib
import io
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from jimbot.envs import GameEnv, GameVectorEnv, make_env
from jimbot.errors import UsageError
from jimbot.games import available_games
from jimbot.training.env_wrapper import ActionMaskWrapper, EnvironmentWrapper
from jimbot.training.utils import create_balatro_env, make_vectorized_env, setup_logging, validate_environment
from tests.training.tower import MasklessTower, Tower


@pytest.mark.parametrize("game_id", available_games())
def test_nothing_is_wrong_with_our_own_environments(game_id: str) -> None:
    env = make_env(game_id)
    assert validate_environment(env, steps=100) == []
    assert validate_environment(ActionMaskWrapper(env), steps=20) == []


def test_nothing_is_wrong_with_a_sound_foreign_environment() -> None:
    assert validate_environment(Tower()) == []


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("actions", "action_space is Box; expected Discrete"),
        ("reset", "reset returned a ndarray; expected the pair"),
        ("type", "The observation is a list after reset"),
        ("dtype", "The observation is float64 after reset; its space says float32"),
        ("shape", r"The observation has shape (1,) after reset; its space says (2,)"),
        ("finite", r"The observation holds inf at (0,) after reset"),
        ("bounds", "The observation leaves the bounds of its space after reset"),
        ("reward", "The reward is nan at step 1"),
        ("reward type", "The reward is a ndarray at step 1"),
        ("terminated", "terminated is a int at step 1; expected a bool"),
        ("mask shape", r"info['action_mask'] has shape (3,) after reset; expected (2,)"),
        ("mask dtype", "info['action_mask'] is float64 after reset"),
        ("mask empty", "is all false after reset; at least one action"),
        ("mask conflict", "info['action_mask'] and action_masks() disagree at step 1"),
        ("determinism", "Two runs with seed 0 and the same actions differ in observation after reset"),
        ("step", "legal by the mask, raised ValueError after reset: the stairs are gone"),
    ],
)
def test_each_fault_is_named_in_a_sentence_and_nothing_else_is(fault: str, sentence: str) -> None:
    found = validate_environment(Tower(fault=fault), steps=40)
    assert len(found) == 1, found
    assert sentence in found[0]


def test_what_is_found_is_printed_unless_asked_to_be_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    found = validate_environment(Tower(fault="dtype"), steps=10)
    assert capsys.readouterr().out == f"{found[0]}\n"
    validate_environment(Tower(), steps=10)
    assert capsys.readouterr().out == "Nothing is wrong with Tower in 10 steps.\n"
    assert validate_environment(Tower(fault="dtype"), steps=10, quiet=True) == found
    assert capsys.readouterr().out == ""


def test_a_missing_mask_and_a_stranger_are_named() -> None:
    for env in (MasklessTower(), EnvironmentWrapper(MasklessTower())):
        (sentence,) = validate_environment(env)
        assert sentence.startswith("There is no mask after reset")
    assert "not a gymnasium.Env" in validate_environment(object())[0]


def test_a_bare_environment_of_ours_becomes_one_batch_with_the_same_options() -> None:
    envs = make_vectorized_env(lambda: make_env("probe", horizon=3, checked=True), n_envs=5)
    assert isinstance(envs, GameVectorEnv)
    assert envs.num_envs == 5
    assert envs.game.checked
    envs.reset(seed=1)
    for _ in range(3):
        _, _, terminated, _, _ = envs.step(envs.action_space.sample())
    assert terminated.all()


def test_a_seeded_maker_starts_the_same_games_every_time() -> None:
    def games(seed: int | None) -> list[list[int]]:
        def make_seeded() -> GameEnv:
            env = make_env("probe")
            env.reset(seed=seed)
            return env

        envs = make_vectorized_env(make_seeded, 3)
        started = [envs.reset()[1]["seed"].tolist() for _ in range(2)]
        assert len({seed for row in started for seed in row}) == 6
        return started

    assert games(42) == games(42) != games(43)
    assert games(None) != games(None)


def test_anything_else_is_stepped_one_by_one_with_the_same_restarts() -> None:
    envs = make_vectorized_env(lambda: EnvironmentWrapper(Tower(floors=2)), n_envs=3)
    assert isinstance(envs, SyncVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    envs.reset(seed=1)
    for _ in range(2):
        _, _, terminated, _, info = envs.step(np.zeros(3, int))
    assert terminated.all()
    assert info["final_obs"][0][0] == 3
    with pytest.raises(UsageError, match="n_envs is 0"):
        make_vectorized_env(Tower, n_envs=0)


def test_a_seeded_balatro_repeats() -> None:
    seeds = [
        [env.reset()[1]["seed"] for _ in range(3)] for env in (create_balatro_env(seed=5), create_balatro_env(seed=5))
    ]
    assert seeds[0] == seeds[1]
    game: Any = create_balatro_env(deck="blue").game
    assert game.options.deck == "blue"


def test_log_lines_go_to_the_terminal_and_the_file_once(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    target = tmp_path / "logs" / "run.log"
    with contextlib.redirect_stderr(io.StringIO()) as closed:
        setup_logging()
        logger = setup_logging("debug", target)
    closed.close()
    logging.getLogger("jimbot.training").debug("ante beaten")
    assert target.read_text().count("ante beaten") == 1
    assert capsys.readouterr().err.count("ante beaten") == 1, "it goes to what is stderr now"
    with pytest.raises(UsageError, match="level is 'LOUD'"):
        setup_logging("LOUD")
    assert logger.name == "jimbot"
