"""Adapters: JimBot's games behind the interfaces other libraries speak. Rules live in `jimbot.games`, nowhere here.

Importing this room registers every game with Gymnasium, and those to come, without loading one:
`gymnasium.make("jimbot/HackMatrix-v1")`, and `make_vec` with a native vector environment. `jimbot.envs.pettingzoo_env`
and `jimbot.envs.sb3_vec_env` need their extras.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from gymnasium.envs.registration import register, registry

from jimbot.envs.gymnasium_env import GameEnv, GameVectorEnv
from jimbot.games.contract import available_games, game_title, named_game, on_registration

__all__ = ["GameEnv", "GameVectorEnv", "env_id", "make_env", "make_vector_env", "register_envs"]


def make_env(game_id: str, **options: Any) -> GameEnv:
    """One game as a Gymnasium environment; `options` are those of `GameEnv` and of the game.

    >>> env = make_env("probe", horizon=4)
    >>> observation, info = env.reset(seed=1)
    >>> bool(info["action_mask"][env.action_space.sample()])
    True
    """
    return GameEnv(named_game(game_id), **options)


def make_vector_env(game_id: str, num_envs: int, **options: Any) -> GameVectorEnv:
    """Many games stepped by one call as a Gymnasium vector environment."""
    return GameVectorEnv(named_game(game_id), num_envs, **options)


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
            vector_entry_point="jimbot.envs.gymnasium_env:GameVectorEnv",
            kwargs={"game_id": game_id},
        )


register_envs()
