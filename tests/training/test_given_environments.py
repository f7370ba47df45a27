"""Who learns in an environment of their own is judged in it, and told where that cannot be."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.envs import make_env
from jimbot.games.contract import make
from jimbot.games.seeds import HELD_OUT, VALIDATION, bank_seeds
from jimbot.training.env_wrapper import EnvironmentWrapper
from jimbot.training.framework import create_trainer

pytest.importorskip("torch")

SMALL: dict[str, Any] = {
    **{"num_steps": 32, "num_minibatches": 1, "update_epochs": 1, "hidden_dim": 8, "network": "mlp"},
    **{
        "total_timesteps": 64,
        "eval_interval": 32,
        "log_interval": 1,
        "reward_transform": "none",
        "normalize_obs": False,
    },
}


class Paid(EnvironmentWrapper):
    """Keeps every shape; each step pays 100 more. Notes which games were played."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.played: list[int] = []

    def reset(self, **asked: Any) -> Any:
        observation, info = super().reset(**asked)
        self.played.append(int(info["seed"]))
        return observation, info

    def transform_reward(self, reward: float, info: dict[str, Any]) -> float:
        return reward + 100


@pytest.mark.parametrize("learner", ["jax", "sb3"])
def test_a_wrapper_that_keeps_the_shapes_is_judged_in_as_it_was_learned_in(learner: str, tmp_path: Path) -> None:
    env = Paid(make_env("probe"))
    trainer = create_trainer(env, {**SMALL, "learner": learner}, root=tmp_path)
    looked = trainer.train().metrics["eval/mean_return"]
    mean, _ = trainer.evaluate(5)
    games = trainer.judged_games(5)
    trainer.close()
    per_step = games.returns / games.lengths
    assert (per_step >= 100).all(), "the wrapper's rewards, not the game's"
    assert looked > 100
    assert mean == games.returns.mean()
    for bank, count in ((HELD_OUT, 5), (VALIDATION, 32)):
        assert {int(seed) for seed in bank_seeds(bank, count)} <= set(env.played), "the same games for everybody"


def test_a_batch_of_ones_own_is_judged_in_itself(tmp_path: Path) -> None:
    batch = make("probe", 4)

    class Doubled(type(batch)):  # ty: ignore[unsupported-base]
        def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
            super().step(actions, hold)
            self.reward[:] = 1000

    batch.__class__ = Doubled
    trainer = create_trainer(batch, {**SMALL, "eval_interval": None}, root=tmp_path)
    games = trainer.judged_games(6)
    trainer.close()
    np.testing.assert_array_equal(games.returns, 1000 * games.lengths)


def test_commands_say_that_they_play_the_bare_game_and_do_not_go_on_in_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    trainer = create_trainer(Paid(make_env("probe")), {**SMALL, "run_name": "paid"}, root=tmp_path)
    trainer.train()
    trainer.close()
    with caplog.at_level(logging.WARNING, "jimbot"):
        assert run(["evaluate", "paid", "--games=4", f"--runs-dir={tmp_path}"]) == 0
    assert "paid/64 learned in Paid around 'probe'" in caplog.text
    assert "the bare game 'probe'" in caplog.text
    assert run(["resume", "paid", f"--runs-dir={tmp_path}"]) == 2
    assert "create_trainer(env, config, resume=True)" in " ".join(capsys.readouterr().err.split())
    again = create_trainer(Paid(make_env("probe")), {**SMALL, "run_name": "paid"}, root=tmp_path, resume=True)
    assert again.step == 64
    again.close()


def test_every_trainer_is_a_new_run_unless_asked_to_resume(tmp_path: Path) -> None:
    """Patterns 1 and 3 of the framework's page in one folder, with other settings and while the first is still open."""
    first = create_trainer("probe", {**SMALL, "gamma": 0.99}, root=tmp_path)
    second = create_trainer("probe", {**SMALL, "gamma": 0.995}, root=tmp_path)
    assert [trainer.session.run.name for trainer in (first, second)] == ["probe-jax-ppo", "probe-jax-ppo-2"]
    first.train(32)
    first.close()
    second.close()
    third = create_trainer("probe", {**SMALL, "gamma": 0.99}, root=tmp_path)
    assert (third.session.run.name, third.step) == ("probe-jax-ppo-2", 0), "the second learned nothing, so it is gone"
    third.close()
    resumed = create_trainer("probe", {**SMALL, "gamma": 0.99}, root=tmp_path, resume=True)
    assert (resumed.session.run.name, resumed.step) == ("probe-jax-ppo", 8192)
    resumed.close()
