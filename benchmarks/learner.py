"""Benchmarks of the learner: what `jimbot bench learner` prints.

Machines are shared and noisy, so each figure comes with work per CPU-second and with a baseline measured in the same
process: the matrix-product roofline of the very same network.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import psutil

from benchmarks.functional import timed
from benchmarks.operations import operation_shares
from jimbot.games.contract import BatchGame, FunctionalGame, functional_game
from jimbot.policies.jax_networks import Params, make_network
from jimbot.policies.networks import describe_network, forward_flops, train_flops
from jimbot.training.environments import training_game, training_options
from jimbot.training.jax_ppo.ppo import every_row_decides, learn, make_optimiser
from jimbot.training.jax_ppo.program import (
    HostUpdate,
    TrainState,
    UpdateResult,
    fused_update,
    hyperparameters,
    initial_state,
)
from jimbot.training.jax_ppo.records import Update
from jimbot.training.presets import preset
from jimbot.training.settings.record import TrainSettings, load_settings, network_choice


def learner_settings(game_id: str, network: str = "auto", hidden_dim: int = 0, num_envs: int = 256) -> TrainSettings:
    """What the learner is measured with: the preset of a game stepped from Python, field defaults for a JAX game."""
    chosen = {"game": game_id, "network": network, "hidden_dim": hidden_dim, "num_envs": num_envs, "minutes": None}
    return load_settings({} if functional_game(game_id) else preset(game_id, "jax"), chosen)


def bench_learner(settings: TrainSettings, seconds: float = 10.0) -> dict[str, Any]:
    """PPO: roofline of the network, the learning phase alone, and whole updates."""
    game = functional_game(settings.game, training_options(settings)) or training_game(settings)
    described = describe_network(game.spec, **network_choice(settings))
    flops = forward_flops(described) + settings.ppo.update_epochs * train_flops(described)
    peak = peak_flops_per_second()
    learning, shares = _learning_phase(settings, described, seconds / 2)
    compile_seconds, wall_rate, cpu_rate = _end_to_end(settings, described, game, seconds)
    peak = max(peak, peak_flops_per_second())
    learning_flops = settings.ppo.update_epochs * train_flops(described)
    return {
        "game": settings.game,
        "network": described["kind"],
        "hidden": described["hidden"],
        "num_envs": settings.num_envs,
        "mflop_per_step": flops / 1e6,
        "peak_gflop_per_second": peak / 1e9,
        "roofline_steps_per_second": peak / flops,
        "learning_steps_per_second": learning,
        "roofline_fraction": learning * learning_flops / peak,
        **shares,
        "steps_per_second": wall_rate,
        "steps_per_cpu_second": cpu_rate,
        "end_to_end_roofline_fraction": wall_rate * flops / peak,
        "compile_seconds": compile_seconds,
        "rss_mb": psutil.Process().memory_info().rss / 2**20,
    }


def peak_flops_per_second(size: int = 2048) -> float:
    """The best float32 matrix product this machine does just now."""
    a = jnp.ones((size, size))
    product = jax.jit(lambda a: a @ a)
    jax.block_until_ready(product(a))
    best = float("inf")
    for _ in range(8):
        began = time.perf_counter()
        jax.block_until_ready(product(a))
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best


def _learning_phase(
    settings: TrainSettings, described: dict[str, Any], seconds: float
) -> tuple[float, dict[str, float]]:
    """Steps per second of the update alone, on a made-up rollout of the real shapes; what it spends its time on."""
    network = make_network(described)
    shape = (settings.num_steps, settings.num_envs)

    @jax.jit
    def build(params: Params, key: Any) -> Any:
        observation = jax.random.uniform(key, (*shape, described["observation_size"]))
        zeros = jnp.zeros(shape)
        never = jnp.zeros(shape, bool)
        legal_mask = jnp.ones((*shape, described["num_actions"]), bool)
        log_probability = zeros - jnp.log(described["num_actions"])
        reward = jax.random.normal(key, shape)
        stored = (network.prepare(observation, params), legal_mask, jnp.zeros(shape, jnp.int32), log_probability)
        rollout = every_row_decides(*stored, zeros, reward, never, never, zeros, last_value=zeros[0])
        return params, make_optimiser(settings.ppo.max_grad_norm).init(params), rollout

    params, optimiser, rollout = build(network.init(0), jax.random.key(0))

    def learned(params: Params, optimiser: Any, rollout: Any, key: Any) -> Any:
        update = Update(network, params, jnp.int32(0), {})
        return learn(hyperparameters(settings), (), update, optimiser, rollout, jnp.float32(settings.ppo.lr), key)

    program = jax.jit(learned, donate_argnums=(0, 1))

    def once(repeat: int) -> None:
        nonlocal params, optimiser
        answer = program(params, optimiser, rollout, jax.random.key(repeat))
        params, optimiser, _ = jax.block_until_ready(answer)

    once(0)
    wall, _, repeats = timed(once, seconds)
    return repeats * settings.batch_size / wall, operation_shares(lambda: once(0))


def _end_to_end(
    settings: TrainSettings, described: dict[str, Any], game: FunctionalGame | BatchGame, seconds: float
) -> tuple[float, float, float]:
    """(compile seconds, steps per second, steps per CPU-second) of whole updates."""
    network = make_network(described)
    update: Callable[[TrainState, float], UpdateResult]
    if isinstance(game, BatchGame):
        game.reset()
        update = HostUpdate(settings, network, game)
    else:
        update = fused_update(settings, network, game)
    began = time.perf_counter()
    state = initial_state(settings, network, game)
    state = jax.block_until_ready(update(state, settings.ppo.lr)).state
    compile_seconds = time.perf_counter() - began

    def once(_: int) -> None:
        nonlocal state
        state = jax.block_until_ready(update(state, settings.ppo.lr)).state

    wall, cpu, repeats = timed(once, seconds)
    steps = repeats * settings.batch_size
    return compile_seconds, steps / wall, steps / cpu
