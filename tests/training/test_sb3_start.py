"""The SB3 learner starts from another run's policy, keeps to it at first as asked, and leaves no stray files."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jimbot.errors import CheckpointError, SettingsError  # noqa: E402
from jimbot.policies.networks import part_of  # noqa: E402
from jimbot.training.framework import create_trainer  # noqa: E402
from tests.training.small import SMALL  # noqa: E402
from tests.training.test_sb3 import OWN, made  # noqa: E402

ONCE = {"PPO": 1024, "A2C": 320, "DQN": 64}  # steps per update


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A checkpoint of each algorithm after some updates."""
    found = {}
    for algorithm in OWN:
        trainer = made(algorithm, tmp_path_factory.mktemp(algorithm))
        trainer.train({"PPO": 2048, "A2C": 640, "DQN": 1280}[algorithm])
        latest = trainer.session.store.latest()
        assert latest is not None
        found[algorithm] = latest
        trainer.close()
    return found


def moved(trainer: Any, before: dict[str, np.ndarray]) -> set[str]:
    """The parts of the network that are not what they were."""
    now = trainer.network.arrays()
    return {part_of(name) for name in before if not np.array_equal(now[name], before[name])}


@pytest.mark.parametrize(("algorithm", "source"), [("PPO", "PPO"), ("A2C", "PPO"), ("DQN", "DQN")])
def test_parameters_and_statistics_are_taken_over_and_all_else_is_fresh(
    algorithm: str, source: str, starts: dict[str, Path], tmp_path: Path
) -> None:
    first = made(source, tmp_path / "first")
    first.load_model(starts[source])
    trainer = made(algorithm, tmp_path / "second", init_from=str(starts[source]))
    for name, value in first.network.arrays().items():
        np.testing.assert_array_equal(trainer.network.arrays()[name], value, err_msg=name)
    assert trainer.step == 0
    assert trainer.games.observed.count == first.games.observed.count > 0
    if algorithm == "DQN":
        target: Any = trainer.model.policy.q_net_target
        np.testing.assert_array_equal(target.arrays()["policy.weight"], first.network.arrays()["policy.weight"])
    first.close()
    trainer.close()


def test_a_policy_of_the_jax_learner_is_a_start_too(tmp_path: Path) -> None:
    shared = {name: SMALL[name] for name in ("num_envs", "num_steps", "num_minibatches", "update_epochs")}
    ours: Any = create_trainer("probe", {**SMALL, "network": "mlp"}, root=tmp_path / "jax")
    path = ours.save_model()
    ours.close()
    changes = {**shared, "normalize_obs": False, "init_from": str(path)}
    theirs = made("PPO", tmp_path / "sb3", **changes)
    np.testing.assert_array_equal(theirs.network.arrays()["policy.weight"], ours._params()["policy.weight"])
    theirs.close()


@pytest.mark.parametrize("algorithm", OWN)
def test_a_frozen_trunk_stays_bit_for_bit_until_it_may_learn(
    algorithm: str, starts: dict[str, Path], tmp_path: Path
) -> None:
    waits = 4
    trainer = made(
        algorithm, tmp_path, init_from=str(starts[algorithm]), freeze_trunk_updates=waits, learning_starts=128
    )
    before = trainer.network.arrays()
    trainer.train(waits * ONCE[algorithm])
    assert moved(trainer, before) - {"value"} == {"policy"}
    trainer.train(2 * waits * ONCE[algorithm])
    assert "trunk" in moved(trainer, before)
    trainer.close()


def test_the_policy_waits_while_the_value_learns(starts: dict[str, Path], tmp_path: Path) -> None:
    trainer = made("PPO", tmp_path, init_from=str(starts["PPO"]), value_warmup_updates=2)
    before = trainer.network.arrays()
    trainer.train(2 * ONCE["PPO"])
    assert moved(trainer, before) == {"value"}
    trainer.close()


@pytest.mark.parametrize("algorithm", ["PPO", "A2C"])
def test_the_pull_keeps_near_decays_and_is_resumed_exactly_without_the_first_checkpoint(
    algorithm: str, starts: dict[str, Path], tmp_path: Path
) -> None:
    start = tmp_path / "start"
    shutil.copytree(starts[algorithm], start)
    once = ONCE[algorithm]
    asked: dict[str, Any] = {"init_from": str(start), "init_kl": 5.0, "init_kl_updates": 4, "log_interval": 1}
    rows: list[float] = []
    straight = made(algorithm, tmp_path / "straight", **asked)
    straight.train(6 * once, callback=lambda step, metrics: rows.append(metrics["train/init_kl"]))
    assert all(value > 0 for value in rows[1:4])
    assert rows[4:] == [0.0, 0.0]
    parts = made(algorithm, tmp_path / "parts", **asked)
    parts.train(6 * once, callback=lambda step, metrics: step < 2 * once)
    parts.close()
    shutil.rmtree(start)
    again = made(algorithm, tmp_path / "parts", **asked)
    assert again.step == 2 * once
    again.train(6 * once)
    expected, found = (
        straight.learning_state() | straight.network.arrays(),
        again.learning_state() | again.network.arrays(),
    )
    straight.close()
    again.close()
    assert any(name.startswith("reference/") for name in expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_what_makes_no_sense_for_an_algorithm_is_one_sentence(starts: dict[str, Path], tmp_path: Path) -> None:
    for name, value in (("init_kl", 0.5), ("value_warmup_updates", 3)):
        with pytest.raises(SettingsError, match=rf"{name} is {value}, but DQN learns values of actions"):
            made("DQN", tmp_path / name, init_from=str(starts["DQN"]), **{name: value})
    with pytest.raises(CheckpointError, match=r"are a policy's \(PPO, A2C\); this run learns values of actions"):
        made("DQN", tmp_path / "dqn", init_from=str(starts["PPO"]))
    with pytest.raises(CheckpointError, match=r"are values of actions \(DQN\); this run learns a policy's"):
        made("PPO", tmp_path / "ppo", init_from=str(starts["DQN"]))


def test_nothing_is_left_in_the_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    for algorithm in ("PPO", "DQN"):
        trainer = made(algorithm, tmp_path / algorithm)
        trainer.train(ONCE[algorithm])
        trainer.close()
    assert list(scratch.iterdir()) == []
