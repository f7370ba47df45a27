"""Expert iteration: a policy learns what its plan found, and a killed run goes on as if nothing had happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.errors import SettingsError
from jimbot.runs.checkpoint import load_checkpoint
from jimbot.training.expert_iteration import Lesson
from jimbot.training.framework import learner_class
from jimbot.training.settings.layers import resolve
from tests.training.small import SMALL

UPDATE = 16 * 8
FLAGS = {
    **{name: value for name, value in SMALL.items() if name not in ("game", "ent_coef")},
    "num_steps": 8,
    "plan": 8,
    "plan_settings": "{depth: 0, candidates: 4, certain: 1.0}",
    "log_interval": 1,
    "lr": 1e-2,
}


def improving(root: Path, updates: int, **more: Any) -> list[str]:
    values = {**FLAGS, "total_timesteps": updates * UPDATE, **more}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
    return ["improve", "probe", *flags, "--runs-dir", str(root), "--run", "run"]


def arrays(root: Path, updates: int) -> dict[str, np.ndarray]:
    checkpoint = load_checkpoint(root / "run" / "checkpoints" / f"{updates * UPDATE:012d}")
    return {**checkpoint.params(), **checkpoint.state()}


def rows(root: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (root / "run/metrics.jsonl").read_text().splitlines()]


def lesson(**parts: list[float]) -> Lesson:
    empty = Lesson.empty(len(parts["reward"]), 1, 2, 3)
    given = {name: np.array(values, getattr(empty, name).dtype)[:, None] for name, values in parts.items()}
    return empty._replace(**given)


def test_returns_are_what_came_of_a_position():
    played = lesson(reward=[1.0, 2.0, 3.0], value=[9.0, 8.0, 7.0, 4.0])
    assert played.returns(0.5, 1.0)[:, 0] == pytest.approx([1 + 0.5 * (2 + 0.5 * (3 + 0.5 * 4)), 2 + 0.5 * 5, 5.0])
    assert played.returns(0.5, 0.0)[:, 0] == pytest.approx([1 + 0.5 * 8, 2 + 0.5 * 7, 5.0])


def test_an_end_is_worth_nothing_and_a_game_cut_off_its_last_value():
    over = lesson(reward=[1.0, 2.0], value=[0.0, 5.0, 5.0], terminated=[True, False])
    assert over.returns(0.5, 1.0)[:, 0] == pytest.approx([1.0, 4.5])
    cut = lesson(reward=[1.0, 2.0], value=[0.0, 5.0, 5.0], truncated=[True, False], final_value=[8.0, 0.0])
    assert cut.returns(0.5, 1.0)[:, 0] == pytest.approx([5.0, 4.5])


def test_only_planned_positions_teach_the_policy():
    played = lesson(reward=[0.0, 0.0], value=[0.0, 0.0, 0.0], planned=[True, False])
    (batch,) = played.batches(0.9, 0.9, 2, np.random.default_rng(0))
    assert sorted(batch.weight.tolist()) == [0.0, 1.0]


def test_a_policy_learns_what_its_plans_find(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(improving(tmp_path, 12, eval_games=16)) == 0
    told = rows(tmp_path)
    assert told[-1]["train/plan_agreement"] > told[0]["train/plan_agreement"]
    assert told[0]["plan/planned_share"] == 1.0
    assert told[-1]["train/mean_episode_return"] > 6  # of 8; random play has 2
    assert told[-1]["health/illegal_actions"] == 0
    assert "What to type next" in capsys.readouterr().out


def test_a_run_that_was_stopped_goes_on_exactly(tmp_path: Path) -> None:
    often = {"save_interval": UPDATE}
    assert run(improving(tmp_path / "straight", 4, **often)) == 0
    assert run(improving(tmp_path / "stopped", 2, **often)) == 0
    assert run(improving(tmp_path / "stopped", 4, **often)) == 0
    straight, stopped = arrays(tmp_path / "straight", 4), arrays(tmp_path / "stopped", 4)
    assert straight.keys() == stopped.keys()
    for name, value in straight.items():
        np.testing.assert_array_equal(stopped[name], value, err_msg=name)
    steps = [row["step"] for row in rows(tmp_path / "stopped")]
    assert steps == [UPDATE * number for number in (1, 2, 3, 4)]


def test_another_player_may_play_the_tries_out(tmp_path: Path) -> None:
    assert run(improving(tmp_path, 1, plan_with="random")) == 0
    assert rows(tmp_path)[0]["plan/planned_share"] > 0


def test_a_game_with_a_search_of_its_own_is_improved_by_that(tmp_path: Path) -> None:
    often = {"num_envs": 8, "num_steps": 4, "num_minibatches": 2, "eval_games": 2, "save_interval": 32}
    values = {**FLAGS, "total_timesteps": 64, "init_from": "none", **often}
    del values["plan_settings"]
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
    assert run(["improve", "hackmatrix", *flags, "--runs-dir", str(tmp_path), "--run", "run"]) == 0
    told = rows(tmp_path)
    assert told[0]["plan/planned_share"] > 0.9
    assert told[0]["plan/changed_share"] > 0
    assert told[-1]["health/illegal_actions"] == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"game": "vgc"}, "for games of one"),
        ({"game": "probe", "reward_transform": "normalize"}, "no normalisation"),
        ({"game": "probe", "forced_every": 2}, "only learner jax"),
    ],
)
def test_what_it_cannot_do_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        learner_class(resolve({"learner": "improve", **given}).settings)


def test_other_learners_do_not_plan() -> None:
    with pytest.raises(SettingsError, match="only learner improve"):
        learner_class(resolve({"game": "probe", "plan": 64}).settings)
