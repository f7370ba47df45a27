"""Adapters: JimBot's games behind the interfaces other libraries speak. Rules live in `jimbot.games`, nowhere here.

Importing this registers every game with Gymnasium: `gymnasium.make("jimbot/HackMatrix-v1")`, and `make_vec` with a
native vector environment. `jimbot.envs.pettingzoo_env` and `jimbot.envs.sb3_vec_env` need their extras.
"""

from __future__ import annotations

from typing import Any

import gymnasium

from jimbot.envs.gymnasium_env import GameEnv
from jimbot.envs.gymnasium_vector import GameVectorEnv
from jimbot.games.contract import available_games, game_title

__all__ = ["GameEnv", "GameVectorEnv", "env_id", "make_env", "make_vector_env", "register_envs"]


def make_env(game_id: str, **options: Any) -> GameEnv:
    """One game as a Gymnasium environment; `options` are those of `GameEnv` and of the game.

    >>> env = make_env("probe", horizon=4)
    >>> observation, info = env.reset(seed=1)
    >>> bool(info["action_mask"][env.action_space.sample()])
    True
    """
    return GameEnv(game_id, **options)


def make_vector_env(game_id: str, num_envs: int, **options: Any) -> GameVectorEnv:
    """Many games stepped by one call as a Gymnasium vector environment."""
    return GameVectorEnv(game_id, num_envs, **options)


def env_id(game_id: str) -> str:
    """The name of a game in Gymnasium's registry.

    >>> env_id("hackmatrix")
    'jimbot/HackMatrix-v1'
    """
    return f"jimbot/{game_title(game_id)}-v1"


def register_envs() -> None:
    """Registers all games with Gymnasium; call it again after `register_game` has added one of your own."""
    for game_id in available_games():
        if env_id(game_id) not in gymnasium.registry:
            gymnasium.register(
                env_id(game_id),
                entry_point="jimbot.envs.gymnasium_env:GameEnv",
                vector_entry_point="jimbot.envs.gymnasium_vector:GameVectorEnv",
                kwargs={"game_id": game_id},
            )


register_envs()
