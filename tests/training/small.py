"""One small set of shapes for all learner tests, so that little is compiled."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from jimbot.games.contract import functional_game
from jimbot.policies.jax_networks import JaxNetwork, Params
from jimbot.training.jax_ppo.program import network_for
from jimbot.training.jax_ppo.records import Rollout, Samples, Update
from jimbot.training.settings.record import TrainSettings, load_settings

SMALL: dict[str, Any] = {
    "game": "probe",
    "num_envs": 16,
    "num_steps": 32,
    "num_minibatches": 4,
    "update_epochs": 4,
    "hidden_dim": 32,
    "lr": 3e-3,
    "ent_coef": 0.01,
    "total_timesteps": 16 * 32 * 6,
    "log_interval": 2,
    "eval_games": 0,
    "memory_limit_gb": 64,  # a test's process also holds what other tests left
}


def small_settings(**changes: Any) -> TrainSettings:
    return load_settings(SMALL, changes)


def rollout_of(action: np.ndarray, **parts: Any) -> Rollout:
    """A rollout in which everything that is not given is nothing, and every row decides by itself."""
    nothing, yes = np.zeros(action.shape, np.float32), np.ones(action.shape, bool)
    usual = dict.fromkeys(("features", "legal_mask", "log_probability", "value", "reward", "final_value"), nothing)
    usual |= {"terminated": ~yes, "truncated": ~yes, "last_value": nothing[0], "acting": yes, "counts": yes}
    given = {**usual, "action": action, "extras": {}, **parts}
    acting: Any = given["acting"]
    return Rollout(**{"waiting": ~acting, "weight": acting.astype(np.float32), **given})


def samples_of_arrays(weights: dict[str, Any] | None = None, **parts: Any) -> Samples:
    """Samples that all weigh the same, unless `weights` are given."""
    size = len(parts["action"])
    even = dict.fromkeys(("policy", "value"), jnp.full(size, 1 / size))
    return Samples(value=np.zeros(size, np.float32), weights={**even, **(weights or {})}, extras={}, **parts)


def first_update(network: JaxNetwork, params: Params) -> Update:
    return Update(network, params, jnp.int32(0), {})


def probe_parts(**options: Any) -> tuple[TrainSettings, JaxNetwork, Any]:
    """(settings, network, functional game) of a small probe learner."""
    settings = small_settings(game_options=options)
    game = functional_game("probe", options)
    assert game is not None
    return settings, network_for(settings, game.spec), game
