"""A learner of somebody else: three methods and a name, as the training framework's page writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.errors import SettingsError, UnknownNameError, UsageError
from jimbot.policies.heuristics import RandomPolicy
from jimbot.training import learners
from jimbot.training.framework import RLTrainer, TrainerConfig, create_trainer, register_learner
from jimbot.training.sb3_trainer import SB3Trainer


class MyAlgorithmTrainer(RLTrainer):
    """The page's class: create_model, train, evaluate."""

    def create_model(self) -> None:
        self.values = np.zeros(self.spec.actions.size)

    def train(self, total_timesteps: int | None = None, callback: Any = None) -> str:
        _, info = self.env.reset(seed=self.settings.seed)
        for _ in range(total_timesteps or self.settings.total_timesteps):
            action = self.env.action_space.sample(info["action_mask"].astype(np.int8))
            _, reward, terminated, truncated, info = self.env.step(action)
            self.values[action] += reward
            self.steps_learned += 1
            if terminated or truncated:
                _, info = self.env.reset()
        return "trained"

    def evaluate(self, n_episodes: int, deterministic: bool = True) -> tuple[float, float]:  # ty: ignore
        return float(self.values.mean()), float(self.values.std())


@pytest.fixture(autouse=True)
def _own_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(learners, "_LEARNERS", dict(learners._LEARNERS))
    monkeypatch.chdir(tmp_path)


def test_three_methods_and_a_name_are_enough() -> None:
    register_learner("MyAlgorithm", MyAlgorithmTrainer)
    trainer = create_trainer("probe", TrainerConfig(algorithm="MyAlgorithm", total_timesteps=50))
    assert isinstance(trainer, MyAlgorithmTrainer)
    assert trainer.config is not None
    assert trainer.train() == "trained"
    assert trainer.step == 50
    assert trainer.evaluate(n_episodes=3)[0] > 0
    with pytest.raises(UsageError, match=r"keeps its policy to itself.*portable_network"):
        trainer.save_model()
    trainer.close()


def test_a_trainer_is_made_from_an_environment_and_a_config_directly() -> None:
    trainer = MyAlgorithmTrainer("probe", TrainerConfig(algorithm="MyAlgorithm", total_timesteps=5))
    assert trainer.settings.learner == "MyAlgorithm"
    trainer.close()
    pytest.importorskip("stable_baselines3")
    trainer = SB3Trainer("probe", TrainerConfig(algorithm="A2C", total_timesteps=64))
    assert type(trainer) is SB3Trainer
    assert trainer.settings.learner == "sb3"
    trainer.close()


def test_the_command_line_knows_it_by_learner_and_by_algorithm(capsys: pytest.CaptureFixture[str]) -> None:
    register_learner("mine", MyAlgorithmTrainer, algorithms=("MyAlgorithm",))
    few = ["--total-timesteps", "40", "--eval-games", "3", "--no-wandb"]
    assert run(["train", "probe", "--learner", "mine", *few]) == 0
    assert run(["train", "probe", "--algorithm", "myalgorithm", "--run-name", "second", *few]) == 0
    told = capsys.readouterr().out
    assert "probe-mine-myalgorithm" in told
    assert "no policy" in told
    assert (Path("runs") / "second" / "metrics.jsonl").is_file()


def test_a_policy_object_is_enough_to_be_judged() -> None:
    class Lucky(MyAlgorithmTrainer):
        policy = RandomPolicy()
        evaluate = RLTrainer.evaluate

    trainer = Lucky("probe", {"total_timesteps": 5, "run_name": "lucky"})
    mean, _ = trainer.evaluate(n_episodes=64)
    assert 0.5 < mean < 4  # a quarter of the doors' colours pays by chance: 2 of 8
    assert trainer.validate(4)[0] >= 0
    trainer.close()


def test_a_learner_names_its_own_algorithm_where_nobody_does() -> None:
    register_learner("mine", MyAlgorithmTrainer, algorithms=("First", "Second"))
    trainer = create_trainer("probe", {"learner": "mine", "total_timesteps": 5})
    assert trainer.settings.algorithm == "First"
    trainer.close()
    with pytest.raises(SettingsError, match="'mine' does not know algorithm 'PPO'; it has First, Second"):
        create_trainer("probe", {"learner": "mine", "algorithm": "PPO"})
    assert not (Path("runs") / "probe-mine-PPO").exists()
    with pytest.raises(UnknownNameError, match="Unknown learner 'min'"):
        create_trainer("probe", {"learner": "min"})


@pytest.mark.parametrize("name", ["jax", "sb3", "ray"])
def test_the_list_of_learners_says_what_their_classes_say(name: str) -> None:
    pytest.importorskip({"jax": "jax", "sb3": "sb3_contrib", "ray": "ray"}[name])
    assert set(learners.algorithms_of(name)) == set(learners.load_learner(name).algorithms)
