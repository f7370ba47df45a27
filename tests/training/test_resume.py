"""Resume is exact: straight through equals killed and continued, bit for bit, through the real command."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.runs.checkpoint import load_checkpoint
from tests.training.small import SMALL

FLAGS = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items() if name != "game"]
UPDATE = SMALL["num_envs"] * SMALL["num_steps"]
UPDATES = 40
HACKMATRIX = pytest.param("hackmatrix", marks=pytest.mark.long)


def training(game: str, root: Path, *more: str) -> list[str]:
    flags = [*FLAGS, "--runs-dir", str(root), "--run-name", "run", f"--total-timesteps={UPDATES * UPDATE}", *more]
    return ["train", game, *flags]


def command(game: str, root: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "jimbot", *training(game, root, *more)]


def kill_after_a_checkpoint(game: str, root: Path, *more: str) -> int:
    """Starts training, waits until some checkpoints exist, kills without warning; returns the step reached."""
    child = subprocess.Popen(command(game, root, *more), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    latest = root / "run" / "checkpoints" / "latest"
    deadline = time.monotonic() + 240
    while not latest.exists() or int(latest.read_text()) < 5 * UPDATE:
        assert child.poll() is None, "training ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    child.wait()
    return int(latest.read_text())


def final_arrays(root: Path) -> dict[str, np.ndarray]:
    path = root / "run" / "checkpoints" / f"{UPDATES * UPDATE:012d}"
    checkpoint = load_checkpoint(path)
    return {**checkpoint.params(), **checkpoint.state()}


@pytest.mark.parametrize("stepping", ["fused", "host"])
@pytest.mark.parametrize("game", ["probe", HACKMATRIX])
def test_killed_and_resumed_equals_straight_through(game: str, stepping: str, tmp_path: Path) -> None:
    mode = ("--stepping", stepping, "--save-interval", str(UPDATE))
    assert run(training(game, tmp_path / "straight", *mode)) == 0
    reached = kill_after_a_checkpoint(game, tmp_path / "killed", *mode)
    assert reached < UPDATES * UPDATE
    assert run(training(game, tmp_path / "killed", *mode)) == 0
    straight, resumed = final_arrays(tmp_path / "straight"), final_arrays(tmp_path / "killed")
    assert straight.keys() == resumed.keys()
    for name, value in straight.items():
        np.testing.assert_array_equal(resumed[name], value, err_msg=name)
    steps = [json.loads(line)["step"] for line in (tmp_path / "killed/run/metrics.jsonl").read_text().splitlines()]
    assert steps == sorted(set(steps)), "history has no step twice"


def test_ctrl_c_saves_and_the_same_command_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--total-timesteps=100000000",)
    child = subprocess.Popen(command("probe", tmp_path, *more), stderr=subprocess.PIPE, text=True)
    metrics = tmp_path / "run" / "metrics.jsonl"
    while not metrics.exists():
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGINT)
    _, complaints = child.communicate(timeout=120)
    assert child.returncode == 0, complaints
    assert "stopped by Ctrl+C" in complaints
    step = int((tmp_path / "run/checkpoints/latest").read_text())
    assert step > 0
    assert run(training("probe", tmp_path, f"--total-timesteps={step + 2 * UPDATE}")) == 0
    assert int((tmp_path / "run/checkpoints/latest").read_text()) == step + 2 * UPDATE
    assert "Continuing from" in capsys.readouterr().err


IMPROVE = ("--plan=4", "--plan-settings={depth: 0, candidates: 4, certain: 1.0}", "--log-interval=1")
LEARNING = [
    pytest.param("train", (), id="jax"),
    pytest.param("train", ("--learner=sb3", "--network=mlp"), id="sb3"),
    pytest.param("improve", IMPROVE, id="improve"),
    pytest.param("train", ("--learner=ray", "--log-interval=1"), marks=pytest.mark.long, id="ray"),
]


@pytest.mark.parametrize("how", ["moved", "deleted"])
@pytest.mark.parametrize(("verb", "asked"), LEARNING)
def test_a_run_that_goes_away_while_it_learns_is_not_brought_back(
    verb: str, asked: tuple[str, ...], how: str, tmp_path: Path
) -> None:
    root = tmp_path / "runs"
    words = command("probe", root, "--total-timesteps=100000000", *asked)
    words[words.index("train")] = verb
    child = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while not (root / "run" / "metrics.jsonl").exists():
        assert child.poll() is None, child.communicate()
        time.sleep(0.002)
    (root / "run").rename(tmp_path / "gone")
    if how == "deleted":
        shutil.rmtree(tmp_path / "gone")
    _, complaints = child.communicate(timeout=120)
    assert child.returncode == 1, complaints
    assert complaints.count("moved, deleted or replaced") == 1
    assert "Traceback" not in complaints
    assert list(root.iterdir()) == []
