"""The compiled programs of the learner, and the state they carry from update to update.

For a JAX game an update is one program: rollout, advantages, epochs of minibatches. For any other game the rollout
is collected from Python and the learning half of the very same code runs on it. Everything random derives from
(run key, update number), so the state holds no generator that could be used twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games import functional
from jimbot.games.contract import BatchGame, FunctionalGame
from jimbot.policies.jax_networks import JaxNetwork, Params, make_network
from jimbot.policies.networks import describe_network
from jimbot.training.jax_ppo.guidance import guidance
from jimbot.training.jax_ppo.rollout import (
    COLLECT,
    SHUFFLE,
    HostCollector,
    Tally,
    collect_fused,
    phase_key,
    seen_of,
)
from jimbot.training.jax_ppo.statistics import Statistics, initial_statistics, with_observations, with_rewards
from jimbot.training.jax_ppo.update import LossSettings, learn, make_optimiser
from jimbot.training.league import Seats
from jimbot.training.measures import Measured
from jimbot.training.settings import RunSettings, TrainSettings, network_choice

Array = jax.Array


class TrainState(NamedTuple):
    """All that changes while learning; what exact resume stores (beside a host-stepped game's snapshot)."""

    params: Params
    optimiser: Any
    key: Array  # (2,) uint32, fixed for the run
    update: Array  # () int32, updates done
    tally: Tally
    rows: Any  # functional.Rows of a fused game; () when the game is stepped from Python
    reference: Any = ()  # Params of the policy that init_kl pulls to; () without a pull
    statistics: Statistics = Statistics()  # what normalisation knows; nothing without it


class UpdateResult(NamedTuple):
    state: TrainState
    losses: dict[str, Array]  # `train/…` scalars of the update
    measured: Measured


def loss_settings(settings: TrainSettings) -> LossSettings:
    return LossSettings(*(getattr(settings, name) for name in LossSettings._fields))


def network_for(settings: RunSettings, spec: Any) -> JaxNetwork:
    return make_network(describe_network(spec, **network_choice(settings), normalize=settings.normalize_obs))


def run_key(seed: int) -> np.ndarray:
    """The fixed key of a run, (2,) uint32."""
    return np.random.default_rng(seed).integers(0, 2**32, 2, dtype=np.uint32)


def initial_state(settings: TrainSettings, network: JaxNetwork, game: FunctionalGame | BatchGame) -> TrainState:
    """Fresh parameters and, for a JAX game, freshly started games (one compiled program: eager JAX is slow)."""
    rows = settings.num_envs * game.spec.players

    @jax.jit
    def build(key: Array, streams: Array) -> TrainState:
        params = network.init(jax.random.fold_in(jax.random.wrap_key_data(key), 2**31))
        return TrainState(
            params=params,
            optimiser=make_optimiser(settings.max_grad_norm).init(params),
            key=key,
            update=jnp.int32(0),
            tally=Tally(jnp.zeros(rows), jnp.zeros(rows, jnp.int32)),
            rows=functional.start(game, streams) if isinstance(game, FunctionalGame) else (),
            reference=jax.tree.map(jnp.zeros_like, params) if settings.init_kl else (),  # until a start is given
            statistics=initial_statistics(settings, game.spec, rows),
        )

    return build(run_key(settings.seed), functional.row_streams(settings.seed, rows))


def fused_update(
    settings: TrainSettings, network: JaxNetwork, game: FunctionalGame
) -> Callable[[TrainState, float], UpdateResult]:
    """(state, learning rate) → one whole update, as a single compiled program. The old state is consumed."""
    losses = loss_settings(settings)

    def update(state: TrainState, lr: Array) -> UpdateResult:
        rows, tally, rollout, measured = collect_fused(
            game,
            network,
            settings.reward_transform,
            settings.num_steps,
            state.params,
            state.rows,
            state.tally,
            phase_key(state.key, state.update, COLLECT),
        )
        shuffle = phase_key(state.key, state.update, SHUFFLE)
        guide = guidance(settings, state.params, state.reference, state.update)
        statistics, rollout = with_rewards(settings, state.statistics, rollout)
        params, optimiser, metrics = learn(network, losses, state.params, state.optimiser, rollout, lr, shuffle, guide)
        statistics, params = with_observations(settings, game.spec, statistics, rollout, state.update, params)
        following = TrainState(params, optimiser, state.key, state.update + 1, tally, rows, state.reference, statistics)
        return UpdateResult(following, metrics, measured)

    return jax.jit(update, donate_argnums=0)


class Rest(NamedTuple):
    """What of the state the learning half of an update reads but does not consume."""

    key: Array
    update: Array
    reference: Any
    statistics: Statistics


class HostUpdate:
    """The same update over a game stepped from Python."""

    def __init__(
        self,
        settings: TrainSettings,
        network: JaxNetwork,
        game: BatchGame,
        halves: int | None = None,
        seats: Seats | None = None,
    ) -> None:
        self.collector = HostCollector(game, network, settings.reward_transform, settings.num_steps, halves, seats)
        losses = loss_settings(settings)

        def learn_raw(params: Params, optimiser: Any, rollout: Any, lr: Array, rest: Rest) -> Any:
            seen = jax.vmap(lambda observation: seen_of(network, observation))(rollout.features)
            rollout = rollout._replace(features=network.prepare(rollout.features, params), seen=seen)
            statistics, rollout = with_rewards(settings, rest.statistics, rollout)
            guide = guidance(settings, params, rest.reference, rest.update)
            shuffle = phase_key(rest.key, rest.update, SHUFFLE)
            params, optimiser, metrics = learn(network, losses, params, optimiser, rollout, lr, shuffle, guide)
            statistics, params = with_observations(settings, game.spec, statistics, rollout, rest.update, params)
            return params, optimiser, metrics, statistics

        self._learn = jax.jit(learn_raw, donate_argnums=(0, 1))

    def __call__(self, state: TrainState, lr: float) -> UpdateResult:
        key = phase_key(state.key, state.update, COLLECT)
        tally, rollout, measured = self.collector.collect(state.params, state.tally, key)
        rest = Rest(state.key, state.update, state.reference, state.statistics)
        params, optimiser, metrics, statistics = self._learn(state.params, state.optimiser, rollout, lr, rest)
        following = TrainState(params, optimiser, state.key, state.update + 1, tally, (), state.reference, statistics)
        return UpdateResult(following, metrics, measured)
