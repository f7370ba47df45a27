"""What takes long on Ray: the other algorithms, a node that is lost, and the settings files. One Ray for most of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray")

from jimbot.training.framework import create_trainer
from jimbot.training.ray import ray
from jimbot.training.ray.trainer import RayTrainer
from jimbot.training.settings.layers import resolve_settings
from tests.training.imitation.teachers import record_perfect

pytestmark = pytest.mark.long

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
SMALL: dict[str, Any] = {
    "learner": "ray",
    "num_envs": 16,
    "num_steps": 32,
    "num_minibatches": 1,
    "hidden_dim": 32,
    "lr": 3e-3,
    "ent_coef": 0.005,
    "max_grad_norm": 10.0,
    "log_interval": 1,
    "total_timesteps": 24 * 512,
}


def trained(game: str, root: Path, **settings: Any) -> tuple[RayTrainer, list[dict[str, float]]]:
    trainer = create_trainer(game, settings, root=root, resume=True)
    assert isinstance(trainer, RayTrainer)
    rows: list[dict[str, float]] = []
    trainer.train(callback=lambda step, metrics: rows.append({"step": step, **metrics}))
    return trainer, rows


def assert_learned(rows: list[dict[str, float]]) -> None:
    """A returning train() is no success: losses exist and are numbers, and steps grow."""
    assert rows
    losses = [row["train/loss"] for row in rows if "train/loss" in row]
    assert losses
    assert np.isfinite(losses).all()
    assert rows[-1]["step"] > rows[0]["step"] or len(rows) == 1
    assert rows[-1]["health/illegal_actions"] == 0


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("algorithm", ["APPO", "IMPALA"])
def test_asynchronous_algorithms_learn(algorithm: str, tmp_path: Path) -> None:
    trainer, rows = trained("probe", tmp_path, algorithm=algorithm, **SMALL)
    assert_learned(rows)
    mean, _ = trainer.evaluate(100)
    trainer.close()
    assert mean > 2.5, "random play reaches about 1"


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("algorithm", ["BC", "MARWIL"])
def test_recorded_games_are_learned_from(algorithm: str, tmp_path: Path) -> None:
    path, _ = record_perfect(tmp_path, games=256)
    settings = {**SMALL, "num_envs": 1, "num_steps": 512, "total_timesteps": 100 * 512}
    trainer, rows = trained("probe", tmp_path, algorithm=algorithm, offline_data=path, **settings)
    assert_learned(rows)
    mean, _ = trainer.evaluate(100)
    trainer.close()
    assert mean > 7, "the teacher plays without a mistake: 8"


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("name", ["default_ppo.yaml", "experimental_ppo.yaml"])
def test_the_settings_files_run_unchanged(name: str, tmp_path: Path) -> None:
    given = {"learner": "ray", "num_env_runners": 2, "total_timesteps": 4000, "run_name": "file"}
    settings = resolve_settings(CONFIGS / name, given)
    # Thirty passes over 4,000 samples are minutes on two cores; one shows that they would run.
    settings = settings.model_copy(update={"update_epochs": 1})
    trainer = create_trainer("balatro", settings, root=tmp_path)
    assert isinstance(trainer, RayTrainer)
    rows: list[dict[str, float]] = []
    trainer.train(callback=lambda step, metrics: rows.append({"step": step, **metrics}))
    if name.startswith("default"):
        assert trainer.description["kind"] == "BalatroNet"
        assert trainer._params()["table_joker_graph"].shape[1] == 128
    trainer.close()
    assert_learned(rows)
    assert rows[-1]["step"] >= 4000


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("game", ["hackmatrix", "balatro"])
def test_the_games_are_learned(game: str, tmp_path: Path) -> None:
    settings = {**SMALL, "num_steps": 64, "hidden_dim": 0, "total_timesteps": 2048}
    trainer, rows = trained(game, tmp_path, **settings)
    trainer.close()
    assert_learned(rows)
    assert any(name.startswith("stats/") for row in rows for name in row)


def test_a_lost_node_is_survived(tmp_path: Path) -> None:
    from ray.cluster_utils import Cluster as TwoNodes

    if ray.is_initialized():
        ray.shutdown()
    nodes = TwoNodes(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 * 2**20})
    try:
        second = nodes.add_node(num_cpus=1, object_store_memory=100 * 2**20)
        spare = nodes.add_node(num_cpus=1, object_store_memory=100 * 2**20)
        ray.init(address=nodes.address, log_to_driver=False)
        lost: list[int] = []

        def lose_one(step: int, metrics: dict[str, float]) -> None:
            if not lost and step >= 4 * 512:
                home = trainer.algorithm.env_runner_group.foreach_env_runner(
                    lambda runner: ray.get_runtime_context().get_node_id(), local_env_runner=False
                )
                victim = next(node for node in (second, spare) if node.node_id in home)
                lost.append(step)
                nodes.remove_node(victim, allow_graceful=False)

        trainer: Any = create_trainer("probe", {**SMALL, "num_minibatches": 4, "address": nodes.address}, root=tmp_path)
        assert isinstance(trainer, RayTrainer)
        rows: list[dict[str, float]] = []

        def keep(step: int, metrics: dict[str, float]) -> None:
            rows.append({"step": step, **metrics})
            lose_one(step, metrics)

        trainer.train(callback=keep)
        assert lost
        assert_learned(rows)
        assert rows[-1]["step"] >= SMALL["total_timesteps"], "training went on"
        assert rows[-1]["health/runner_restarts"] >= 1
        assert rows[-1]["health/lost_steps"] > 0
        trainer.close()
    finally:
        ray.shutdown()
        nodes.shutdown()


def test_ctrl_c_saves_and_the_same_command_goes_on(tmp_path: Path) -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "jimbot", "train", "probe", "--learner", "ray", "--num-envs", "16",
               "--num-steps", "32", "--hidden-dim", "32", "--eval-games", "0", "--total-timesteps", "1000000",
               "--no-wandb"]  # fmt: skip
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("step "):
            break
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    assert process.wait(timeout=120) == 0, said
    assert "Training stopped: stopped by Ctrl+C" in said
    first = sorted((tmp_path / "runs/probe-ray-ppo/checkpoints").glob("0*"))[-1]
    again = subprocess.run(
        [*command[:-3], "--total-timesteps", str(int(first.name) + 512), "--no-wandb"],
        cwd=tmp_path, capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert f"Continuing from {first.relative_to(tmp_path)}" in " ".join(again.stderr.split())
