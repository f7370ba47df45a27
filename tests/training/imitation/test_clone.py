"""Cloning reaches the teacher's play, stops in time, continues exactly, and leaves ordinary checkpoints."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.evaluation import evaluate
from jimbot.games.contract import game_entry
from jimbot.policies.heuristics import RandomPolicy
from jimbot.runs.checkpoint import find_checkpoint, load_checkpoint
from jimbot.training.imitation import batches as batch_making
from jimbot.training.imitation.batches import Batches
from jimbot.training.imitation.clone import Cloner, clone, clone_settings
from jimbot.training.imitation.dataset import Dataset
from jimbot.training.imitation.record import record
from jimbot.training.session.session import Session
from tests.training.imitation.teachers import record_perfect

SMALL = {"hidden_dim": 32, "batch_size": 64, "lr": 1e-2, "run_name": "c", "save_interval_minutes": 60}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_perfect(tmp_path_factory.mktemp("recorded"), games=256)[0]


def cloned(data: Path, root: Path, **changes: Any) -> dict[str, np.ndarray]:
    """All arrays of the checkpoint that cloning ends with."""
    outcome = clone(clone_settings(data, {**SMALL, **changes}), root, quiet=True)
    checkpoint = load_checkpoint(outcome.checkpoint)
    return {**checkpoint.params(), **checkpoint.state()}


def test_the_clone_plays_like_its_teacher_and_every_command_takes_it(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["--epochs=8", "--hidden-dim=32", "--batch-size=64", "--set", "lr=1e-2"]
    assert run(["clone", str(recorded), *flags, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["run"] == "probe-jax-bc"
    assert told["metrics"]["clone/validation_accuracy"] > 0.99
    assert told["metrics"]["clone/validation_explained_variance"] > 0.9
    assert evaluate("probe-jax-bc", games=64).games.returns.mean() > 7.5
    assert run(["evaluate", "probe-jax-bc", "--games=8", "--json"]) == 0
    assert run(["export", "probe-jax-bc", "--output", "policy.onnx"]) == 0
    rows = [json.loads(line) for line in Path("runs/probe-jax-bc/metrics.jsonl").read_text().splitlines()]
    assert any("clone/validation_loss" in row for row in rows)
    assert run(["resume", "probe-jax-bc"]) == 2
    assert "is a clone" in capsys.readouterr().err
    assert run(["train", "probe", "--run", "probe-jax-bc"]) == 2
    assert "was started with algorithm 'BC'" in capsys.readouterr().err


def test_nothing_is_learned_from_a_teacher_that_plays_at_random(tmp_path: Path) -> None:
    """The control: with labels that say nothing, accuracy on held-out games stays at one in four."""
    path = tmp_path / "random.npz"
    record(RandomPolicy(), "probe", 256, path, num_envs=64)
    outcome = clone(clone_settings(path, {**SMALL, "epochs": 4}), tmp_path, quiet=True)
    assert outcome.metrics["clone/validation_accuracy"] < 0.4


def test_the_teachers_probabilities_can_be_imitated(tmp_path: Path) -> None:
    """A teacher that is indifferent: the clone must be as undecided as it is, whatever was drawn."""
    path = tmp_path / "random.npz"
    record(RandomPolicy(), "probe", 128, path, num_envs=64, probabilities=True)
    outcome = clone(clone_settings(path, {**SMALL, "epochs": 6, "targets": "probabilities"}), tmp_path, quiet=True)
    assert outcome.metrics["clone/validation_policy_loss"] == pytest.approx(np.log(4), abs=1e-2)


def test_cloning_tells_where_it_is_in_debug_lines(
    recorded: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "jimbot"):
        clone(clone_settings(recorded, {**SMALL, "epochs": 1}), tmp_path, quiet=True)
    assert "epoch 1 begins at decision 0" in caplog.text


def test_cloning_stops_when_validation_no_longer_improves_and_keeps_the_best(tmp_path: Path) -> None:
    path = tmp_path / "random.npz"
    record(RandomPolicy(), "probe", 16, path)
    settings = clone_settings(path, {**SMALL, "epochs": 200, "patience": 2, "lr": 0.05, "anneal_lr": False})
    outcome = clone(settings, tmp_path, quiet=True)
    assert outcome.epochs < 200
    assert outcome.reason == "no lower validation loss for 2 epochs"
    rows = [json.loads(line) for line in (tmp_path / "c/metrics.jsonl").read_text().splitlines()]
    losses = [row["clone/validation_loss"] for row in rows if "clone/validation_loss" in row]
    assert outcome.metrics["clone/best_validation_loss"] == pytest.approx(min(losses), rel=1e-5)
    checkpoint = load_checkpoint(outcome.checkpoint)
    best, live = checkpoint.params(), checkpoint.state()
    assert any((best[name] != live[f".params['{name}']"]).any() for name in best)
    np.testing.assert_array_equal(best["value.bias"], live[".best['value.bias']"])


def test_more_epochs_later_equal_all_at_once(recorded: Path, tmp_path: Path) -> None:
    same = {"anneal_lr": False}
    straight = cloned(recorded, tmp_path / "a", epochs=3, **same)
    cloned(recorded, tmp_path / "b", epochs=1, **same)
    continued = cloned(recorded, tmp_path / "b", epochs=3, **same)
    for name, value in straight.items():
        np.testing.assert_array_equal(continued[name], value, err_msg=name)


def test_stopped_inside_an_epoch_the_same_call_continues_exactly(recorded: Path, tmp_path: Path) -> None:
    straight = cloned(recorded, tmp_path / "a", epochs=2)
    settings = clone_settings(recorded, {**SMALL, "epochs": 2})
    with Dataset.open(recorded) as dataset, Session.open(settings, tmp_path / "b", quiet=True) as session:
        ticks: list[int] = []

        def stop_after_five(step: int) -> None:
            ticks.append(step)
            if len(ticks) == 5:
                session.end("stopped by the test")

        session.view.tick = stop_after_five
        outcome = Cloner(settings, dataset, session).run()
    assert (outcome.step, outcome.epochs, outcome.reason) == (5 * 64, 0, "stopped by the test")
    continued = cloned(recorded, tmp_path / "b", epochs=2)
    for name, value in straight.items():
        np.testing.assert_array_equal(continued[name], value, err_msg=name)


def test_an_epoch_hands_out_every_training_row_once_whatever_the_pool(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Dataset.open(recorded) as dataset:
        halves = Batches(dataset, dataset.reward, 0.99, 0.2, seed=1, probabilities=False)
        games = dataset.game_of_row
        assert not set(games[halves.is_train]) & set(games[halves.is_validation])
        assert halves.train_rows + halves.validation_rows == len(dataset.action)
        whole = sorted(tuple(row) for batch in halves.train(0, 1) for row in batch.observation.tolist())
        monkeypatch.setattr(batch_making, "POOL_BYTES", 4 * dataset.spec.observation.size * 100)
        small = Batches(dataset, dataset.reward, 0.99, 0.2, seed=1, probabilities=False)
        parts = list(small.train(0, 7))
        assert len(parts) == small.train_rows // 7
        assert small.validation_rows <= 100
        again = [tuple(row) for batch in parts for row in batch.observation.tolist()]
        assert len(whole) - len(again) == small.train_rows % 7
        weights = sum(batch.weight.sum() for batch in small.validate(64))
        assert weights == small.validation_rows


def test_a_clone_is_continued_only_with_its_own_data(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cloned(recorded, tmp_path, epochs=1)
    other, _ = record_perfect(tmp_path, games=8)
    flags = ["--hidden-dim=32", "--batch-size=64", "--lr=1e-2", "--run=c", "--save-interval-minutes=60"]
    assert run(["clone", str(other), *flags, "--runs-dir", str(tmp_path)]) == 2
    assert "was started with dataset" in capsys.readouterr().err
    assert run(["clone", str(recorded), "--targets=probabilities", "--runs-dir", str(tmp_path)]) == 2
    assert "holds no teacher probabilities" in capsys.readouterr().err
    assert run(["clone", str(recorded), "--set", "epoch=4"]) == 2
    assert "Unknown setting 'epoch'. Did you mean 'epochs'" in capsys.readouterr().err
    one, _ = record_perfect(tmp_path, games=1)
    assert run(["clone", str(one), "--runs-dir", str(tmp_path / "one")]) == 2
    assert "holds 1 finished game" in capsys.readouterr().err


@pytest.mark.long
def test_hackmatrix_is_recorded_cloned_and_learned_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["record", "hackmatrix", "--games=8", "--num-envs=8", "--output=h.npz"]) == 0
    assert run(["clone", "h.npz", "--epochs=2", "--batch-size=64"]) == 0
    flags = ["--num-envs=8", "--num-steps=16", "--total-timesteps=256", "--eval-games=0"]
    assert run(["train", "hackmatrix", "--init-from=hackmatrix-jax-bc", "--init-kl=0.1", *flags]) == 0
    assert "Starting from the parameters of" in capsys.readouterr().err
    spec = game_entry("hackmatrix").spec
    assert load_checkpoint(find_checkpoint("hackmatrix-jax-bc")).manifest.game == spec.id
