"""`jimbot train --help`: what most people need comes first, and no panel is longer than a screen."""

from __future__ import annotations

import re

import pytest

from jimbot.cli.shared.flags import PANELS
from jimbot.games.contract import available_games
from jimbot.training.settings.names import paths
from jimbot.training.settings.record import TrainSettings
from tests.cli.conftest import Jimbot

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
    shown = panels(jimbot("train", *filter(None, [game]), "--help")[1])
    assert len(shown) > 15
    assert {title: lines for title, lines in shown.items() if lines > SCREEN} == {}


def test_common_panels_come_first_and_rare_ones_last(jimbot: Jimbot) -> None:
    shown = list(panels(jimbot("train", "balatro", "--help")[1]))
    assert shown[:5] == [
        "Arguments",
        "How much is learned, by what",
        "The run",
        "The game",
        "Options of balatro",
    ]
    assert shown[-5:] == ["Population", "DQN", "Replay (DQN)", "Learning from recordings (BC, MARWIL)", "Ray"]


def test_every_listed_setting_exists() -> None:
    assert {name for names in PANELS.values() for name in names} <= set(paths(TrainSettings))
