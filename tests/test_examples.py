"""Every script in examples/ runs, with tiny numbers, inside an empty folder."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jimbot.games.contract import make
from jimbot.training.settings import trainer_config

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TINY = {"game": "probe", "total_timesteps": 512, "n_envs": 4, "games": 4}
SMALL_PPO = {"n_steps": 64, "batch_size": 64, "n_epochs": 2}


@pytest.fixture(autouse=True)
def _inside_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ppo = trainer_config.SPECIFIC["PPO"]  # by its own defaults an update is 8,192 steps and 1,280 minibatches
    for name, value in SMALL_PPO.items():
        monkeypatch.setitem(ppo, name, ppo[name]._replace(default=value))


def run(name: str, **numbers: Any) -> Any:
    return importlib.import_module(f"examples.{name}").main(**numbers)


def test_a_single_run_trains_judges_and_continues() -> None:
    assert 0 <= run("single_run", **TINY) <= 8
    assert 0 <= run("single_run", **TINY | {"total_timesteps": 1024}) <= 8
    assert Path("models/single_run").is_dir()


def test_custom_hyperparameters_are_used() -> None:
    assert 0 <= run("custom_hyperparameters", **TINY) <= 8


def test_algorithms_are_compared() -> None:
    assert run("compare_algorithms", **TINY) in ("PPO", "A2C", "DQN")


def test_the_curriculum_runs_on_balatro() -> None:
    assert run("curriculum", total_timesteps=128, n_envs=4, n_steps=16, window=4) in range(1, 9)


def test_a_new_algorithm_solves_probe_and_continues() -> None:
    first = run("new_algorithm", total_timesteps=16 * 32 * 80, num_envs=16, games=32)
    assert first > 7.5  # of 8; chance is 2
    assert run("new_algorithm", total_timesteps=16 * 32 * 82, num_envs=16, games=32) > 7.5


def test_a_network_of_ones_own_learns_probe() -> None:
    assert run("own_network", total_timesteps=32 * 32 * 40, games=32) > 7.5


def test_ppo_in_one_file_learns_probe() -> None:
    pytest.importorskip("torch")
    assert run("plain_ppo", total_timesteps=30_000, games=32) > 7.5


def test_pufferlib_plays_inside_the_mask() -> None:
    pytest.importorskip("pufferlib", reason="PufferLib is not installed")
    assert run("puffer", game="probe", steps=40, num_envs=4, workers=0) >= 16
    child = subprocess.run([sys.executable, EXAMPLES / "puffer.py"], capture_output=True, text=True, timeout=300)
    assert "games ended" in child.stdout, child.stderr  # its workers are forked, which JAX in this process forbids


def test_a_custom_wrapper_is_sound_and_trains() -> None:
    assert run("custom_wrapper", total_timesteps=64, n_steps=32) == []


def test_the_teacher_is_tuned_and_the_search_continues(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna", reason="the extra 'tune' is not installed")
    assert run("tune_teacher", trials=1, games=2, numbers=["dollar"]) == 1
    assert run("tune_teacher", trials=1, games=2, numbers=["dollar"], check_games=2) == 2
    assert "the best trial gains" in capsys.readouterr().out


def test_the_heuristic_player_is_fitted_to_its_games() -> None:
    assert run("fit_outlook", games=2) > 10  # blinds of two games


def test_examples_have_runs_of_their_own() -> None:
    """Two that shared a run, with each other or with `jimbot train`, could not be run one after the other."""
    trains = {path: path.read_text() for path in EXAMPLES.glob("*.py") if "create_trainer(" in path.read_text()}
    assert trains
    for path, text in trains.items():
        assert f'"example-{path.stem.replace("_", "-")}"' in text


def test_every_example_is_in_the_table_and_in_this_file() -> None:
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    table, tests = (EXAMPLES / "README.md").read_text(), Path(__file__).read_text()
    assert scripts
    assert not {name for name in scripts if f"`{name}.py`" not in table or f'run("{name}"' not in tests}


def test_the_teams_are_legal_and_play() -> None:
    game: Any = make("vgc", 2, options={"teams": str(EXAMPLES / "vgc_archetypes.txt"), "opponent": "random"})
    try:
        game.reset()
        assert len(game.team_table.packed) == 6
        assert game.legal_mask.any(axis=1).all()
    finally:
        game.close()


def test_decks_and_stakes_make_a_table() -> None:
    table = run("decks_and_stakes", policy="random", games=2, decks=["red", "plasma"], stakes=["white", "gold"])
    assert [row.split(" | ")[:3] for row in table[2:]] == [
        ["| red", "white", "2"], ["| plasma", "white", "2"], ["| red", "gold", "2"],
    ]  # fmt: skip
