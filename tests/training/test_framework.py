"""Training from Python, tuning to the machine, and learners of one's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.policies.portable import OnnxPolicy
from jimbot.runs.checkpoint import load_checkpoint
from jimbot.training.framework import available_learners, create_trainer, learner_class, register_learner
from jimbot.training.jax_ppo.autotune import tune
from jimbot.training.jax_ppo.trainer import JaxPPOTrainer
from tests.training.small import SMALL, small_settings

UPDATE = SMALL["num_envs"] * SMALL["num_steps"]


def test_a_trainer_made_in_python_learns_judges_saves_and_loads(tmp_path: Path) -> None:
    trainer = create_trainer("probe", SMALL, root=tmp_path)
    before, _ = trainer.evaluate(32)
    rows = []
    trainer.train(60 * UPDATE, callback=lambda step, metrics: rows.append((step, metrics)))
    after, spread = trainer.evaluate(32)
    assert before < 4 < 7.5 < after
    assert spread < 1
    assert rows[-1][0] == 60 * UPDATE
    path = trainer.save_model()
    trainer.close()

    other = create_trainer("probe", SMALL, root=tmp_path / "other")
    other.load_model(path)
    assert other.evaluate(32) == (after, spread)
    other.close()


def test_a_callback_can_end_training(tmp_path: Path) -> None:
    trainer = create_trainer("probe", SMALL, root=tmp_path)
    trainer.train(60 * UPDATE, callback=lambda step, metrics: False)
    latest = trainer.session.store.latest()
    trainer.close()
    assert latest is not None
    assert load_checkpoint(latest).manifest.step == 2 * UPDATE


def test_the_saved_policy_is_the_learners_policy(tmp_path: Path) -> None:
    trainer = create_trainer("probe", SMALL, root=tmp_path)
    assert isinstance(trainer, JaxPPOTrainer)
    trainer.train(4 * UPDATE)
    latest = trainer.session.store.latest()
    assert latest is not None
    rng = np.random.default_rng(0)
    observation = rng.random((20, 5)).astype(np.float32)
    legal_mask = rng.random((20, 48)) < 0.2
    legal_mask[:, 0] = True
    decision = OnnxPolicy.from_checkpoint(latest).act(observation, legal_mask)
    logits, value = trainer.network.apply(trainer.state.params, observation)
    best = np.where(legal_mask, logits, -np.inf).argmax(axis=1)
    np.testing.assert_array_equal(decision.actions, best)
    np.testing.assert_allclose(decision.values, value, atol=1e-5)
    trainer.close()


def test_tuning_chooses_among_the_candidates_and_settles_the_rest() -> None:
    chosen = tune(small_settings(num_steps=8), candidates=(8, 16))
    assert chosen.num_envs in (8, 16)
    assert chosen.batch_size % chosen.ppo.num_minibatches == 0
    assert chosen.ppo.lr == SMALL["lr"]


def test_a_learner_of_ones_own_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jimbot.training.learners._LEARNERS", {})
    register_learner("mine", "jimbot.training.jax_ppo.trainer", "JaxPPOTrainer")
    assert "mine" in available_learners()
    assert learner_class(small_settings(learner="mine")) is JaxPPOTrainer
    with pytest.raises(SettingsError, match="does not know algorithm 'DQN'; it has PPO"):
        learner_class(small_settings(learner="mine", algorithm="DQN"))
    with pytest.raises(UnknownNameError, match=r"Unknown learner 'min'. Did you mean 'mine'"):
        learner_class(small_settings(learner="min"))
