"""The training framework as its users know it: every example of its page, with small numbers."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.envs import GameEnv
from jimbot.errors import UnknownNameError, UsageError
from jimbot.training.env_wrapper import (
    ActionMaskWrapper,
    BalatroGymWrapper,
    CurriculumWrapper,
    EnvironmentWrapper,
    RewardScalingWrapper,
    wrap_balatro_env,
)
from jimbot.training.experiment import ExperimentConfig, ExperimentResult, MultiAlgorithmBenchmark
from jimbot.training.framework import (
    CheckpointManager,
    HyperparameterConfig,
    RLTrainer,
    TrainerConfig,
    create_trainer,
    get_default_config,
)
from jimbot.training.metrics import (
    BalatroMetrics,
    compute_moving_average,
    plot_training_curves,
    print_comparison_table,
)
from jimbot.training.settings.layers import resolve
from jimbot.training.settings.trainer_config import to_settings
from jimbot.training.utils import create_balatro_env, make_vectorized_env, setup_logging, validate_environment

pytest.importorskip("torch")
from jimbot.training.sb3_trainer import SB3Trainer

DEFAULTS: dict[str, dict[str, float]] = {  # the page's tables, as it writes them
    "PPO": {
        "learning_rate": 3e-4,
        "n_steps": 2048,
        "batch_size": 64,
        "n_epochs": 10,
        "gamma": 0.99,
        "gae_lambda": 0.95,
        "clip_range": 0.2,
        "ent_coef": 0.01,
        "vf_coef": 0.5,
    },
    "A2C": {
        "learning_rate": 7e-4, "n_steps": 5, "gamma": 0.99, "gae_lambda": 1.0, "ent_coef": 0.01, "vf_coef": 0.5,
    },
    "DQN": {
        "learning_rate": 1e-4,
        "buffer_size": 100_000,
        "learning_starts": 10_000,
        "batch_size": 32,
        "train_freq": 4,
        "gamma": 0.99,
    },
}  # fmt: skip

SMALL = {"n_envs": 2, "hyperparams": HyperparameterConfig(features_dim=16, policy_net_arch=[16], value_net_arch=[16])}
FEW: dict[str, dict[str, Any]] = {
    "PPO": {"n_steps": 32, "batch_size": 32, "n_epochs": 1},
    "A2C": {},
    "DQN": {"buffer_size": 200, "learning_starts": 32},
}


def small(algorithm: str, **changes: Any) -> TrainerConfig:
    config = get_default_config(algorithm)
    config.hyperparams.policy_net_arch = config.hyperparams.value_net_arch = [16]
    config.hyperparams.features_dim = 16
    config.hyperparams.algorithm_specific |= FEW[algorithm]
    return dataclasses.replace(config, n_envs=2, total_timesteps=128, **changes)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_fields_and_defaults_of_both_records() -> None:
    config, hyper = TrainerConfig(), HyperparameterConfig()
    assert (config.algorithm, config.total_timesteps, config.seed, config.n_envs) == ("PPO", 1_000_000, 42, 8)
    assert (config.use_feature_extractor, config.feature_extractor_type) == (True, "balatro")
    assert (config.normalize_obs, config.normalize_reward, config.use_curriculum) == (True, True, False)
    assert (config.save_dir, config.checkpoint_freq, config.eval_freq) == ("models", 10_000, 5_000)
    assert (config.use_wandb, config.wandb_project) == (False, "balatro-rl")
    assert (hyper.learning_rate, hyper.gamma, hyper.gae_lambda) == (3e-4, 0.99, 0.95)
    assert (hyper.entropy_coefficient, hyper.value_function_coefficient, hyper.max_grad_norm) == (0.01, 0.5, 0.5)
    assert (hyper.policy_net_arch, hyper.value_net_arch, hyper.features_dim) == ([256, 256], [256, 256], 512)
    assert hyper.algorithm_specific == {}


@pytest.mark.parametrize("algorithm", DEFAULTS)
def test_the_table_of_an_algorithm_is_its_default_and_may_be_given_as_algorithm_specific(algorithm: str) -> None:
    whole = TrainerConfig(algorithm, hyperparams=HyperparameterConfig(algorithm_specific=DEFAULTS[algorithm]))
    given, usual = to_settings(whole), to_settings(get_default_config(algorithm))
    apart = {name for name in usual if usual[name] != given[name]}
    assert apart <= {"max_grad_norm"}  # DQN's is not in its table
    assert given["lr"] == DEFAULTS[algorithm]["learning_rate"]
    assert given["gamma"] == 0.99
    if "vf_coef" in DEFAULTS[algorithm]:
        assert (given["ent_coef"], given["vf_coef"]) == (0.01, 2 * 0.5)  # ours weighs half the squared error
    resolve({"game": "balatro"}, given)


def test_general_names_in_algorithm_specific_win_and_others_are_refused() -> None:
    hyper = HyperparameterConfig(learning_rate=1.0, algorithm_specific={"learning_rate": "1e-3", "ent_coef": 0.2})
    values = to_settings(TrainerConfig(hyperparams=hyper))
    assert (values["lr"], values["ent_coef"]) == (1e-3, 0.2)
    with pytest.raises(UnknownNameError, match=r"ent_coeff.*Did you mean 'ent_coef'"):
        to_settings(TrainerConfig(hyperparams=HyperparameterConfig(algorithm_specific={"ent_coeff": 0.2})))


def test_pattern_1_one_algorithm_from_config_to_model() -> None:
    config = small("PPO")
    config.total_timesteps = 128
    env = create_balatro_env(seed=42)
    trainer = create_trainer(env, config)
    result = trainer.train()
    mean, spread = trainer.evaluate(n_episodes=2)
    path = trainer.save_model()
    trainer.close()
    assert isinstance(trainer, RLTrainer)
    assert isinstance(trainer.session.store, CheckpointManager)
    assert (result.step, result.run) == (128, "balatro-jax-ppo")
    assert path.resolve().is_relative_to(Path("models").resolve())
    assert result.checkpoint == path
    assert result.metrics["train/num_decisions"] > 0
    assert np.isfinite([mean, spread]).all()


def test_pattern_2_algorithms_are_compared_end_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    configs = [
        ExperimentConfig(algorithm="PPO", total_timesteps=128, learner="sb3", **SMALL),
        ExperimentConfig(algorithm="A2C", total_timesteps=64, **SMALL),
        ExperimentConfig(algorithm="DQN", total_timesteps=64, **SMALL),
        ExperimentConfig(algorithm="A2C", total_timesteps=32, **SMALL),
    ]
    assert (configs[0].algorithm, configs[1].total_timesteps) == ("PPO", 64)
    configs[0].trainer.hyperparams = small("PPO").hyperparams
    configs[2].trainer.hyperparams = small("DQN").hyperparams
    benchmark = MultiAlgorithmBenchmark(create_balatro_env)
    for config in configs:
        config.n_eval_episodes = 2
        benchmark.add_experiment(config)
    results = benchmark.run_all()
    best = benchmark.get_best_result()
    benchmark.print_summary()
    assert list(results) == ["PPO", "A2C", "DQN", "A2C-2"]
    assert isinstance(best, ExperimentResult)
    assert best.mean_return == max(result.mean_return for result in results.values())
    said = capsys.readouterr().out
    assert f"Best: {best.name}" in said
    lines = [line.split()[0] for line in said.splitlines()[1:7]]
    assert lines == ["algorithm", "return", "ante", "wins", "steps", "minutes"]
    assert f"No difference beyond noise between {best.name} and " in " ".join(said.split()), (
        "two games tell nothing apart"
    )


def test_a_difference_beyond_noise_is_no_tie() -> None:
    far, near = ExperimentResult("a", "PPO", 8.0, 1.0, 100, 1, 0.0), ExperimentResult("b", "PPO", 7.0, 1.0, 100, 1, 0.0)
    assert far.beats(near)
    assert not near.beats(far)
    assert not far.beats(dataclasses.replace(far, mean_return=7.9))


def test_an_experiment_says_everything_once() -> None:
    assert ExperimentConfig("PPO", TrainerConfig(total_timesteps=5)).total_timesteps == 5
    with pytest.raises(UsageError, match="Both a TrainerConfig and total_timesteps"):
        ExperimentConfig("PPO", TrainerConfig(), total_timesteps=100_000)
    with pytest.raises(UnknownNameError, match=r"total_timestep.*Did you mean 'total_timesteps'"):
        ExperimentConfig(algorithm="PPO", total_timestep=100_000)


def test_pattern_3_custom_hyperparameters() -> None:
    hyperparams = HyperparameterConfig(
        learning_rate=1e-3,
        gamma=0.995,
        policy_net_arch=[512, 512],
        algorithm_specific={"n_steps": 4096, "batch_size": 128},
    )
    config = TrainerConfig(algorithm="PPO", hyperparams=hyperparams, total_timesteps=1_000_000)
    settings = resolve({"game": "balatro"}, to_settings(config)).settings
    assert (settings.ppo.lr, settings.gamma, settings.network.policy_layers) == (1e-3, 0.995, [512, 512])
    assert (settings.num_steps, settings.minibatch_size) == (4096, 128)


def test_pattern_4_curriculum() -> None:
    curriculum = {"initial_max_ante": 2, "ante_increment": 1, "success_threshold": 0.8}
    env = wrap_balatro_env(create_balatro_env(seed=42), use_curriculum=True, curriculum_config=curriculum)
    assert isinstance(env, CurriculumWrapper)
    assert env.reset()[1]["max_ante"] == 2


def test_figures_of_episodes_are_kept_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = BalatroMetrics()
    metrics.add_episode(reward=100, ante=5, score=50000, length=500)
    print(metrics.get_summary())
    assert "mean_reward" in capsys.readouterr().out
    metrics_dict = {"reward": [1.0, 2.0, 4.0], "loss": [3, 2]}
    plot_training_curves(metrics_dict, save_path="plot.png")
    assert Path("plot.png").read_bytes().startswith(b"\x89PNG")
    assert compute_moving_average([1, 3], 2).tolist() == [1, 2]
    print_comparison_table({"PPO": {"reward": 1.0}, "DQN": {"reward": 2.0}})
    assert "DQN" in capsys.readouterr().out


def test_environments_of_one_and_of_many_games() -> None:
    env = create_balatro_env(seed=42)
    vec_env = make_vectorized_env(create_balatro_env, n_envs=8)
    assert (env.observation_space.shape, vec_env.num_envs) == (vec_env.single_observation_space.shape, 8)
    vec_env.close()
    first, second = (make_vectorized_env(lambda: create_balatro_env(seed=42), 2) for _ in range(2))
    seen = [envs.reset()[0] for envs in (first, second)]
    np.testing.assert_array_equal(*seen)
    assert (seen[0][0] != seen[0][1]).any()


def test_an_environment_is_checked_aloud(capsys: pytest.CaptureFixture[str]) -> None:
    assert validate_environment(create_balatro_env(seed=42)) == []
    assert capsys.readouterr().out.strip()
    assert setup_logging("INFO").name == "jimbot"


def test_wrappers_stack_and_own_ones_are_written_as_ever() -> None:
    class MyWrapper(EnvironmentWrapper):
        def reset(self, **kwargs: Any) -> Any:
            obs, info = self.env.reset(**kwargs)
            return obs, info | {"mine": 1}

        def step(self, action: Any) -> Any:
            obs, reward, terminated, truncated, info = self.env.step(action)
            return obs, reward, terminated, truncated, info | {"mine": 2}

    env = MyWrapper(CurriculumWrapper(BalatroGymWrapper(create_balatro_env(seed=42))))
    assert env.reset()[1]["mine"] == 1
    assert env.step(int(env.action_masks().argmax()))[4]["mine"] == 2
    assert ActionMaskWrapper(RewardScalingWrapper(create_balatro_env(), scale=0.1)).reset()[0]["action_mask"].any()


def test_callbacks_of_sb3_work_on_its_learner_and_are_pointed_to_it_elsewhere() -> None:
    from stable_baselines3.common.callbacks import BaseCallback

    class Counter(BaseCallback):
        calls = 0

        def _on_step(self) -> bool:
            self.calls += 1
            return True

    trainer = create_trainer("probe", small("PPO"))
    with pytest.raises(UsageError, match=r"callback is a Counter.*taken by learner sb3"):
        trainer.train(callback=Counter())
    trainer.close()
    trainer, counter = create_trainer("probe", small("PPO", learner="sb3")), Counter()
    trainer.train(callback=counter)
    trainer.close()
    assert counter.calls == 128 // 2


@pytest.mark.parametrize("algorithm", ["PPO", "A2C", "DQN"])
def test_the_trainer_of_sb3_is_made_from_an_environment_and_a_config(algorithm: str) -> None:
    env, config = GameEnv("probe"), small(algorithm)
    trainer = SB3Trainer(env, config)
    result = trainer.train()
    trainer.close()
    assert type(trainer) is SB3Trainer
    assert result.step >= 128


def test_its_debug_lines_are_pythons_own(caplog: pytest.LogCaptureFixture) -> None:
    trainer = create_trainer("probe", small("A2C", learner="sb3"))
    with caplog.at_level(logging.DEBUG, "jimbot"):
        trainer.train()
    trainer.close()
    assert "update 1: collected up to step" in caplog.text
    assert "update 13 is done, step 130" in caplog.text


def test_an_unknown_algorithm_lists_the_known() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown algorithm 'Sarsa'. Known: A2C.*DQN.*PPO"):
        create_trainer("probe", TrainerConfig(algorithm="Sarsa"))


def test_every_module_and_class_has_words_for_help() -> None:
    from jimbot.training import experiment, framework, metrics, sb3_trainer, utils

    for thing in (
        framework.TrainerConfig,
        sb3_trainer.SB3Trainer,
        experiment.MultiAlgorithmBenchmark,
        metrics.BalatroMetrics,
        utils.create_balatro_env,
    ):
        assert thing.__doc__
