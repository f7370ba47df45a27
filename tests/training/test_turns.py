"""Turns: run to a step, judged, answered from their file when asked again, and equal to a run without turns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jimbot.errors import TrainingError
from jimbot.runs.checkpoint import find_checkpoint, load_checkpoint
from jimbot.training.framework import create_trainer
from jimbot.training.jax_ppo.trainer import JaxPPOTrainer
from jimbot.training.trials import TURNS, Order, finished_turn, take_turn, turns_of
from tests.training.small import small_settings

BATCH = 512


def order(root: Path, until: int, **changes: object) -> Order:
    settings = small_settings(run_name="one", anneal_lr=True, **changes).flat()
    return Order(root, "one", settings, until, games=8, stop_file=root / "stop")


def test_turns_add_up_to_the_run_without_turns_bit_for_bit(tmp_path: Path) -> None:
    for until in (2 * BATCH, 4 * BATCH):
        turn = take_turn(order(tmp_path, until))
        assert turn.step == until
    whole = create_trainer("probe", small_settings(run_name="whole", anneal_lr=True), root=tmp_path)
    whole.train(callback=lambda step, _: step < 4 * BATCH)
    whole.close()
    in_turns, at_once = (load_checkpoint(find_checkpoint(name, tmp_path)) for name in ("one", "whole"))
    assert in_turns.manifest.step == at_once.manifest.step
    for name, value in at_once.state().items():
        np.testing.assert_array_equal(in_turns.state()[name], value, err_msg=name)


def test_a_turn_that_was_taken_is_answered_from_its_file(tmp_path: Path) -> None:
    first = take_turn(order(tmp_path, BATCH))
    checkpoint = find_checkpoint("one", tmp_path)
    before = checkpoint.stat().st_mtime_ns
    assert take_turn(order(tmp_path, BATCH)) == first == finished_turn(tmp_path / "one", BATCH)
    assert checkpoint.stat().st_mtime_ns == before
    assert first.score is not None
    assert len(turns_of(tmp_path / "one")) == 1


def test_settings_may_change_between_two_turns(tmp_path: Path) -> None:
    take_turn(order(tmp_path, BATCH))
    turn = take_turn(order(tmp_path, 2 * BATCH, lr=1e-4, gamma=0.9))
    assert turn.step == 2 * BATCH
    assert load_checkpoint(find_checkpoint("one", tmp_path)).manifest.config["lr"] == 1e-4


def test_a_request_to_stop_ends_the_turn_without_a_score(tmp_path: Path) -> None:
    (tmp_path / "stop").write_text("stopped by Ctrl+C")
    turn = take_turn(order(tmp_path, BATCH))
    assert turn.interrupted
    assert turn.score is None
    assert not (tmp_path / "one" / TURNS).exists()
    (tmp_path / "stop").unlink()
    assert take_turn(order(tmp_path, BATCH)).step == BATCH


def test_learning_that_failed_has_no_score_but_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TrainingError("train/loss of update 3 is not a finite number")

    monkeypatch.setattr(JaxPPOTrainer, "train", fail)
    turn = take_turn(order(tmp_path, BATCH))
    assert turn.score is None
    assert "not a finite number" in turn.failure
    assert finished_turn(tmp_path / "one", BATCH) == turn
