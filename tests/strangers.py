"""The place from which other people's games and learners are tested."""

from __future__ import annotations

from pathlib import Path

import pytest

from jimbot import plugins
from jimbot.games import contract
from jimbot.training import learners


def stranger_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python starts in this folder and imports from it; the lists of games and learners forget it afterwards."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(contract, "_GAMES", dict(contract._GAMES))
    monkeypatch.setattr(learners, "_LEARNERS", dict(learners._LEARNERS))
