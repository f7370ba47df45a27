"""Learner ray as a user meets it. Ray is started once for this file; only PPO and DQN here, the rest is long."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray")

from ray.rllib.algorithms.ppo import PPOConfig

from jimbot.errors import CheckpointError, SettingsError, TrainingError, UsageError
from jimbot.games.contract import make
from jimbot.policies.portable import load_policy
from jimbot.runs.checkpoint import load_checkpoint
from jimbot.training.framework import create_trainer
from jimbot.training.ray.callbacks import JIMBOT, BalatroCallbacks
from jimbot.training.ray.games import ENVIRONMENT
from jimbot.training.ray.modules import module_spec
from jimbot.training.ray.trainer import RayTrainer

PPO: dict[str, Any] = {
    "learner": "ray",
    "num_envs": 16,
    "num_steps": 32,
    "num_minibatches": 4,
    "hidden_dim": 32,
    "lr": 5e-3,
    "ent_coef": 0.005,
    "log_interval": 1,
    "num_env_runners": 2,
}
DQN = {
    **PPO,
    "algorithm": "DQN",
    "num_steps": 8,
    "num_minibatches": 1,
    "buffer_size": 20_000,
    "learning_starts": 512,
    "replay_batch_size": 64,
    "train_freq": 8,
    "target_update_interval": 500,
    "lr": 3e-3,
    "n_step": 2,
    **dict.fromkeys(("prioritized_replay", "double_q", "duelling"), True),
    "gamma": 0.5,
}


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Any]:
    """train(**settings) → (trainer, log rows); trainers are closed at the end."""
    trainers: list[RayTrainer] = []

    def train(fresh: bool = True, callback: Any = None, **settings: Any) -> tuple[RayTrainer, list[dict[str, float]]]:
        for old in trainers:
            old.close()
        trainers.clear()
        trainer = create_trainer("probe", settings, root=tmp_path, fresh=fresh, resume=True)
        assert isinstance(trainer, RayTrainer)
        trainers.append(trainer)
        found: list[dict[str, float]] = []

        def keep(step: int, metrics: dict[str, float]) -> bool | None:
            found.append({"step": step, **metrics})
            return callback(step, metrics) if callback else None

        trainer.train(callback=keep)
        return trainer, found

    yield train
    for trainer in trainers:
        trainer.close()


def runner_pids(trainer: RayTrainer) -> list[int]:
    return trainer.algorithm.env_runner_group.foreach_env_runner(lambda runner: os.getpid(), local_env_runner=False)


@pytest.mark.usefixtures("cluster")
def test_ppo_learns_survives_lost_runners_and_goes_on_where_it_stopped(rows: Any) -> None:
    batch = PPO["num_envs"] * PPO["num_steps"]
    killed: list[int] = []

    def kill_one(step: int, metrics: dict[str, float]) -> None:
        if len(killed) == 0 and step >= 4 * batch:
            killed.append(runner_pids(trainer_of["trainer"])[0])
            os.kill(killed[0], signal.SIGKILL)

    trainer_of: dict[str, RayTrainer] = {}
    original = RayTrainer.create_model

    def remember(self: RayTrainer, start: int = 0) -> None:
        trainer_of["trainer"] = self
        original(self, start)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RayTrainer, "create_model", remember)
        trainer, found = rows(**PPO, total_timesteps=16 * batch, callback=kill_one)
    assert killed
    assert killed[0] not in runner_pids(trainer), "a runner that died has a successor"
    assert found[-1]["health/runner_restarts"] == 1
    assert 0 < found[-1]["health/lost_steps"] <= batch
    assert all(np.isfinite(row["train/loss"]) for row in found)
    steps = [row["step"] for row in found]
    assert steps == sorted(set(steps)), "steps grow with every row"
    assert found[-1]["health/illegal_actions"] == 0
    assert {"train/entropy", "train/approx_kl", "train/explained_variance", "train/mean_episode_return",
            "speed/steps_per_second", "stats/matches", "reward/match"} <= set(found[-1])  # fmt: skip
    first, last = found[0]["train/mean_episode_return"], found[-1]["train/mean_episode_return"]
    assert last > first + 2, f"it learned: {first:.2f} → {last:.2f}"

    mean, _ = trainer.evaluate(50)
    path = trainer.session.store.latest()
    _, manifest = load_policy(str(path), "probe")
    assert (manifest.learner, manifest.algorithm, manifest.step) == ("ray", "PPO", trainer.step)
    assert mean > 4
    before = load_checkpoint(path).params()
    optimiser = trainer.algorithm.learner_group.get_state()["learner"]["optimizer"]

    step, updates = trainer.step, trainer.updates
    trainer.close()
    longer = {**PPO, "total_timesteps": 18 * batch}
    again = create_trainer("probe", longer, root=trainer.session.run.root, resume=True)
    assert isinstance(again, RayTrainer)
    assert (again.step, again.updates) == (step, updates)
    for name, value in again._params().items():
        np.testing.assert_array_equal(value, before[name])
    restored = again.algorithm.learner_group.get_state()["learner"]["optimizer"]
    for theirs, ours in zip(_arrays(optimiser), _arrays(restored), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    again.train()
    assert again.step >= 18 * batch
    assert again.updates > updates
    again.close()
    with pytest.raises(CheckpointError, match="learner"):
        create_trainer(
            "probe",
            {"learner": "sb3", "resume": str(path), "num_steps": 8, "num_envs": 4, "num_minibatches": 1},
            root=trainer.session.run.root / "other",
        )


def _arrays(tree: Any) -> list[np.ndarray]:
    """The moments of an optimiser, in order."""
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree, key=str) for leaf in _arrays(tree[key])]
    if isinstance(tree, list | tuple):
        return [leaf for part in tree for leaf in _arrays(part)]
    return [np.asarray(tree)] if np.ndim(tree) else []


@pytest.mark.usefixtures("cluster")
@pytest.mark.long
def test_dqn_learns_from_prioritised_replay(rows: Any) -> None:
    trainer, found = rows(**{**DQN, "log_interval": 8}, total_timesteps=4096, exploration_fraction=0.5)
    learned = [row for row in found if "train/loss" in row]
    assert learned
    assert all(np.isfinite(row["train/loss"]) for row in learned)
    assert found[-1]["health/illegal_actions"] == 0
    mean, _ = trainer.evaluate(50)
    assert mean > 3, "random play reaches about 1"
    assert trainer.algorithm.config.double_q
    assert type(trainer.algorithm.local_replay_buffer).__name__ == "CompressedEpisodeReplay"


@pytest.mark.usefixtures("cluster")
def test_the_callbacks_serve_anybodys_own_configuration(tmp_path: Path) -> None:
    config = (
        PPOConfig()
        .environment(ENVIRONMENT, env_config={"game": "probe"})
        .env_runners(
            num_env_runners=1, num_envs_per_env_runner=8, gym_env_vectorize_mode="vector_entry_point",
            rollout_fragment_length=16,
        )
        .training(train_batch_size=128, minibatch_size=64, num_epochs=1)
        .rl_module(rl_module_spec=module_spec("probe", "mlp", hidden_dim=16))
        .callbacks(functools.partial(BalatroCallbacks, best_checkpoint=tmp_path / "best"))
    )  # fmt: skip
    algorithm = config.build_algo()
    try:
        result = algorithm.train()
    finally:
        algorithm.stop()
    figures = result["env_runners"][JIMBOT]
    assert figures["decisions"] == result["env_runners"]["num_env_steps_sampled"]
    assert figures["illegal"] == 0
    assert figures["episodes"] > 0
    assert figures["stats"]["matches"] == pytest.approx(figures["mean_episode_return"]), "means over episodes, not sums"
    assert np.isfinite(result["learners"]["default_policy"]["total_loss"])
    assert (tmp_path / "best" / "rllib_checkpoint.json").is_file()


def test_a_batch_of_ones_own_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="makes its games itself"):
        create_trainer(make("probe", 16), PPO, root=tmp_path)


def test_what_only_another_learner_does_is_refused() -> None:
    from jimbot.training.framework import learner_class
    from jimbot.training.settings.record import load_settings

    with pytest.raises(SettingsError, match="normalize_obs is True, which only learner sb3 does"):
        learner_class(load_settings(PPO, {"normalize_obs": True}))
    with pytest.raises(SettingsError, match="BC learns from recorded games"):
        learner_class(load_settings({"algorithm": "BC", "game": "probe", "num_steps": 64, "num_envs": 1}))


class Told:
    """Callbacks of somebody who knows RLlib's names and not its class; what it is told is in a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def note(self, name: str, value: Any) -> None:
        with self.file.open("a") as file:
            file.write(f"{name} {value}\n")

    def on_algorithm_init(self, *, algorithm: Any, **values: Any) -> None:
        self.note("init", algorithm.config.algo_class.__name__)

    def on_train_result(self, *, algorithm: Any, metrics_logger: Any, result: dict, **values: Any) -> None:
        self.note("result", result["training_iteration"])

    def on_evaluate_end(self, *, algorithm: Any, metrics_logger: Any, evaluation_metrics: dict, **values: Any) -> None:
        self.note("evaluation", evaluation_metrics["env_runners"]["episode_return_mean"])

    def on_checkpoint_loaded(self, *, algorithm: Any, **values: Any) -> None:
        self.note("loaded", "")

    def on_episode_end(self, *, episode: Any, env_runner: Any, **values: Any) -> None:
        self.note("episode", env_runner.worker_index)


class OwnResult(BalatroCallbacks):
    """As the pipeline's page has it: a subclass of ours."""

    def on_train_result(self, *, algorithm: Any, result: dict[str, Any], **values: Any) -> None:
        super().on_train_result(algorithm=algorithm, result=result, **values)
        algorithm.seen = result["env_runners"][JIMBOT]["decisions"]


class FailsInPlay(BalatroCallbacks):
    def on_episode_end(self, **values: Any) -> None:
        raise ZeroDivisionError("of a test")


@pytest.mark.usefixtures("cluster")
def test_own_callbacks_are_called_beside_ours(rows: Any, tmp_path: Path) -> None:
    batch, file = PPO["num_envs"] * PPO["num_steps"], tmp_path / "told.txt"
    own = {"callbacks": [Told(file), OwnResult], "eval_interval": batch}
    trainer, found = rows(**PPO, **own, total_timesteps=2 * batch)
    assert found[-1]["train/num_decisions"] == batch, "ours measure as before"
    assert trainer.algorithm.seen == batch
    told = [line.split(" ", 1) for line in file.read_text().splitlines()]
    assert [value for name, value in told if name == "init"] == ["PPO"]
    assert [value for name, value in told if name == "result"] == ["1", "2"]
    assert {value for name, value in told if name == "episode"} == {"1", "2"}, "both processes that play tell it"
    assert sum(name == "evaluation" for name, _ in told) == 2
    file.write_text("")
    rows(fresh=False, **PPO, **own, total_timesteps=3 * batch)
    again = [line.split(" ", 1)[0] for line in file.read_text().splitlines()]
    assert again.count("loaded") == again.count("result") == 1


@pytest.mark.usefixtures("cluster")
def test_a_callback_that_fails_where_games_are_played_ends_the_run_in_order(tmp_path: Path) -> None:
    trainer = create_trainer("probe", {**PPO, "callbacks": FailsInPlay}, root=tmp_path)
    with pytest.raises(TrainingError, match=r"on_episode_end of the callback .*:FailsInPlay failed: ZeroDivisionError"):
        trainer.train()
    latest = trainer.session.store.latest()
    trainer.close()
    assert latest is not None
    assert load_checkpoint(latest).manifest.step == trainer.step > 0
