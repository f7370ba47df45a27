"""`jimbot bench replay`: what the store does with real Balatro play."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from jimbot.games.contract import game_entry, make
from jimbot.policies.heuristics import heuristic_policy, with_needed_options
from jimbot.training.replay.lockstep import LockstepWriter, Steps
from jimbot.training.replay.rare_events import RareEventWatch
from jimbot.training.replay.store import SEGMENT_STEPS, ReplayStore

GAMES, STEPS = 64, 256
STORE_BYTES = 64_000_000
BATCHES = (32, 256)
N_STEP = 3


def recorded_play(player: str, game: str = "balatro", games: int = GAMES, steps: int = STEPS) -> dict[str, np.ndarray]:
    """(steps, games, …) arrays of real games, for measuring."""
    policy = heuristic_policy(player, game)
    batch = make(game, games, seed=1, options=with_needed_options(policy))
    batch.reset()
    names = ("observation", "legal_mask", "action", "reward", "terminated", "truncated", "after")
    kept: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for _ in range(steps):
        actions = policy.act(batch.observation, batch.legal_mask, deterministic=False).actions
        for name, value in (("observation", batch.observation), ("legal_mask", batch.legal_mask), ("action", actions)):
            kept[name].append(value.copy())
        batch.step(actions)
        for name in ("reward", "terminated", "truncated"):
            kept[name].append(getattr(batch, name).copy())
        ended = (batch.terminated | batch.truncated)[:, None]
        kept["after"].append(np.where(ended, batch.final_observation, batch.observation))
    batch.close()
    return {name: np.stack(values) for name, values in kept.items()}


def bench_replay(seconds: float) -> dict[str, Any]:
    """Ratio, exactness and rates, on the play of a heuristic and of a random player."""
    spec, figures = game_entry("balatro").spec, {}
    for player in ("heuristic", "random"):
        play = recorded_play(player)
        store = ReplayStore(spec.observation.size, spec.actions.size, STORE_BYTES)
        writer, watch = LockstepWriter(store, GAMES), RareEventWatch(spec)
        began, cpu = time.perf_counter(), time.process_time()
        for step in range(STEPS):
            boost = watch.boost(play["observation"][step], play["after"][step])
            writer.add(Steps(**{name: play[name][step] for name in Steps._fields}), boost)
        figures[f"{player}_steps_added_per_second"] = STEPS * GAMES / (time.perf_counter() - began)
        figures[f"{player}_steps_added_per_cpu_second"] = STEPS * GAMES / (time.process_time() - cpu)
        figures[f"{player}_observation_ratio"] = store.ratio
        figures[f"{player}_exact"] = _is_exact(store, play)
        figures |= {f"{player}_{name}_seen": float(count) for name, count in watch.counts().items()}
        for size in BATCHES:
            rates = _draw_rates(store, size, seconds / 4)
            figures |= {f"{player}_batch_{size}_{name}": rate for name, rate in rates.items()}
    return figures


def _draw_rates(store: ReplayStore, size: int, seconds: float) -> dict[str, float]:
    """Draws of `size` windows with their priorities updated, as a learner does it."""
    luck = np.random.default_rng(0)
    drawn, began, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        batch = store.draw(size, luck, N_STEP, 0.99)
        store.update_priorities(batch.index, luck.random(size))
        drawn += size
    return {
        "drawn_per_second": drawn / (time.perf_counter() - began),
        "drawn_per_cpu_second": drawn / (time.process_time() - cpu),
    }


def _is_exact(store: ReplayStore, play: dict[str, np.ndarray]) -> bool:
    """Whether every row held comes back bit for bit. Segments of one stretch lie side by side, one per game."""
    for serial in range(store.oldest, store.newest):
        stretch, game = divmod(serial, GAMES)
        steps = slice(stretch * SEGMENT_STEPS, (stretch + 1) * SEGMENT_STEPS)
        observation, legal_mask = store.rows(serial * SEGMENT_STEPS + np.arange(SEGMENT_STEPS))
        same = observation.tobytes() == play["observation"][steps, game].tobytes()
        if not (same and np.array_equal(legal_mask, play["legal_mask"][steps, game])):
            return False
    return True
