"""The rules of the games. Nothing in here knows of learning, servers or files."""

from jimbot.games.contract import (
    BatchGame,
    FunctionalGame,
    GameSpec,
    available_games,
    functional_game,
    game_entry,
    make,
    register_game,
)

__all__ = [
    "BatchGame", "FunctionalGame", "GameSpec", "available_games", "functional_game", "game_entry", "make",
    "register_game",
]  # fmt: skip
