"""One small set of shapes for all learner tests, so that little is compiled."""

from __future__ import annotations

from typing import Any

from jimbot.games.contract import functional_game
from jimbot.policies.jax_networks import JaxNetwork
from jimbot.training.jax_ppo.program import network_for
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
}


def small_settings(**changes: Any) -> TrainSettings:
    return load_settings(SMALL, changes)


def probe_parts(**options: Any) -> tuple[TrainSettings, JaxNetwork, Any]:
    """(settings, network, functional game) of a small probe learner."""
    settings = small_settings(game_options=options)
    game = functional_game("probe", options)
    assert game is not None
    return settings, network_for(settings, game.spec), game
