"""The games in Gymnasium's registry, `jimbot/<Title>-v1` each.

`import jimbot.envs` calls `register_envs`, which loads no game; games that are registered later follow by themselves.
"""

from __future__ import annotations

from functools import cache

from gymnasium.envs.registration import register, registry

from jimbot.games.contract import available_games, game_title, on_registration


def env_id(game_id: str) -> str:
    """The name of a game in Gymnasium's registry.

    >>> env_id("hackmatrix")
    'jimbot/HackMatrix-v1'
    """
    return f"jimbot/{game_title(game_id)}-v1"


def register_envs() -> None:
    """Registers all games, and those to come."""
    _follow()
    for game_id in available_games():
        _register(game_id)


@cache
def _follow() -> None:
    on_registration(_register)


def _register(game_id: str) -> None:
    if env_id(game_id) not in registry:
        register(
            env_id(game_id),
            entry_point="jimbot.envs.gymnasium_env:GameEnv",
            vector_entry_point="jimbot.envs.gymnasium_vector:GameVectorEnv",
            kwargs={"game_id": game_id},
        )
