"""Adapters: JimBot's games behind the interfaces other libraries speak. Rules live in `jimbot.games`, nowhere here.

Every game is registered with Gymnasium (`registration.py`): `gymnasium.make("jimbot/HackMatrix-v1")`, and `make_vec`
with a native vector environment. `jimbot.envs.pettingzoo_env` and `jimbot.envs.sb3_vec_env` need their extras.
"""

from __future__ import annotations

from typing import Any

from jimbot.envs.gymnasium_env import GameEnv
from jimbot.envs.gymnasium_vector import GameVectorEnv
from jimbot.envs.registration import env_id, register_envs
from jimbot.games.contract import named_game

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


register_envs()
