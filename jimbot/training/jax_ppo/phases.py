"""Where the time of a fused update goes.

Inside one compiled program there is nothing to time, so its parts are compiled once more by themselves and timed on
the live games: what they take per update is theirs, the rest is learning. Nothing is changed: the parts are pure.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from jimbot.games import functional
from jimbot.games.contract import FunctionalGame
from jimbot.policies.jax_networks import JaxNetwork, make_network
from jimbot.training.jax_ppo.ppo import act, uniforms
from jimbot.training.jax_ppo.program import KEPT_PROGRAMS, TrainState, network_text
from jimbot.training.settings.record import TrainSettings

REPEATS = 5


def fused_phase_seconds(
    settings: TrainSettings, network: JaxNetwork, game: FunctionalGame, state: TrainState
) -> dict[str, float]:
    """Seconds per update spent in simulate, observe and act."""
    look, choose, simulate = _parts(network_text(network), game)
    features, legal_mask = look(state.params, state.rows.state)
    action = choose(state.params, features, legal_mask)[0]
    return {
        "simulate": settings.num_steps * _seconds(simulate, state.rows, action),
        "observe": settings.num_steps * _seconds(look, state.params, state.rows.state),
        "act": settings.num_steps * _seconds(choose, state.params, features, jnp.asarray(legal_mask)),
    }


@lru_cache(maxsize=KEPT_PROGRAMS)
def _parts(described: str, game: FunctionalGame) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """(look, choose, simulate), compiled."""
    network = make_network(json.loads(described))

    @jax.jit
    def look(params: Any, game_state: Any) -> Any:
        return network.prepare(game.observe_batch(game_state), params), game.legal_mask_batch(game_state)

    @jax.jit
    def choose(params: Any, features: Any, legal_mask: Any) -> Any:
        return act(network, params, features, legal_mask, uniforms(jax.random.key(0), 0, legal_mask.shape[0]))

    @jax.jit
    def simulate(rows: functional.Rows, action: Any) -> Any:
        return functional.advance(game, rows, action)[0]

    return look, choose, simulate


def _seconds(program: Callable[..., Any], *arguments: Any) -> float:
    jax.block_until_ready(program(*arguments))
    best = float("inf")
    for _ in range(REPEATS):
        began = time.perf_counter()
        jax.block_until_ready(program(*arguments))
        best = min(best, time.perf_counter() - began)
    return best
