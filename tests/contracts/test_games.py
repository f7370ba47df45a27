"""Every registered game keeps the contract; a new game gets this test for free."""

from __future__ import annotations

import pytest

from jimbot.games import available_games
from jimbot.games.checker import check_game

SIZES = {"vgc": {"steps": 30, "num_envs": 4}}  # battles are short and cost a thousand times a move of the others


@pytest.mark.parametrize("game_id", available_games())
def test_the_game_keeps_the_contract(game_id: str) -> None:
    check_game(game_id, **SIZES.get(game_id, {}))
