from __future__ import annotations

import pytest

from jimbot.games import contract


@pytest.fixture
def duel(monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of a game of two players, known for one test."""
    monkeypatch.setitem(contract._GAMES, "duel", "tests.envs.duel")
    return "duel"
