"""The Balatro training pipeline as its users know it: every command and example of its page.

What its two settings files become, line by line, is in tests/training/test_config.py.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from jimbot.cli.main import run
from jimbot.games.contract import game_entry
from jimbot.runs.checkpoint import CheckpointStore, load_checkpoint
from jimbot.training import analyze, export
from jimbot.training import run as training_run
from jimbot.training.framework import create_trainer
from jimbot.training.run import continued
from jimbot.training.session.log_rows import GameTally, Measures
from jimbot.training.settings.layers import resolve
from jimbot.training.settings.names import DEFAULTS
from jimbot.training.settings.record import TrainSettings
from tests.training.small import SMALL

UPDATE = SMALL["num_envs"] * SMALL["num_steps"]


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with one run of the probe game, `mine`, at its first checkpoint; gives that."""
    monkeypatch.chdir(tmp_path)
    with_settings = [f"--set={name}={value}" for name, value in SMALL.items()]
    steps = f"--set=total_timesteps={2 * UPDATE}"
    assert training_run.main([*with_settings, steps, "--experiment", "mine"]) == 0
    latest = CheckpointStore(Path("runs/mine/checkpoints")).latest()
    assert latest is not None
    return latest


def test_the_documented_defaults_of_what_a_file_leaves_out() -> None:
    documented = {
        "lr": 5e-5, "train_batch_size": 4000, "sgd_minibatch_size": 128, "num_sgd_iter": 30, "clip_param": 0.2,
        "entropy_coeff": 0.01, "gamma": 0.99, "lambda": 0.95, "num_workers": 2, "num_envs_per_worker": 4,
    }  # fmt: skip
    assert {name: DEFAULTS[name][0] for name in documented} == documented
    fragment = resolve({"env": "BalatroEnv", "rollout_fragment_length": 200, "batch_mode": "truncate_episodes"})
    assert fragment.settings.num_steps == 200
    both = resolve({"env": "BalatroEnv", "rollout_fragment_length": 200, "train_batch_size": 4000})
    assert both.settings.num_steps == 500, "a train batch of 4,000 and 8 games count before it"


def test_a_run_goes_on_from_a_directory_a_file_in_it_or_an_exported_pt(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    Path("checkpoints").mkdir()
    assert export.main(["--checkpoint", "mine", "--output", "checkpoints/best_model.pt"]) == 0
    for number, place in enumerate([trained, trained / "params_1024.npz", Path("checkpoints/best_model.pt")]):
        settings, root = continued(place, {}, Path("runs"))
        assert (root, settings.saving.run_name) == (Path("runs"), "mine"), place
        assert (settings.game, settings.network.hidden_dim, settings.ppo.lr) == ("probe", 32, 3e-3)
        assert settings.saving.resume == str(trained)
        steps = f"--set=total_timesteps={(3 + number) * UPDATE}"
        assert training_run.main(["--checkpoint", str(place), steps]) == 0
        assert f"Run mine is at step {(3 + number) * UPDATE:,}" in capsys.readouterr().out
    events = Path("runs/mine/events.log").read_text()
    assert events.count("continued from a checkpoint of this step") == 3


def test_an_exported_pt_without_its_run_begins_one_with_its_settings(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    assert export.main(["--checkpoint", "mine", "--output", "production_model.pt"]) == 0
    params = load_checkpoint(trained).params()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy("production_model.pt", elsewhere)
    monkeypatch.chdir(elsewhere)
    assert training_run.main(["--checkpoint", "production_model.pt", f"--set=total_timesteps={UPDATE}"]) == 0
    assert "Run mine is at step 512" in capsys.readouterr().out
    config = yaml.safe_load(Path("runs/mine/config.yaml").read_text())
    assert (config["init_from"], config["hidden_dim"], config["game"]) == ("production_model.pt", 32, "probe")
    trainer: Any = create_trainer("probe", SMALL | {"init_from": "production_model.pt", "run_name": "again"})
    assert {name: value.tolist() for name, value in trainer._params().items()} == {
        name: value.tolist() for name, value in params.items()
    }
    trainer.close()
    # The same command continues that run; a file of another run by that name does not get in.
    assert training_run.main(["--checkpoint", "production_model.pt", f"--set=total_timesteps={2 * UPDATE}"]) == 0
    shutil.copy("production_model.pt", "other.pt")
    shutil.rmtree("runs/mine/checkpoints")
    assert training_run.main(["--checkpoint", "other.pt"]) == 2
    assert "a name of its own (--experiment" in capsys.readouterr().err


def test_an_exported_pt_is_a_policy_wherever_one_is_asked_for(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    assert export.main(["--checkpoint", str(trained), "--output", "best_model.pt"]) == 0
    assert export.main(["--checkpoint", "best_model.pt", "--output", "production_model.pt"]) == 0
    capsys.readouterr()
    assert export.main(["--checkpoint", "best_model.pt", "--output", "params.npz"]) == 0
    capsys.readouterr()
    judged = []
    for file in ("best_model.pt", "production_model.pt", "params.npz", str(trained)):
        assert run(["evaluate", file, "--games", "16", "--json"]) == 0
        judged.append(json.loads(capsys.readouterr().out)["mean_return"])
    assert judged[1:] == judged[:-1]
    assert analyze.main(["--checkpoint", "best_model.pt", "--games", "8", "--output", "report.html"]) == 0
    assert Path("report.html").is_file()
    assert run(["watch", "best_model.pt", "--episodes", "1"]) == 0


def test_a_checkpoint_of_another_game_or_of_no_run_is_one_sentence(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert training_run.main(["--checkpoint", str(trained), "--set=game=hackmatrix"]) == 2
    assert "The checkpoint is of game 'probe', but game 'hackmatrix'" in capsys.readouterr().err
    shutil.copytree(trained, "alone")
    assert training_run.main(["--checkpoint", "alone"]) in (1, 2)
    assert "lies in no run" in capsys.readouterr().err


def test_a_running_cluster_is_joined_with_one_word(started: list[TrainSettings]) -> None:
    assert training_run.main(["--cluster"]) == 0
    assert run(["train", "balatro", "--cluster", "--json"]) == 0
    for settings in started:
        assert (settings.learner, settings.ray.address, settings.game) == ("ray", "auto", "balatro")


def test_experiments_are_named_and_tracked(started: list[TrainSettings]) -> None:
    assert training_run.main(["--experiment", "my_experiment", "--track"]) == 0
    assert (started[0].saving.run_name, started[0].tracking.project) == ("my_experiment", "my_experiment")


def test_debug_lines_are_asked_for_on_the_command_line(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["resume", "mine", "--total-timesteps", str(3 * UPDATE), "--log-level", "debug", "--json"]) == 0
    assert "DEBUG jimbot.training: mine: update 3 is done" in capsys.readouterr().err
    assert run(["resume", "mine", "--log-level", "loud"]) == 2
    assert "level is 'loud'; expected DEBUG" in capsys.readouterr().err


def test_callbacks_are_there_under_their_name() -> None:
    pytest.importorskip("ray")
    from ray.rllib.callbacks.callbacks import RLlibCallback

    from jimbot.training.callbacks import BalatroCallbacks

    config: dict[str, Any] = {}
    config["callbacks"] = BalatroCallbacks
    assert issubclass(config["callbacks"], RLlibCallback)
    assert resolve({"env": "BalatroEnv", **config}).settings.game == "balatro"


def test_win_rate_and_average_score_are_tracked() -> None:
    """Every statistic of an episode is a metric, `stats/…`; what the score is, is tested with the game's rewards."""
    spec = game_entry("balatro").spec
    two_games = GameTally(spec, 1).take()._replace(episodes=2, stats=2.0 * np.arange(len(spec.episode_stats)))
    measures = Measures(spec)
    measures.add({}, two_games, 9)
    metrics = measures.take()
    for name in ("won", "score", "score_log10"):
        assert metrics[f"stats/{name}"] == spec.episode_stats.index(name)


@pytest.mark.long
@pytest.mark.timeout(1000)  # more than the command gets
def test_without_arguments_balatro_is_trained_from_an_empty_folder(tmp_path: Path) -> None:
    """A whole update of the documented size, in a process of its own."""
    import subprocess

    command = [sys.executable, "-m", "jimbot.training.run", "--set", "total_timesteps=4000", "--set", "eval_games=4"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    assert "is at step 4,000" in done.stdout
    assert "learner jax learns on the one device" in " ".join(done.stderr.split())
