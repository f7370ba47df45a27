"""Compiled programs that the trainers of one process share, and what they are shared by.

The members of a population and the trials of a search differ in a few numbers of the loss. Those are arguments of the
programs, as the learning rate is, so trainers that take turns in one process compile once. A program is found again by
its key: the network, the game, and every setting that is not known to leave it alone. A setting that is added later is
therefore part of the key until somebody says otherwise.
"""

from __future__ import annotations

import json
from typing import Any

from jimbot.policies.jax_networks import JaxNetwork
from jimbot.training.settings.record import CHANGEABLE, TrainSettings

KEPT_PROGRAMS = 4
NUMBERS = ("gamma", "gae_lambda", "clip_eps", "vf_coef", "ent_coef", "max_grad_norm")
"""Arguments of the programs."""
LEAGUE = ("league", "league_members", "past_interval")
START = ("init_from", "bc_model")
APART = (CHANGEABLE - {"gradient_pieces"}) | {
    "seed",
    "lr",
    "anneal_lr",
    "adviser",
    "count_bonus",
    "strategy_bonus",
    "rare_weight",
    "keep_games",
    *START,
    *LEAGUE,
    *NUMBERS,
}
"""Settings that no program is compiled for."""


def numbers_of(settings: TrainSettings) -> dict[str, Any]:
    return {name: settings[name] for name in NUMBERS}


def program_key(settings: TrainSettings) -> str:
    return json.dumps({name: value for name, value in settings.flat().items() if name not in APART}, sort_keys=True)


def settings_of(key: str) -> TrainSettings:
    """The settings a program is compiled for; what is apart from it has its default."""
    return TrainSettings(**json.loads(key))


def network_text(network: JaxNetwork) -> str:
    """A network as a key: its description, in its own order."""
    return json.dumps(network.description)
