"""A killed SB3 run continues as if nothing had happened: counters, schedules, replay and all the rest, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from jimbot.cli.main import run
from tests.training.test_resume import UPDATE, UPDATES, final_arrays, kill_after_a_checkpoint, training

SMALL_REPLAY = ("--learning-starts=1024", "--buffer-size=8192", "--target-update-interval=512", "--train-freq=32")
ASKED = {
    # num_steps of DQN is 1: an update is one step of all games.
    "PPO": ("--anneal-lr", "--network=mlp"),
    "DQN": ("--anneal-lr", "--network=mlp", "--num-steps=1", "--num-minibatches=1", "--log-interval=64", *SMALL_REPLAY),
}


@pytest.mark.parametrize("algorithm", ["PPO", pytest.param("DQN", marks=pytest.mark.long)])
def test_killed_and_resumed_equals_straight_through(algorithm: str, tmp_path: Path) -> None:
    asked = ("--learner=sb3", f"--algorithm={algorithm}", *ASKED[algorithm], f"--save-interval={2 * UPDATE}")
    assert run(training("probe", tmp_path / "straight", *asked)) == 0
    reached = kill_after_a_checkpoint("probe", tmp_path / "killed", *asked)
    assert reached < UPDATES * UPDATE
    assert run(training("probe", tmp_path / "killed", *asked)) == 0
    straight, resumed = final_arrays(tmp_path / "straight"), final_arrays(tmp_path / "killed")
    assert straight.keys() == resumed.keys()
    stored = {"PPO": ("luck/torch", "observed/mean", "counters"), "DQN": ("replay/observation", "dqn", "target/")}
    for name in stored[algorithm]:
        assert any(key.startswith(name) for key in straight), name
    for name, value in straight.items():
        np.testing.assert_array_equal(resumed[name], value, err_msg=name)
