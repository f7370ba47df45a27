"""What was learned is written before games that judge are played, and those are given up when somebody asks to stop."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from jimbot.runs.checkpoint import load_checkpoint
from jimbot.training.framework import RLTrainer, create_trainer
from jimbot.training.imitation.clone import Cloner, clone_settings
from jimbot.training.imitation.dataset import Dataset
from jimbot.training.session.session import Session
from tests.training.imitation.teachers import record_perfect
from tests.training.small import SMALL
from tests.training.test_vgc_training import TINY, UPDATE

pytest.importorskip("torch")
BATCH = SMALL["num_envs"] * SMALL["num_steps"]
LEARNERS = {
    "jax": ("probe", SMALL, BATCH),
    "sb3": ("probe", SMALL | {"learner": "sb3", "network": "mlp"}, BATCH),
    "improve": ("probe", SMALL | {"learner": "improve", "algorithm": "ExIt", "num_steps": 2, "plan": 2}, 32),
    "league": ("vgc", TINY, UPDATE),
}


def trainer_of(learner: str, root: Path) -> tuple[RLTrainer, int]:
    game, values, batch = LEARNERS[learner]
    due = {"save_interval": batch, "eval_interval": batch, "total_timesteps": 2 * batch}
    return create_trainer(game, {**values, "num_minibatches": 1, **due}, root=root), batch


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("sign", [None, signal.SIGINT, signal.SIGTERM], ids=lambda sign: getattr(sign, "name", "plain"))
def test_a_checkpoint_is_written_before_games_that_judge_are_played(
    learner: str, sign: signal.Signals | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The games that judge ask the disk what is there; the second call also gets a signal in the middle of them."""
    trainer, batch = trainer_of(learner, tmp_path)
    written: list[int] = []

    def judge(*_: Any, **__: Any) -> tuple[float, float]:
        newest = trainer.session.store.latest()
        assert newest is not None, "judged before anything was written"
        written.append(load_checkpoint(newest).manifest.step)
        if sign is not None:
            os.kill(os.getpid(), sign)
            raise AssertionError("games that judge went on although somebody asked to stop")
        return float(len(written)), 0.0

    monkeypatch.setattr(trainer, "evaluate", judge)
    result = trainer.train()
    trainer.close()
    manifest = load_checkpoint(result.checkpoint).manifest
    if sign is None:
        assert written == [batch, 2 * batch], "each step judged once, with its checkpoint there"
        assert manifest.metrics["eval/mean_return"] == 2, "what was found out after writing is noted with it"
    else:
        assert written[0] == batch
        assert result.step == batch
        assert sign.name in result.reason.replace("Ctrl+C", "SIGINT")
        assert manifest.step == batch


def test_the_best_is_chosen_by_what_the_games_said_after_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, batch = trainer_of("league", tmp_path)
    scores = iter([5.0, 1.0])
    monkeypatch.setattr(trainer, "evaluate", lambda *_, **__: (next(scores), 0.0))
    trainer.train()
    best = trainer.session.store.best()
    trainer.close()
    assert best is not None
    assert load_checkpoint(best).manifest.step == batch
    assert load_checkpoint(best).manifest.metrics["eval/mean_return"] == 5


def test_a_clone_that_is_stopped_while_validating_is_saved_and_validates_when_it_goes_on(tmp_path: Path) -> None:
    data, _ = record_perfect(tmp_path, games=32)
    settings = clone_settings(data, {"hidden_dim": 8, "batch_size": 64, "epochs": 2, "run_name": "c"})

    def cloner() -> Cloner:
        return Cloner(settings, Dataset.open(data), Session.open(settings, tmp_path, quiet=True))

    first = cloner()
    first._validate = lambda: os.kill(os.getpid(), signal.SIGTERM)  # ty: ignore[invalid-assignment]
    outcome = first.run()
    first.session.close()
    assert "SIGTERM" in outcome.reason
    assert "clone/validation_loss" not in outcome.metrics
    again = cloner()
    finished = again.run()
    assert (finished.epochs, "clone/validation_loss" in finished.metrics) == (2, True)
    again.session.close()
