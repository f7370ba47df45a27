"""A batch that grows with the noise of its gradients: when, by how much, and over a restart."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry
from jimbot.training.framework import create_trainer, learner_class
from jimbot.training.jax_ppo.extensions import batch_growth as growth
from jimbot.training.jax_ppo.extensions.batch_growth import BatchGrowth
from jimbot.training.jax_ppo.ppo import NOISE, SIGNAL
from jimbot.training.jax_ppo.trainer import JaxPPOTrainer
from tests.training.small import SMALL, small_settings

BATCH = 16 * 32


def measured(signal: float, noise: float, updates: int = 40, most: int = 1) -> BatchGrowth:
    found = BatchGrowth(small_settings(batch=f"growing:{most}" if most > 1 else "fitted"), game_entry("probe").spec)
    for _ in range(updates):
        found.measure({SIGNAL: signal, NOISE: noise})
    return found


@pytest.mark.parametrize(
    ("signal", "noise", "update", "most", "due"),
    [
        (1.0, 3 * BATCH, 40, 2, True),  # less than half the noise scale
        (1.0, 1.5 * BATCH, 40, 2, False),
        (-0.1, 3 * BATCH, 40, 2, True),  # nothing but noise
        (0.0, 0.0, 40, 2, False),  # nothing was measured: there is one minibatch only
        (1.0, 3 * BATCH, growth.PATIENCE - 1, 2, False),
        (1.0, 3 * BATCH, 40, 1, False),
        (1.0, 3 * BATCH, 40, 3, True),
    ],
)
def test_a_batch_grows_where_it_is_small_beside_the_noise(
    signal: float, noise: float, update: int, most: int, due: bool
) -> None:
    assert measured(signal, noise, most=most).due(BATCH, update) is due


def test_the_noise_scale_is_that_of_the_last_updates() -> None:
    found = measured(1.0, 100.0)
    assert found.noise_scale == pytest.approx(100)
    for _ in range(100):
        found.measure({SIGNAL: 1.0, NOISE: 5000.0})
    assert found.noise_scale == pytest.approx(5000, rel=0.02)
    assert found.metrics()["train/gradient_noise_scale"] == found.noise_scale
    assert "train/gradient_noise_scale" not in measured(-1.0, 100.0).metrics()


def test_a_grown_batch_has_the_minibatches_and_pieces_it_had() -> None:
    settings = small_settings(gradient_accumulation=2)
    part = measured(1.0, 1.0)
    part.factor = 4
    large = part.resize(settings)
    assert large.batch_size == 4 * settings.batch_size
    assert large.gradient_steps == settings.gradient_steps
    pieces = (large, settings)
    assert len({one.minibatch_size // one.memory.gradient_accumulation for one in pieces}) == 1


def test_what_a_checkpoint_knows_of_it_comes_back() -> None:
    known, again, older = (measured(0.25, 7.5) for _ in range(3))
    known.factor, known.grown_at = 4, 33
    again.restore(known.arrays(None), 99)
    assert (again.arrays(None), again.grown_at) == (known.arrays(None), 33)
    older.restore({}, 3)  # a checkpoint from before there was any growth
    assert (older.factor, older.grown_at, older.noise) == (1, 3, 0.0)


def test_a_run_that_grows_is_the_same_over_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It grows after its second and its fourth update: 2 × 512, 2 × 1,024 and then 2,048 steps at a time."""
    monkeypatch.setattr(growth, "PATIENCE", 2)
    monkeypatch.setattr(growth, "ENOUGH", 1e9)
    whole = 2 * BATCH + 2 * 2 * BATCH + 4 * BATCH

    def trained(name: str, *ends: int) -> dict[str, np.ndarray]:
        for end in ends:
            values = SMALL | {"batch": "growing:4", "log_interval": 1, "run_name": name}
            trainer = create_trainer("probe", values, root=tmp_path, resume=True)
            assert isinstance(trainer, JaxPPOTrainer)
            trainer.train(end)
            assert trainer.step == end
            found = trainer._params()
            trainer.close()
        return found

    straight = trained("straight", whole)
    for name, value in trained("stopped", 2 * BATCH, 4 * BATCH, whole).items():
        np.testing.assert_array_equal(value, straight[name])
    rows = [json.loads(line) for line in (tmp_path / "straight/metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "train/loss" in row] == [BATCH * steps for steps in (1, 2, 4, 6, 10)]
    assert [row["train/batch_growth"] for row in rows if "train/loss" in row] == [1, 2, 2, 4, 4]


def test_a_batch_stays_small_while_a_teacher_is_listened_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "PATIENCE", 1)
    monkeypatch.setattr(growth, "ENOUGH", 1e9)
    values = SMALL | {
        "batch": "growing:2",
        "log_interval": 1,
        "run_name": "taught",
        "teacher": "random",
        "teacher_updates": 3,
    }
    trainer = create_trainer("probe", values, root=tmp_path)
    trainer.train(5 * BATCH)
    trainer.close()
    rows = [json.loads(line) for line in (tmp_path / "taught/metrics.jsonl").read_text().splitlines()]
    assert [row["train/batch_growth"] for row in rows if "train/loss" in row] == [1, 1, 2, 2]


def test_other_learners_refuse_what_only_this_one_does() -> None:
    for name, value in (("batch", "growing:4"), ("forced_every", 8), ("ent_blocks", {"move": 0.5})):
        with pytest.raises(SettingsError, match=f"{name} is .*, which only learner jax does"):
            learner_class(small_settings(learner="sb3", **{name: value}))
