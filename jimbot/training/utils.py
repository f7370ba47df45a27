"""Short ways to an environment and to log lines, for scripts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from jimbot.envs import make_env, make_vector_env
from jimbot.envs.gymnasium_env import GameEnv
from jimbot.errors import UsageError
from jimbot.logs import setup_logging
from jimbot.training.environments.validation import validate_environment

__all__ = ["create_balatro_env", "make_vectorized_env", "setup_logging", "validate_environment"]


def create_balatro_env(seed: int | None = None, **options: Any) -> GameEnv:
    """One game of Balatro as a Gymnasium environment. A `seed` decides all its games; `options` are the game's."""
    env = make_env("balatro", **options)
    if seed is not None:
        env.reset(seed=seed)
    return env


def make_vectorized_env(fn: Callable[[], gymnasium.Env], n_envs: int = 8) -> VectorEnv:
    """`n_envs` games of what `fn` makes, restarting by themselves in the step that ends them.

    A bare environment of ours becomes one batch of games, stepped by one call; anything else is stepped one by one. If
    `fn` seeds its environment, the batch starts the same games every time.

    >>> from jimbot.envs import make_env
    >>> make_vectorized_env(lambda: make_env("probe"), n_envs=4)
    GameVectorEnv(num_envs=4)
    """
    if n_envs < 1:
        raise UsageError(f"n_envs is {n_envs}; expected at least 1 environment.")
    first = fn()
    if isinstance(first, GameEnv):
        first.close()
        envs = make_vector_env(first.game_spec.id, n_envs, **first.making)
        if first.given_seed is not None:
            envs.reset(seed=first.given_seed)
        return envs
    logging.getLogger("jimbot").info(
        "%s is stepped one environment at a time; a bare environment of ours would be one batch.", type(first).__name__
    )
    makers = [lambda: first, *[fn] * (n_envs - 1)]
    return SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
