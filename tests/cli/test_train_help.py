"""`jimbot train --help`: what most people need comes first, and no panel is longer than a screen."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from jimbot.cli.shared.flags import PANELS
from jimbot.games.contract import available_games
from jimbot.training.settings.names import paths
from jimbot.training.settings.record import TrainSettings
from tests.cli.conftest import Jimbot
from tests.conftest import REPOSITORY

SCREEN = 24  # lines of 80 columns


def panels(text: str) -> dict[str, int]:
    """Titles of the panels in their order, and how many lines each takes."""
    found, title, begun = {}, "", 0
    for number, line in enumerate(text.splitlines()):
        if top := re.match(r"╭─ (.*?) ─+╮", line):
            title, begun = top[1], number
        elif line.startswith("╰"):
            found[title] = number - begun + 1
    return found


@pytest.mark.parametrize("game", ["", *available_games()])
def test_every_panel_fits_a_screen(jimbot: Jimbot, monkeypatch: pytest.MonkeyPatch, game: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = panels(jimbot("train", *filter(None, [game]), "--help-all")[1])
    assert len(shown) > 15
    assert {title: lines for title, lines in shown.items() if lines > SCREEN} == {}


def test_common_panels_come_first_and_rare_ones_last(jimbot: Jimbot) -> None:
    shown = list(panels(jimbot("train", "balatro", "--help-all")[1]))
    assert shown[:5] == [
        "Arguments",
        "How much is learned, by what",
        "The run",
        "The game",
        "Options of balatro",
    ]
    assert shown[-5:] == [
        "Population",
        "DQN",
        "Replay (DQN)",
        "Learning from what others played (BC, MARWIL, DQN)",
        "Ray",
    ]


def test_every_listed_setting_exists() -> None:
    assert {name for names in PANELS.values() for name in names} <= set(paths(TrainSettings))


@pytest.mark.parametrize("game", ["", *available_games()])
def test_help_is_one_screen_of_what_people_change(jimbot: Jimbot, monkeypatch: pytest.MonkeyPatch, game: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = jimbot("train", *filter(None, [game]), "--help")
    assert code == 0
    assert len(out.splitlines()) <= SCREEN
    assert max(map(len, out.splitlines())) <= 80
    flags = re.findall(r"^  --([a-z-]+)", out, re.MULTILINE)
    assert len(flags) == 20
    own = {"run", "config"}
    assert {flag.replace("-", "_") for flag in flags} - own <= set(paths(TrainSettings))
    everything = jimbot("train", *filter(None, [game]), "--help-all")[1]
    assert all(f"--{flag}" in everything for flag in flags)


@pytest.mark.parametrize(
    ("word", "flag"),
    [("learning_rate", "--lr"), ("entropy", "--ent-coef"), ("--gamma", "--gamma"), ("checkpoints", "--save-interval")],
)
def test_settings_are_found_by_any_of_their_names(jimbot: Jimbot, word: str, flag: str) -> None:
    code, out, _ = jimbot("settings", "--json", "--", word)
    assert code == 0
    assert flag[2:].replace("-", "_") in [one["name"] for one in json.loads(out)]
    assert flag in jimbot("settings", "--", word)[1]


def test_all_settings_are_listed(jimbot: Jimbot) -> None:
    assert len(json.loads(jimbot("settings", "--json")[1])) == len(paths(TrainSettings))


def test_jimbot_alone_is_help() -> None:
    done = subprocess.run([sys.executable, "-m", "jimbot"], capture_output=True, text=True, cwd=REPOSITORY, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "jimbot watch hackmatrix" in done.stdout
