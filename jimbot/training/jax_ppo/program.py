"""The compiled programs of the learner, and the state they carry from update to update.

For a JAX game an update is one program: rollout, advantages, epochs of minibatches. For any other game the rollout
is collected from Python and the learning half of the very same code runs on it. Everything random derives from
(run key, update number), so the state holds no generator that could be used twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games import functional
from jimbot.games.contract import BatchGame, FunctionalGame
from jimbot.games.spec import GameSpec
from jimbot.policies.jax_networks import JaxNetwork, Params, make_network
from jimbot.policies.networks import describe_network
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.own_networks import OWN
from jimbot.training.exploration.counting import CountBonus
from jimbot.training.exploration.weighing import RareWeight
from jimbot.training.jax_ppo.entropy import blocks_of
from jimbot.training.jax_ppo.guidance import guidance
from jimbot.training.jax_ppo.normalising import Statistics, initial_statistics, with_observations, with_rewards
from jimbot.training.jax_ppo.rollout import (
    COLLECT,
    SHUFFLE,
    TEACH,
    HostCollector,
    Rollout,
    Tally,
    collect_fused,
    phase_key,
    seen_of,
)
from jimbot.training.jax_ppo.shared import KEPT_PROGRAMS, network_text, numbers_of, program_key, settings_of
from jimbot.training.jax_ppo.teacher import Teacher
from jimbot.training.jax_ppo.update import LossSettings, learn, make_optimiser
from jimbot.training.league.opponents import Seats
from jimbot.training.session.log_rows import Measured
from jimbot.training.settings.record import RunSettings, TrainSettings, network_choice

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


def loss_settings(settings: TrainSettings, spec: GameSpec | None = None) -> LossSettings:
    """What of the settings shapes learning; `spec` is needed only where blocks of actions are named."""
    numbers = {name: settings[name] for name in LossSettings._fields if name != "blocks"}
    return LossSettings(**numbers, blocks=None if spec is None else blocks_of(spec, settings.ppo.ent_blocks))


def network_for(settings: RunSettings, spec: Any) -> JaxNetwork:
    chosen = network_choice(settings)
    rival = isinstance(settings, TrainSettings) and settings.ppo.rival_coef > 0
    network = make_network(describe_network(spec, **chosen, normalize=settings.normalize_obs, rival=rival))
    if OWN in network.description:  # what cannot be written down is said before anything is learned
        first = {name: np.asarray(value) for name, value in network.init(settings.seed).items()}
        onnx_from_params(network.description, first, spec.observation.size, spec.actions.size)
    return network


def run_key(seed: int) -> np.ndarray:
    """The fixed key of a run, (2,) uint32."""
    return np.random.default_rng(seed).integers(0, 2**32, 2, dtype=np.uint32)


def initial_state(settings: TrainSettings, network: JaxNetwork, game: FunctionalGame | BatchGame) -> TrainState:
    """Fresh parameters and, for a JAX game, freshly started games (one compiled program: eager JAX is slow)."""
    rows = settings.num_envs * game.spec.players
    if isinstance(game, FunctionalGame):
        build = _starting(game, program_key(settings), rows)
    else:
        build = _start_program(settings, game, rows)
    return build(network.init(settings.seed), run_key(settings.seed), functional.row_streams(settings.seed, rows))


def fused_update(
    settings: TrainSettings, network: JaxNetwork, game: FunctionalGame
) -> Callable[[TrainState, float], UpdateResult]:
    """(state, learning rate) → one whole update, as a single compiled program. The old state is consumed."""
    program, numbers = _fused(network_text(network), game, program_key(settings)), numbers_of(settings)
    return lambda state, lr: program(state, lr, numbers)


class HostUpdate:
    """The same update over a game stepped from Python."""

    def __init__(
        self,
        settings: TrainSettings,
        network: JaxNetwork,
        game: BatchGame,
        halves: int | None = None,
        seats: Seats | None = None,
        folder: Path | None = None,
        teacher: Teacher | None = None,
        bonus: CountBonus | None = None,
        rare: RareWeight | None = None,
    ) -> None:
        self.teacher, self.bonus, self.rare = teacher, bonus, rare
        guest = teacher if teacher is not None and teacher.play > 0 else None
        self.collector = HostCollector(
            game, network, settings.reward_transform, settings.num_steps, halves, seats, folder, guest,
            foresees=bool(settings.ppo.rival_coef),
        )  # fmt: skip
        self._numbers, self._gamma = numbers_of(settings), settings.gamma
        self._learn = _learning(network_text(network), game.spec, program_key(settings))

    def __call__(self, state: TrainState, lr: float) -> UpdateResult:
        key = phase_key(state.key, state.update, COLLECT)
        update = int(state.update)
        guests = 0 if self.teacher is None else self.teacher.rows(update, self.collector.game.num_rows)
        tally, rollout, measured = self.collector.collect(state.params, state.tally, key, guests)
        if self.teacher is not None:
            label = self.teacher.labels(rollout, update, phase_key(state.key, state.update, TEACH))
            rollout = rollout._replace(label=label)
        if self.teacher is not None and self.teacher.shaping:
            ended = self.collector.terminated, self.collector.truncated
            gained = self.teacher.shaped(self.collector.steps(), *ended, self._gamma)
            rollout = rollout._replace(reward=rollout.reward + gained)
        if self.bonus is not None:
            rollout = rollout._replace(reward=rollout.reward + self.bonus.rewards(self.collector.steps()))
        if self.rare is not None:
            rollout = rollout._replace(weight=self.rare.weights(self.collector.steps()))
        state, losses = self._learn(state._replace(tally=tally), rollout, lr, self._numbers)
        return UpdateResult(state, losses, measured)


def learned(
    settings: TrainSettings, network: JaxNetwork, spec: GameSpec, state: TrainState, rollout: Rollout, lr: Array
) -> tuple[TrainState, dict[str, Array]]:
    """The learning half of an update, the same for every game: the state after `update.learn`, and its metrics."""
    statistics, rollout = with_rewards(settings, state.statistics, rollout)
    guide = guidance(settings, state.params, state.reference, state.update)
    key = phase_key(state.key, state.update, SHUFFLE)
    params, optimiser, metrics = learn(
        network, loss_settings(settings, spec), state.params, state.optimiser, rollout, lr, key, guide
    )
    statistics, params = with_observations(settings, spec, statistics, rollout, state.update, params)
    following = state._replace(params=params, optimiser=optimiser, statistics=statistics, update=state.update + 1)
    return following, metrics


def _start_program(
    settings: TrainSettings, game: FunctionalGame | BatchGame, rows: int
) -> Callable[[Params, Any, Any], TrainState]:
    @jax.jit
    def build(params: Params, key: Array, streams: Array) -> TrainState:
        return TrainState(
            params=params,
            optimiser=make_optimiser(settings.ppo.max_grad_norm).init(params),
            key=key,
            update=jnp.int32(0),
            tally=Tally(jnp.zeros(rows), jnp.zeros(rows, jnp.int32)),
            rows=functional.start(game, streams) if isinstance(game, FunctionalGame) else (),
            reference=jax.tree.map(jnp.zeros_like, params) if settings.start.init_kl else (),  # until a start is given
            statistics=initial_statistics(settings, game.spec, rows),
        )

    return build


@lru_cache(maxsize=KEPT_PROGRAMS)
def _starting(game: FunctionalGame, key: str, rows: int) -> Callable[[Params, Any, Any], TrainState]:
    return _start_program(settings_of(key), game, rows)


@lru_cache(maxsize=KEPT_PROGRAMS)
def _fused(described: str, game: FunctionalGame, key: str) -> Callable[..., UpdateResult]:
    network, fixed = make_network(json.loads(described)), settings_of(key)

    def update(state: TrainState, lr: Array, numbers: dict[str, Any]) -> UpdateResult:
        settings = fixed.model_copy(update=numbers)
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
        played = state._replace(rows=rows, tally=tally)
        state, losses = learned(settings, network, game.spec, played, rollout, lr)
        return UpdateResult(state, losses, measured)

    return jax.jit(update, donate_argnums=0)


@lru_cache(maxsize=KEPT_PROGRAMS)
def _learning(described: str, spec: GameSpec, key: str) -> Callable[..., Any]:
    network, fixed = make_network(json.loads(described)), settings_of(key)

    def learn_raw(state: TrainState, rollout: Rollout, lr: Array, numbers: dict[str, Any]) -> Any:
        """From a rollout of raw observations."""
        seen = jax.vmap(lambda observation: seen_of(network, observation))(rollout.features)
        rollout = rollout._replace(features=network.prepare(rollout.features, state.params), seen=seen)
        return learned(fixed.model_copy(update=numbers), network, spec, state, rollout, lr)

    return jax.jit(learn_raw, donate_argnums=0)
