"""Games and learners of other people are found by the command line, from Python and by Gymnasium."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest
from gymnasium.spaces import Discrete

import jimbot.envs
from jimbot import plugins
from jimbot.cli.main import run
from jimbot.errors import UsageError
from jimbot.games import contract
from jimbot.training import learners
from tests.strangers import stranger_at

GAME = """
from dataclasses import replace
from jimbot.games.probe import GAME as PROBE, SPEC
from jimbot.games.functional import FunctionalBatchGame
from jimbot.games.probe import Probe

def functional(options):
    game = Probe(options)
    game.spec = replace(SPEC, id={name!r})
    return game

def make(num_envs, seed=0, options=None, checked=False):
    return FunctionalBatchGame(functional(options or SPEC.options()), num_envs, seed=seed, checked=checked)

GAME = replace(PROBE, spec=replace(SPEC, id={name!r}), make=make, functional=functional)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a package in it, and lists that forget it afterwards."""
    stranger_at(tmp_path, monkeypatch)
    return tmp_path


def package(folder: Path, package: str, game: str) -> None:
    (folder / package).mkdir()
    (folder / package / "__init__.py").touch()
    (folder / package / "my_game.py").write_text(GAME.format(name=game))


def test_a_module_is_a_name_for_its_game(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package(folder, "pack_a", "doors_a")
    assert run(["evaluate", "random", "--game", "pack_a.my_game", "--games", "4"]) == 0
    assert "doors_a" in capsys.readouterr().out
    assert run(["evaluate", "random", "--game=pack_a.my_game:GAME", "--games", "4"]) == 0
    assert contract.named_game("pack_a.my_game") == "doors_a"
    assert gymnasium.make("jimbot/Doors_a-v1").action_space == Discrete(48)


def test_a_plugin_may_stand_anywhere_and_reaches_child_processes(folder: Path) -> None:
    package(folder, "pack_b", "doors_b")
    assert run(["evaluate", "random", "--plugin", "pack_b.my_game", "--game", "doors_b", "--games", "4"]) == 0
    assert os.environ[plugins.VARIABLE] == "pack_b.my_game"
    code = "from jimbot.games import available_games; assert 'doors_b' in available_games()"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder)


def test_installed_packages_offer_games_and_learners(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(folder, "pack_c", "doors_c")
    (folder / "pack_c" / "learner.py").write_text(
        "from jimbot.training.jax_ppo.trainer import JaxPPOTrainer\n"
        "class Mine(JaxPPOTrainer):\n    algorithms = ('MINE',)\n"
    )
    offered = {
        contract.GROUP: [importlib.metadata.EntryPoint("doors_c", "pack_c.my_game:GAME", contract.GROUP)],
        learners.GROUP: [importlib.metadata.EntryPoint("mine", "pack_c.learner:Mine", learners.GROUP)],
    }
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: offered.get(group, []))
    plugins.entry_points.cache_clear()
    try:
        assert "doors_c" in contract.available_games()
        assert jimbot.envs.make_env("doors_c").game_spec.id == "doors_c"
        assert "mine" in learners.available_learners()
        assert learners.spelled("mine") == ("MINE", "auto")
        assert learners.learner_of("MINE") == "mine"
    finally:
        plugins.entry_points.cache_clear()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--plugin", "no_such_module"], "There is no module 'no_such_module'"),
        (["--game", "no_such.module"], "There is no module 'no_such.module'"),
        (["--game", "jimbot.games.probe:SPEC"], "shows a GameSpec as its game; expected a GameEntry"),
        (["--game", "jimbot.games.probe:NOTHING"], "has no 'NOTHING'"),
        (["--game", "doors"], "Unknown game 'doors'"),
    ],
)
def test_what_is_not_there_is_a_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "random", *words, "--games", "4"]) == 2
    assert sentence in capsys.readouterr().err


def test_a_module_that_lacks_something_says_what(folder: Path) -> None:
    (folder / "lacking.py").write_text("import not_installed_anywhere")
    with pytest.raises(UsageError, match="Module 'lacking' needs 'not_installed_anywhere'"):
        plugins.use_plugins("lacking")


def test_a_name_inside_a_file_is_never_imported(folder: Path) -> None:
    """A checkpoint or recording may say any game; only what a person types is a module."""
    (folder / "hostile.py").write_text("raise SystemExit('imported')")
    with pytest.raises(UsageError, match=r"Unknown game 'hostile:GAME'"):
        contract.game_entry("hostile:GAME")
