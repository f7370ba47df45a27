"""The compiled programs of the learner, the state they carry from update to update, and what trainers share.

For a JAX game an update is one program: rollout, advantages, epochs of minibatches. For any other game the rollout
is collected from Python and the learning buffer of the very same code runs on it. Everything random derives from
(run key, update number), so the state holds no generator that could be used twice.

The members of a population and the trials of a search differ in a few numbers of the loss. Those are arguments of the
programs, as the learning rate is, so trainers that take turns in one process compile once. A program is found again by
its key: the network, the game, and every setting that is not known to leave it alone. A setting that is added later is
therefore part of the key until a setting says otherwise.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.errors import SettingsError
from jimbot.games import functional
from jimbot.games.contract import BatchGame, FunctionalGame, functional_game
from jimbot.games.spec import GameSpec
from jimbot.policies.jax_networks import JaxNetwork, Params, make_network
from jimbot.policies.networks import describe_network
from jimbot.policies.onnx_form import onnx_from_params
from jimbot.policies.own_networks import OWN
from jimbot.training.environments import has_curriculum, training_game, training_options
from jimbot.training.jax_ppo.collector import HostCollector
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.extensions import extensions_of
from jimbot.training.jax_ppo.ppo import (
    COLLECT,
    SHUFFLE,
    act,
    collect_fused,
    learn,
    make_optimiser,
    observed,
    phase_key,
    uniforms,
)
from jimbot.training.jax_ppo.records import Hyperparameters, Rollout, Tally, Update
from jimbot.training.session.log_rows import Measured
from jimbot.training.settings.record import CHANGEABLE, RunSettings, TrainSettings, network_choice

Array = jax.Array
KEPT_PROGRAMS = 4
REPEATS = 5  # of what is timed
TRACED = ("gamma", "gae_lambda", "clip_eps", "vf_coef", "ent_coef", "max_grad_norm")
"""Settings that are arguments of the programs."""
APART = (CHANGEABLE - {"gradient_accumulation"}) | {
    *("seed", "lr", "anneal_lr", "adviser", "count_bonus", "strategy_bonus", "keep_games"),
    *("init_from", "bc_model", "league", "league_members", "past_interval"),
    *TRACED,
}
"""Settings that no program is compiled for."""


class TrainState(NamedTuple):
    """All that changes while learning; what exact resume stores (beside a host-stepped game's snapshot)."""

    params: Params
    optimiser: Any
    key: Array  # (2,) uint32, fixed for the run
    update: Array  # () int32, updates done
    tally: Tally
    rows: Any  # functional.Rows of a fused game; () when the game is stepped from Python
    extensions: dict[str, Any]  # what each extension carries, by its name


class UpdateResult(NamedTuple):
    state: TrainState
    losses: dict[str, Array]  # `train/…` scalars of the update
    measured: Measured


def network_for(settings: RunSettings, spec: Any) -> JaxNetwork:
    network = make_network(describe_network(spec, **network_choice(settings), normalize=settings.normalize_obs))
    if OWN in network.description:  # what cannot be written down is said before anything is learned
        first = {name: np.asarray(value) for name, value in network.init(settings.seed).items()}
        onnx_from_params(network.description, first, spec.observation.size, spec.actions.size)
    return network


def run_key(seed: int) -> np.ndarray:
    """The fixed key of a run, (2,) uint32."""
    return np.random.default_rng(seed).integers(0, 2**32, 2, dtype=np.uint32)


def hyperparameters(settings: TrainSettings) -> Hyperparameters:
    return Hyperparameters(**{name: settings[name] for name in Hyperparameters._fields})


def traced(settings: TrainSettings) -> dict[str, Any]:
    return {name: settings[name] for name in TRACED}


def program_key(settings: TrainSettings) -> str:
    return json.dumps({name: value for name, value in settings.flat().items() if name not in APART}, sort_keys=True)


def settings_of(key: str) -> TrainSettings:
    """The settings a program is compiled for; what is apart from it has its default."""
    return TrainSettings(**json.loads(key))


def network_text(network: JaxNetwork) -> str:
    """A network as a key: its description, in its own order."""
    return json.dumps(network.description)


def games_for(settings: TrainSettings, extensions: Sequence[Extension]) -> FunctionalGame | BatchGame:
    """The games of a run: compiled together with the learner where they can be."""
    by_hand = settings.stepping == "host" or has_curriculum(settings)
    by_hand |= any(extension.needs_host for extension in extensions)
    pure = None if by_hand else _pure_game(settings.game, json.dumps(training_options(settings), sort_keys=True))
    if pure is not None:
        return pure
    if settings.stepping == "fused":
        raise SettingsError(f"Game '{settings.game}' is not written in JAX; it cannot be fused. Use --stepping host.")
    return training_game(settings)


@lru_cache(maxsize=KEPT_PROGRAMS)
def _pure_game(game: str, options: str) -> FunctionalGame | None:
    """One object per game and options, so that trainers of one process share the programs compiled for it."""
    return functional_game(game, json.loads(options))


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
    program, numbers = _fused(network_text(network), game, program_key(settings)), traced(settings)
    return lambda state, lr: program(state, lr, numbers)


class HostUpdate:
    """The same update over a game stepped from Python."""

    def __init__(
        self,
        settings: TrainSettings,
        network: JaxNetwork,
        game: BatchGame,
        extensions: Sequence[Extension] = (),
        buffers: int | None = None,
        folder: Path | None = None,
    ) -> None:
        self.collector = HostCollector(
            game, network, settings.reward_transform, settings.num_steps, extensions, buffers, folder
        )
        self._numbers = traced(settings)
        self._learn = _learning(network_text(network), game.spec, program_key(settings))

    def __call__(self, state: TrainState, lr: float) -> UpdateResult:
        tally, rollout, measured = self.collector.collect(state.params, state.tally, state.key, int(state.update))
        state, losses = self._learn(state._replace(tally=tally), rollout, lr, self._numbers)
        return UpdateResult(state, losses, measured)


def learned(
    settings: TrainSettings,
    network: JaxNetwork,
    extensions: Sequence[Extension],
    state: TrainState,
    rollout: Rollout,
    lr: Array,
) -> tuple[TrainState, dict[str, Array]]:
    """The learning buffer of an update, the same for every game: the state after `ppo.learn`, and its metrics."""
    update = Update(network, state.params, state.update, dict(state.extensions))
    for extension in extensions:
        kept, rollout = extension.transform(update, rollout)
        update = _with(update, extension, kept)
    key = phase_key(state.key, state.update, SHUFFLE)
    params, optimiser, metrics = learn(hyperparameters(settings), extensions, update, state.optimiser, rollout, lr, key)
    for extension in extensions:
        kept, params = extension.after_learning(update, rollout, params)
        update = _with(update, extension, kept)
    following = state._replace(params=params, optimiser=optimiser, extensions=update.state, update=state.update + 1)
    return following, metrics


def _with(update: Update, extension: Extension, kept: Any) -> Update:
    return update if kept is None else update._replace(state=update.state | {extension.name: kept})


def _start_program(
    settings: TrainSettings, game: FunctionalGame | BatchGame, rows: int
) -> Callable[[Params, Any, Any], TrainState]:
    extensions = extensions_of(settings, game.spec)

    @jax.jit
    def build(params: Params, key: Array, streams: Array) -> TrainState:
        found = {extension.name: extension.initial_state(params, rows) for extension in extensions}
        return TrainState(
            params=params,
            optimiser=make_optimiser(settings.ppo.max_grad_norm).init(params),
            key=key,
            update=jnp.int32(0),
            tally=Tally(jnp.zeros(rows), jnp.zeros(rows, jnp.int32)),
            rows=functional.start(game, streams) if isinstance(game, FunctionalGame) else (),
            extensions={name: kept for name, kept in found.items() if kept is not None},
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
        extensions = extensions_of(settings, game.spec)
        rows, tally, rollout, measured = collect_fused(
            game,
            network,
            extensions,
            settings.reward_transform,
            settings.num_steps,
            state.params,
            state.rows,
            state.tally,
            phase_key(state.key, state.update, COLLECT),
        )
        played = state._replace(rows=rows, tally=tally)
        state, losses = learned(settings, network, extensions, played, rollout, lr)
        return UpdateResult(state, losses, measured)

    return jax.jit(update, donate_argnums=0)


@lru_cache(maxsize=KEPT_PROGRAMS)
def _learning(described: str, spec: GameSpec, key: str) -> Callable[..., Any]:
    network, fixed = make_network(json.loads(described)), settings_of(key)

    def learn_raw(state: TrainState, rollout: Rollout, lr: Array, numbers: dict[str, Any]) -> Any:
        """From a rollout of raw observations."""
        settings = fixed.model_copy(update=numbers)
        extensions = extensions_of(settings, spec)
        extras = jax.vmap(lambda observation: observed(extensions, observation))(rollout.features)
        rollout = rollout._replace(
            features=network.prepare(rollout.features, state.params), extras={**rollout.extras, **extras}
        )
        return learned(settings, network, extensions, state, rollout, lr)

    return jax.jit(learn_raw, donate_argnums=0)


def fused_phase_seconds(
    settings: TrainSettings, network: JaxNetwork, game: FunctionalGame, state: TrainState
) -> dict[str, float]:
    """Seconds per update spent in simulate, observe and act.

    Inside one compiled program there is nothing to time, so its parts are compiled once more by themselves and timed on
    the live games: the rest is learning.
    """
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


def forget_programs() -> None:
    """Lets go of everything compiled, some 60 MB for each size of a batch: what is still needed compiles again."""
    for kept in (_starting, _fused, _learning, _parts):
        kept.cache_clear()
    jax.clear_caches()
