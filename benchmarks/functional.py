"""How fast a game written in JAX is: for `jimbot bench`.

Machines are shared and noisy, so the figure comes with work per CPU-second and with a baseline measured in the same
process: one game at a time, stepped from Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.errors import UsageError
from jimbot.games import functional
from jimbot.games.checker import random_legal
from jimbot.games.contract import FunctionalGame, functional_game, make
from jimbot.machine import peak_memory_mb

GAMES = 1024
SCAN_STEPS = 64


def bench_game(game_id: str, num_envs: int | None = None, seconds: float = 5.0) -> dict[str, Any]:
    """Random legal play with observation and mask, all games in one compiled scan."""
    num_envs = num_envs or GAMES
    game = _functional(game_id)

    @jax.jit
    def play(rows: functional.Rows, key: Any) -> Any:
        def step(carry: Any, turn: Any) -> Any:
            rows, total = carry
            observation = game.observe_batch(rows.state)
            legal_mask = game.legal_mask_batch(rows.state)
            noise = jax.random.bits(jax.random.fold_in(key, turn), legal_mask.shape) >> 1
            action = jnp.argmax(jnp.where(legal_mask, noise.astype(jnp.int32), -1), axis=1)
            rows, advanced = functional.advance(game, rows, action)
            # The observation is used, so the compiler cannot drop it.
            return (rows, total + jnp.sum(observation)), jnp.sum(advanced.ended)

        return jax.lax.scan(step, (rows, jnp.float32(0)), jnp.arange(SCAN_STEPS))

    streams = jnp.asarray(functional.row_streams(0, num_envs))
    began = time.perf_counter()
    rows = jax.jit(lambda streams: functional.start(game, streams))(streams)
    (rows, _), _ = jax.block_until_ready(play(rows, jax.random.key(0)))
    compile_seconds = time.perf_counter() - began
    episodes = 0

    def once(repeat: int) -> None:
        nonlocal rows, episodes
        (rows, _), ended = jax.block_until_ready(play(rows, jax.random.key(1 + repeat)))
        episodes += int(ended.sum())

    wall, cpu, repeats = timed(once, seconds)
    steps = repeats * SCAN_STEPS * num_envs
    single = _one_at_a_time(game_id, seconds / 2)
    return {
        "game": game_id,
        "num_envs": num_envs,
        "steps_per_second": steps / wall,
        "steps_per_cpu_second": steps / cpu,
        "episodes_per_hour": 3600 * episodes / wall,
        "baseline": "one game stepped from Python",
        "baseline_steps_per_second": single,
        "ratio_to_baseline": steps / wall / single,
        "compile_seconds": compile_seconds,
        "rss_mb": peak_memory_mb(),
    }


def timed(once: Callable[[int], None], seconds: float) -> tuple[float, float, int]:
    """(wall seconds, CPU seconds, repeats) of calling `once` for about so long."""
    wall, cpu = time.perf_counter(), time.process_time()
    repeats = 0
    while time.perf_counter() - wall < seconds or repeats < 2:
        once(repeats)
        repeats += 1
    return time.perf_counter() - wall, time.process_time() - cpu, repeats


def _functional(game_id: str) -> FunctionalGame:
    game = functional_game(game_id)
    if game is None:
        raise UsageError(f"Game '{game_id}' is not written in JAX; this benchmark is for those that are.")
    return game


def _one_at_a_time(game_id: str, seconds: float) -> float:
    game = make(game_id, 1)
    game.reset()
    rng = np.random.default_rng(0)
    ended = False
    while not ended:  # everything that will be timed has been compiled once a game has ended
        game.step(random_legal(rng, game.legal_mask))
        ended = bool(game.terminated[0] | game.truncated[0])
    wall, _, repeats = timed(lambda _: game.step(random_legal(rng, game.legal_mask)), seconds)
    return repeats / wall
