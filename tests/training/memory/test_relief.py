"""The memory limit: warned of, kept to step by step with real allocations, remembered by the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.errors import TrainingError
from jimbot.runs.checkpoint import load_checkpoint
from jimbot.training.framework import create_trainer
from jimbot.training.memory import PARTS, STEPS, MemoryBudget, MemoryLimit, tree_bytes
from tests.training.small import SMALL

MEGABYTE = 10**6


class TestKeeper:
    """Warning, order, patience."""

    def limit(self, used: list[int], **settings: Any) -> MemoryLimit:
        limit = MemoryLimit(MemoryBudget(1.0), measure=lambda: used[0] * MEGABYTE, **settings)
        limit.look_seconds = limit.settle_looks = limit.restart_seconds = 0
        return limit

    def test_from_80_percent_on_it_warns_once_and_has_a_metric(self) -> None:
        used = [790]
        limit = self.limit(used)
        assert limit.look(lambda name: None) == []
        used[0] = 810
        (said,) = limit.look(lambda name: None)
        assert "0.81 of 1 GB (81%)" in said
        assert limit.look(lambda name: None) == []
        assert limit.metrics()["health/memory_warning"] == 1
        used[0] = 500
        limit.look(lambda name: None)
        assert limit.metrics()["health/memory_warning"] == 0
        assert limit.metrics()["health/memory_share"] == 0.5

    def test_steps_are_taken_in_order_each_until_it_gives_no_more(self) -> None:
        left = {"smaller_replay": 2, "smaller_batches": 1, "fewer_games": 0, "restart": 1}

        def relieve(name: str) -> str | None:
            left[name] -= 1
            return name if left[name] >= 0 else None

        limit = self.limit([950])
        for _ in range(4):
            limit.look(relieve)
        assert limit.taken == ["smaller_replay", "smaller_replay", "smaller_batches", "restart"]
        (said,) = limit.look(relieve)
        assert "nothing more can be given back" in said
        assert limit.look(relieve) == [], "once is enough"

    def test_a_process_is_not_restarted_before_that_can_help(self) -> None:
        limit = self.limit([950])
        limit.restart_seconds = 3600
        only_restarts = {"restart": "restarted"}
        limit.look(only_restarts.get)
        assert limit.taken == []
        limit.restart_seconds = 0
        limit.look(only_restarts.get)
        assert limit.taken == ["restart"]

    def test_a_step_gets_time_to_show(self) -> None:
        limit = self.limit([950])
        limit.settle_looks = 2
        for _ in range(4):
            limit.look(lambda name: name)
        assert len(limit.taken) == 2

    def test_endless_restarts_without_progress_are_an_error(self, tmp_path: Path) -> None:
        for _ in range(3):
            self.limit([1], folder=tmp_path).count_restart(100)
        with pytest.raises(TrainingError, match=r"memory_limit_gb 1 is too small .* step 100"):
            self.limit([1], folder=tmp_path).count_restart(100)
        self.limit([1], folder=tmp_path).count_restart(200)

    def test_the_limit_is_split_and_scaled(self) -> None:
        assert sum(PARTS.values()) == pytest.approx(1)
        eight = {name: MemoryBudget(8).part(name) / 1e9 for name in PARTS}
        assert eight == {"object_store": 2.5, "workers": 3.5, "checkpoints": 1.0, "buffer": 1.0}
        assert MemoryBudget(4).part("buffer") == 500 * MEGABYTE
        assert MemoryBudget(8).replay == 2000 * MEGABYTE < MemoryBudget(8).part("workers")

    def test_memory_of_children_counts(self) -> None:
        import subprocess
        import sys

        before = tree_bytes()
        code = "import sys; data = bytearray(b'x') * 60_000_000; print(len(data), flush=True); sys.stdin.read()"
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        assert tree_bytes() - before > 50 * MEGABYTE
        child.communicate()


LEARNERS: dict[str, dict[str, Any]] = {
    "jax": {"learner": "jax", "algorithm": "PPO"},
    "PPO": {"learner": "sb3", "algorithm": "PPO", "network": "mlp"},
    "ray": {"learner": "ray", "algorithm": "PPO", "network": "mlp", "num_env_runners": 1},
    "DQN": {
        "learner": "sb3", "algorithm": "DQN", "network": "mlp", "num_steps": 1, "num_minibatches": 1,
        "learning_starts": 64, "buffer_size": 100_000, "train_freq": 16,
    },
}  # fmt: skip
EXPECTED = {
    "jax": ["smaller_batches"] * 4 + ["fewer_games"],
    "PPO": ["smaller_batches"] * 4 + ["fewer_games"],
    "ray": ["smaller_batches"] * 4 + ["fewer_games"],
    "DQN": ["smaller_replay"] * 2 + ["smaller_batches"] * 4 + ["fewer_games"],
}


@pytest.mark.parametrize(
    "learner", [*(pytest.param(name, marks=pytest.mark.long) for name in ("jax", "ray")), "PPO", "DQN"]
)
def test_a_run_that_outgrows_its_limit_takes_every_step_and_goes_on_with_fewer_games(
    learner: str, tmp_path: Path
) -> None:
    if learner != "jax":
        pytest.importorskip("ray" if learner == "ray" else "torch")
    config = {**SMALL, "total_timesteps": 10**6, "log_interval": 1, **LEARNERS[learner]}
    trainer = create_trainer("probe", config, root=tmp_path)
    memory = trainer.session.memory
    memory.look_seconds = memory.settle_looks = 0
    ballast: list[np.ndarray] = []

    def fill(step: int, metrics: dict[str, float]) -> None:
        if not ballast:  # real memory, up to what the limit does not allow
            memory.budget = MemoryBudget((tree_bytes() + 300 * MEGABYTE) / 1e9)
            while tree_bytes() < 0.95 * memory.budget.limit:
                ballast.append(np.ones(5 * MEGABYTE))

    trainer.train(callback=fill)
    assert memory.taken == EXPECTED[learner]
    assert [name for name in STEPS if name in memory.taken] == list(dict.fromkeys(memory.taken)), "in the order told"
    step = trainer.step
    trainer.close()
    ballast.clear()
    stored = json.loads((trainer.session.run.path / "memory.json").read_text())
    assert stored["changes"]["num_envs"] == SMALL["num_envs"] // 2
    events = trainer.session.run.events_path.read_text()
    assert "memory is at" in events

    again = create_trainer("probe", config, root=tmp_path, resume=True)
    assert again.step == step
    assert again.settings.num_envs == SMALL["num_envs"] // 2
    assert again.settings.memory.gradient_accumulation == 16
    assert again.settings.batch_size == trainer.settings.batch_size, "the batch stays what it was"
    rows: list[dict[str, float]] = []
    again.train(step + 4 * config["num_envs"] * config["num_steps"], callback=lambda _, row: rows.append(row))
    assert again.step > step
    assert rows[-1]["health/illegal_actions"] == 0
    latest = again.session.store.latest()
    assert latest is not None
    assert load_checkpoint(latest).manifest.step == again.step
    again.close()


@pytest.mark.long
def test_the_command_restarts_itself_under_a_tight_limit_and_finishes(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    command = [
        sys.executable, "-m", "jimbot", "train", "probe", "--memory-limit-gb=0.3", "--num-envs=6",
        "--num-steps=64", "--num-minibatches=4", "--gradient-pieces=16", "--total-timesteps=200000", "--eval-games=0",
        "--run=tight", "--fresh", "--json",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)["step"] >= 200_000
    stored = json.loads((tmp_path / "runs/tight/memory.json").read_text())
    assert stored["restarts"] == 1
    assert stored["changes"] == {"num_envs": 3, "num_steps": 128}
    events = (tmp_path / "runs/tight/events.log").read_text()
    assert "3 games instead of 6" in events
    assert "continued from a checkpoint" in events
