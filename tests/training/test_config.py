"""TrainerConfig, the algorithms' defaults, RLlib-style files, and every kind of environment a trainer can be given."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.errors import SettingsError, UnknownNameError, UsageError
from jimbot.training import run as training_run
from jimbot.training.curriculum import DifficultySchedule
from jimbot.training.environments import understand
from jimbot.training.framework import HyperparameterConfig, TrainerConfig, create_trainer, get_default_config
from jimbot.training.settings.layers import resolve, resolve_settings
from jimbot.training.settings.record import load_settings, read_yaml
from jimbot.training.settings.trainer_config import to_settings

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
STOP = training_run.Outcome("run", 0, Path(), {}, None)
SMALL_PPO = {"n_steps": 32, "batch_size": 128, "n_epochs": 4}


def small_config(**changes: Any) -> TrainerConfig:
    """The config of a run of seconds; on the same shapes as the other learner tests."""
    config = get_default_config("PPO")
    config.n_envs = 16
    config.hyperparams.algorithm_specific = dict(SMALL_PPO)
    config.hyperparams.policy_net_arch = config.hyperparams.value_net_arch = [32]
    config.hyperparams.features_dim = 32
    for name, value in changes.items():
        setattr(config, name, value)
    return config


def test_the_fields_and_defaults_are_those_documented() -> None:
    assert dataclasses.asdict(TrainerConfig()) == {
        "algorithm": "PPO", "total_timesteps": 1_000_000, "seed": 42, "n_envs": 8, "use_feature_extractor": True,
        "feature_extractor_type": "balatro", "normalize_obs": True, "normalize_reward": True, "use_curriculum": False,
        "save_dir": "models", "checkpoint_freq": 10_000, "eval_freq": 5_000, "use_wandb": False,
        "wandb_project": "balatro-rl", "learner": "auto", "run_name": None,
        "hyperparams": {
            "learning_rate": 3e-4, "gamma": 0.99, "gae_lambda": 0.95, "entropy_coefficient": 0.01,
            "value_function_coefficient": 0.5, "max_grad_norm": 0.5, "policy_net_arch": [256, 256],
            "value_net_arch": [256, 256], "features_dim": 512, "algorithm_specific": {},
        },
    }  # fmt: skip


def test_the_algorithms_have_their_usual_defaults() -> None:
    ppo, a2c, dqn = (to_settings(get_default_config(name)) for name in ("PPO", "A2C", "DQN"))
    assert (ppo["lr"], ppo["num_steps"], ppo["update_epochs"], ppo["clip_eps"]) == (3e-4, 2048, 10, 0.2)
    assert ppo["num_minibatches"] == 8 * 2048 // 64
    assert (a2c["lr"], a2c["num_steps"], a2c["gae_lambda"], a2c["ent_coef"]) == (7e-4, 5, 1.0, 0.01)
    assert (dqn["lr"], dqn["buffer_size"], dqn["learning_starts"]) == (1e-4, 100_000, 10_000)
    assert (dqn["replay_batch_size"], dqn["train_freq"]) == (32, 4)
    for values in (ppo, a2c, dqn):
        load_settings(values)


def test_values_assigned_later_are_coerced_when_used() -> None:
    config = TrainerConfig()
    config.n_envs = "4"  # ty: ignore[invalid-assignment]
    config.hyperparams.learning_rate = "1e-3"  # ty: ignore[invalid-assignment]
    config.hyperparams.algorithm_specific["n_steps"] = "64"
    values = to_settings(config)
    assert (values["num_envs"], values["lr"], values["num_steps"]) == (4, 1e-3, 64)


def test_what_a_learner_has_defaults_of_its_own_for_is_passed_on_only_if_given() -> None:
    config = get_default_config("DQN")
    assert "double_q" not in to_settings(config)
    config.hyperparams.algorithm_specific |= {"double_q": True, "n_step": "3", "prioritized_replay": 1}
    values = to_settings(config)
    assert (values["double_q"], values["n_step"], values["prioritized_replay"]) == (True, 3, True)
    load_settings(values)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: setattr(c, "n_envs", 0), "TrainerConfig.n_envs is 0"),
        (lambda c: setattr(c, "total_timesteps", "many"), "TrainerConfig.total_timesteps is 'many'"),
        (lambda c: setattr(c.hyperparams, "gamma", 2), "TrainerConfig.hyperparams.gamma is 2"),
        (
            lambda c: setattr(c, "algorithm", "SAC"),
            "Unknown algorithm 'SAC'.*A2C, APPO, BC, DQN, ExIt, IMPALA, MARWIL",
        ),
        (lambda c: setattr(c, "n_env", 4), "Unknown field of TrainerConfig 'n_env'. Did you mean 'n_envs'"),
        (lambda c: setattr(c, "feature_extractor_type", "cnn"), "Unknown feature_extractor_type 'cnn'"),
        (lambda c: c.hyperparams.algorithm_specific.update(n_step=5), "Did you mean 'n_steps'"),
        (lambda c: c.hyperparams.algorithm_specific.update(n_steps="x"), "n_steps is 'x'; expected a number"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(change: Any, words: str) -> None:
    config = TrainerConfig()
    with pytest.raises((SettingsError, UnknownNameError), match=words):
        to_settings(_changed(config, change))


def _changed(config: TrainerConfig, change: Any) -> TrainerConfig:
    change(config)
    return config


def test_what_each_learner_makes_of_a_config() -> None:
    config = TrainerConfig(hyperparams=HyperparameterConfig(value_function_coefficient=0.5))
    jax = to_settings(config)
    assert (jax["reward_transform"], jax["normalize_obs"], jax["network"]) == ("normalize", True, "fields")
    sb3 = to_settings(dataclasses.replace(config, learner="sb3"))
    assert (sb3["reward_transform"], sb3["normalize_obs"]) == ("normalize", True)
    assert sb3["vf_coef"] == 1.0, "half the squared error, twice the weight"
    plain = dataclasses.replace(config, algorithm="MaskablePPO", use_feature_extractor=False, normalize_reward=False)
    values = to_settings(plain)
    assert (values["learner"], values["network"], values["reward_transform"]) == ("sb3", "towers", "none")


def test_a_config_trains_judges_and_continues_on_the_jax_learner(tmp_path: Path) -> None:
    config = small_config(save_dir=str(tmp_path / "models"), checkpoint_freq=5000, eval_freq=5120)
    config.hyperparams.learning_rate = 5e-3
    trainer = create_trainer("probe", config, root=tmp_path)
    trainer.train(20 * 512)
    assert trainer.evaluate(32)[0] > 7
    trainer.close()
    rows = [json.loads(row) for row in (tmp_path / "probe-jax-ppo/metrics.jsonl").read_text().splitlines()]
    assert "eval/mean_return" in rows[-1]
    assert list((tmp_path / "models/probe-jax-ppo").glob("0*"))
    again = create_trainer("probe", config, root=tmp_path, resume=True)
    assert again.step == 20 * 512
    again.close()


class TestEnvironments:
    """What `create_trainer` may be given."""

    def test_our_own_bare_environment_is_rebuilt_natively(self) -> None:
        import gymnasium

        from jimbot.envs import make_env

        for env in (make_env("probe", horizon=5), gymnasium.make("jimbot/Probe-v1", horizon=5)):
            meant = understand(env)
            assert (meant.settings, meant.game, meant.notice) == (
                {"game": "probe", "game_options": {"horizon": 5}},
                None,
                "",
            )

    def test_a_wrapper_is_stepped_as_it_is_with_a_notice(self) -> None:
        from jimbot.envs import make_env
        from jimbot.training.env_wrapper import RewardScalingWrapper

        meant = understand(RewardScalingWrapper(make_env("probe", horizon=5), scale=10.0))
        game = meant.game
        assert game is not None
        assert "stepped as it is" in meant.notice
        assert (meant.settings["game"], meant.settings["num_envs"]) == ("probe", 1)
        game.reset()
        for _ in range(5):
            assert game.legal_mask.sum() == 4
            best = np.flatnonzero(game.legal_mask[0])[game.observation[0, :4].argmax()]
            game.step(np.array([best]))
            assert game.reward[0] == 10
        assert game.terminated[0]
        assert game.final_stats[0, 0] == 5

    def test_a_foreign_environment_is_trained_and_judged_by_sb3(self, tmp_path: Path) -> None:
        pytest.importorskip("torch")
        import gymnasium

        config = get_default_config("A2C")
        config.save_dir = str(tmp_path / "models")
        trainer = create_trainer(gymnasium.make("CartPole-v1"), config, root=tmp_path)
        trainer.train(200)
        assert trainer.evaluate(3)[0] > 5
        trainer.close()

    def test_anything_else_is_one_sentence(self) -> None:
        with pytest.raises(UsageError, match="create_trainer got a int; expected a game id"):
            create_trainer(7)


class TestRLlibFiles:
    """`configs/` and `python -m jimbot.training.run`."""

    @pytest.mark.parametrize("learner", ["jax", "sb3", "ray"])
    @pytest.mark.parametrize(
        ("name", "own"),
        [
            ("default_ppo", (5e-5, 8, 125, 0.01, "BalatroNet", 128, "trainable")),
            ("experimental_ppo", (1e-4, 16, 250, 0.02, "auto", 0, "off")),
        ],
    )
    def test_every_file_means_the_same_on_every_learner(self, name: str, own: tuple, learner: str) -> None:
        settings = resolve_settings(CONFIGS / f"{name}.yaml", {"learner": learner})
        network = settings.network
        found = (settings.ppo.lr, settings.num_envs, settings.minibatch_size, settings.ppo.ent_coef)
        assert (*found, network.kind, network.memgraph_embedding_dim, network.graph_embeddings) == own
        assert (settings.game, settings.num_steps, settings.ray.num_gpus) == ("balatro", 500, 1)
        # What the files leave out.
        assert (settings.ppo.update_epochs, settings.ppo.clip_eps, settings.ppo.gae_lambda) == (30, 0.2, 0.95)
        assert (settings.gamma, settings.ppo.anneal_lr) == (0.99, False)
        assert settings.game_options == {"helpers": True}, "the game's preset lies below"

    def test_the_files_say_what_is_documented(self) -> None:
        default, experimental = (read_yaml(CONFIGS / f"{name}_ppo.yaml") for name in ("default", "experimental"))
        assert default == {
            "algorithm": "PPO", "env": "BalatroEnv", "framework": "torch", "num_workers": 2, "num_gpus": 1,
            "train_batch_size": 4000, "sgd_minibatch_size": 128, "lr": 5e-5,
            "model": {"custom_model": "BalatroNet", "custom_model_config": {"memgraph_embedding_dim": 128}},
        }  # fmt: skip
        assert experimental == {
            "algorithm": "PPO", "env": "BalatroEnv", "framework": "torch", "num_workers": 4, "num_gpus": 1,
            "train_batch_size": 8000, "sgd_minibatch_size": 256, "lr": 1e-4, "entropy_coeff": 0.02,
        }  # fmt: skip

    def test_what_a_file_says_in_our_names_is_not_left_out(self) -> None:
        values = {"env": "probe", "num_envs": 32, "num_steps": 64, "ppo": {"update_epochs": 3}, "ent_coef": 0.2}
        settings = resolve(values).settings
        assert (settings.num_envs, settings.num_steps) == (32, 64)
        assert (settings.ppo.update_epochs, settings.ppo.ent_coef) == (3, 0.2)
        assert settings.ppo.lr == 5e-5

    def test_without_env_nothing_is_filled_in(self) -> None:
        assert load_settings({"train_batch_size": 4096}).ppo.update_epochs == 4

    def test_without_arguments_balatro_is_trained_from_the_default_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)  # the file comes with the package
        started = []
        monkeypatch.setattr(training_run, "run_training", lambda settings, *_, **__: started.append(settings) or STOP)
        assert training_run.main([]) == 0
        assert started[0] == resolve_settings(CONFIGS / "default_ppo.yaml", {})
        assert training_run.main(["--set", "game=probe"]) == 0
        assert started[1] == resolve({"game": "probe"}).settings, "another game has its own preset"
        (tmp_path / "configs").mkdir()
        (tmp_path / "configs/default_ppo.yaml").write_text("env: BalatroEnv\nlr: 1e-3\n")
        assert training_run.main([]) == 0
        assert started[2].ppo.lr == 1e-3, "one's own file comes first"

    def test_a_batch_given_on_the_command_line_counts_the_games_of_the_file(self) -> None:
        settings = load_settings({"num_workers": 2, "num_envs_per_worker": 4}, {"train_batch_size": 4000})
        assert (settings.num_envs, settings.num_steps) == (8, 500)

    def test_a_schedule_of_difficulty_and_gpus_are_given_as_documented(self) -> None:
        config: dict[str, Any] = {"env": "BalatroEnv", "num_gpus": 2, "num_gpus_per_worker": 0.5, "learner": "ray"}
        config["env_config"] = {"difficulty_schedule": {0: "easy", 500000: "medium", 1000000: "hard"}}
        settings = resolve(config).settings
        assert settings.curriculum.difficulty_schedule == {0: "easy", 500_000: "medium", 1_000_000: "hard"}
        assert (settings.ray.num_gpus, settings.ray.num_gpus_per_env_runner) == (2, 0.5)

    def test_the_mapping_is_explained(self, capsys: pytest.CaptureFixture[str]) -> None:
        command = ["train", "balatro", "--config", str(CONFIGS / "default_ppo.yaml"), "--explain-config", "--json"]
        assert run(command) == 0
        lines = {line["given"]: line for line in json.loads(capsys.readouterr().out)}
        assert (lines["train_batch_size"]["ours"], lines["train_batch_size"]["becomes"]) == ("num_steps", 500)
        assert lines["model"]["becomes"] == "BalatroNet"
        assert lines["custom_model_config"]["becomes"] == 128
        assert lines["framework"]["ours"] == ""
        assert (lines["num_sgd_iter"]["becomes"], lines["num_sgd_iter"]["why"]) == (30, "left out: the default")

    def test_the_explanation_is_readable_at_80_columns(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        assert training_run.main(["--explain-config"]) == 0
        out, err = capsys.readouterr()
        assert max(map(len, out.splitlines())) <= 80
        for words in ("train_batch_size: 4000", "num_steps: 500", "batch ÷ games", "num_minibatches: 32"):
            assert words in out
        assert "learner jax learns on the one device that JAX finds" in " ".join(err.split())

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ({"batch_mode": "complete_episodes"}, "batch_mode is complete_episodes"),
            ({"framework": "tf"}, "framework is tf"),
            ({"model": 3}, "model is 3"),
            ({"train_batch_size": "x"}, "cannot be read"),
        ],
    )
    def test_what_cannot_be_mapped_is_one_sentence(self, values: dict, words: str) -> None:
        with pytest.raises(SettingsError, match=words):
            load_settings(values)

    def test_the_module_trains_and_reports_bad_use(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from tests.training.small import SMALL

        monkeypatch.chdir(tmp_path)
        sets = [f"--set={name}={value}" for name, value in SMALL.items()]
        assert training_run.main([*sets, "--experiment", "mine"]) == 0
        assert "Run mine is at step 3,072" in capsys.readouterr().out
        assert training_run.main(["--checkpoint", "nowhere", *sets]) == 2
        assert "nowhere" in capsys.readouterr().err


def test_a_schedule_must_begin_and_name_known_difficulties() -> None:
    with pytest.raises(SettingsError, match="add an entry for step 0"):
        DifficultySchedule({5: "easy"})
    with pytest.raises(UnknownNameError, match=r"Unknown difficulty 'heard'. Did you mean 'hard'"):
        DifficultySchedule({0: "heard"})


def test_a_schedule_survives_being_stored() -> None:
    one, other = (DifficultySchedule({0: "easy", 10: "medium"}) for _ in range(2))
    one.played(12)
    other.restore(one.snapshot())
    assert (other.steps, other.max_ante) == (12, 4)
