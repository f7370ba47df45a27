"""Learning VGC: a league on the real simulator that resumes exactly, with every loss of a process counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.runs.checkpoint import find_checkpoint, load_checkpoint
from jimbot.training.framework import create_trainer
from jimbot.training.jax_ppo.extensions import league_seats
from jimbot.training.jax_ppo.extensions.league_seats import LeagueSeats
from jimbot.training.jax_ppo.trainer import JaxPPOTrainer
from jimbot.training.league import Seats

BATTLES, STEPS = 4, 6
TINY: dict[str, Any] = {  # a network that compiles in a moment
    **{"num_envs": BATTLES, "num_steps": STEPS, "num_minibatches": 2, "update_epochs": 2, "target_kl": 0.05},
    **{"network": "mlp", "hidden_dim": 16, "num_layers": 1, "reward_transform": "none", "eval_games": 0},
    **{"league": {"self": 0.3, "past": 0.3, "clone": 0.2, "exploiter": 0.2}, "past_interval": 1, "log_interval": 1},
    "league_members": ["random", "max_damage"],
    "memory_limit_gb": 64,  # of a test's process, which holds what other tests left; relief would change the last bits
}
UPDATE = BATTLES * STEPS


@pytest.fixture(autouse=True)
def few_judged_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(league_seats, "JUDGED_GAMES", 2)


def train(root: Path, updates: int, **changes: Any) -> JaxPPOTrainer:
    trainer = create_trainer("vgc", {**TINY, "total_timesteps": 100 * UPDATE, **changes}, root=root, resume=True)
    assert isinstance(trainer, JaxPPOTrainer)
    trainer.train(updates * UPDATE)
    return trainer


def seats_of(trainer: JaxPPOTrainer) -> Seats:
    [part] = [part for part in trainer.extensions if isinstance(part, LeagueSeats)]
    assert part.seats is not None
    return part.seats


def test_a_league_run_resumes_exactly(tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", 5)
    train(tmp_path / "parts", 3).close()
    parts = train(tmp_path / "parts", 5)
    for name, value in whole._params().items():
        np.testing.assert_array_equal(parts._params()[name], value, err_msg=name)
    expected, found = seats_of(whole).league, seats_of(parts).league
    assert [m.name for m in found.members] == [m.name for m in expected.members]
    assert found.metrics() == expected.metrics()
    best = whole.session.store.best()
    assert best is not None
    assert "eval/mean_return" in load_checkpoint(best).manifest.metrics, "the best of a league is judged, not trained"
    whole.close()
    parts.close()


def test_record_clone_and_train_from_the_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["--network=mlp", "--hidden-dim=16", "--num-layers=1", "--no-wandb"]
    assert run(["record", "vgc", "--games=8", "--num-envs=8", "--option=opponent=self", "--output=play.npz"]) == 0
    assert run(["clone", "play.npz", "--run=teacher", "--epochs=1", "--batch-size=32", *small]) == 0
    flags = ["--num-workers=1", "--buffer-size=24", "--lr=3e-4", "--battle-format=gen9vgc2023regulationc"]
    flags += ["--num-envs=4", "--num-minibatches=2", "--update-epochs=1", "--total-timesteps=24", "--log-interval=1"]
    flags += ["--checkpoint-dir=kept", "--eval-games=0", "--share=file_system", "--run=league"]
    capsys.readouterr()
    assert run(["train", "vgc", "--bc-model=teacher", *flags, *small]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "Fresh: the value head." in said
    checkpoint = load_checkpoint(find_checkpoint("league"))
    assert Path("kept").resolve() in checkpoint.path.resolve().parents
    assert checkpoint.manifest.config["num_steps"] == 6  # 48 places, two sides of four battles
    assert "clone" in json.loads(str(checkpoint.state()["league/members"]))[-1]["name"]
    assert not (tmp_path / "runs" / "league" / "experience").exists()
    row = json.loads((tmp_path / "runs" / "league" / "metrics.jsonl").read_text().splitlines()[-1])
    assert 0 < row["health/worker_mb"] < 500
    assert row["health/worker_died"] == 0
    assert row["speed/decisions_per_second"] > 0


def test_an_exploiter_of_the_shipped_policy_says_how_often_it_wins(tmp_path: Path) -> None:
    chosen = {"league": {"exploiter": 1.0}, "league_members": ["vgc"]}
    trainer = train(tmp_path, 4, **chosen, num_steps=12, eval_games=0)
    try:
        row = json.loads((trainer.session.run.path / "metrics.jsonl").read_text().splitlines()[-1])
        assert 0.0 <= row["league/vgc"] <= 1.0
        assert row["health/illegal_actions"] == 0
        trainer.load_model(trainer.session.store.latest())
    finally:
        trainer.close()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--battle-format=gen9ou"], "does not fit the action table"),
        (["--num-workers=many"], "workers is 'many'"),
        (["--bc-model=nobody"], "nobody"),
        (["--league-members=nobody"], "no member 'nobody'"),
        (["--share=cloud"], "share"),
    ],
)
def test_wrong_flags_are_one_sentence(flags: list[str], words: str, tmp_path: Path, capsys: Any) -> None:
    assert run(["train", "vgc", *flags, "--runs-dir", str(tmp_path), "--num-envs=4", "--num-minibatches=1"]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_workers_are_for_games_with_processes(capsys: Any) -> None:
    assert run(["train", "probe", "--num-workers=2"]) == 2
    assert "--num-workers is 2" in capsys.readouterr().err


@pytest.mark.long
def test_training_goes_on_while_simulators_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """No hang, no crash, no illegal action, and every loss is counted (the very last may come too late for a row)."""
    monkeypatch.chdir(tmp_path)
    chosen = {name: value for name, value in TINY.items() if isinstance(value, int | float | str)}
    flags = [f"--set={name}={value}" for name, value in (chosen | {"num_envs": 16}).items() if name != "eval_games"]
    kills = ["--hours=0.04", "--kill-minutes=60", "--kill-worker-seconds=12"]
    assert run(["soak", "vgc", *kills, "--json", *flags]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["crashes"] == 0
    assert report["worker_kills"] >= 3
    assert report["workers_lost"] == report["worker_kills"]
    assert report["illegal_actions"] == 0
