"""`jimbot bench vgc`: decisions per second of random play with features and masks, and the same for poke-env."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from jimbot.errors import MissingExtraError
from jimbot.games.vgc import teams
from jimbot.games.vgc.game import VgcGame
from jimbot.games.vgc.options import DEFAULT_FORMAT, SELF, Options

BATTLES = 64
WARM_UP = 1.5  # times what is counted, before it: V8 goes on compiling what is hot for some fifteen seconds
SPLIT = "held-out"


def random_actions(rng: np.random.Generator, legal_mask: np.ndarray) -> np.ndarray:
    """(N,) one random legal action per row, without a wide array of random numbers."""
    counts = legal_mask.sum(axis=1)
    wanted = rng.integers(0, counts)
    rows, actions = np.nonzero(legal_mask)
    return actions[np.searchsorted(rows, np.arange(len(counts))) + wanted]


def play(game: VgcGame, seconds: float, rng: np.random.Generator) -> tuple[int, int, float]:
    """(decisions, battles ended, seconds) of random play, one group simulated while the other is chosen for."""
    began = time.perf_counter()
    decisions, ended = 0, 0
    for group in game.groups:
        decisions += _send(game, group, rng)
    while (elapsed := time.perf_counter() - began) < seconds:
        for group in game.groups:
            game.receive(group)
            rows = (group[:, None] * game.players + np.arange(game.players)).reshape(-1)
            ended += int((game.terminated | game.truncated)[rows].sum()) // game.players
            decisions += _send(game, group, rng)
    for group in game.groups:
        game.receive(group)
    return decisions, ended, elapsed


def _send(game: VgcGame, group: np.ndarray, rng: np.random.Generator) -> int:
    rows = (group[:, None] * game.players + np.arange(game.players)).reshape(-1)
    actions = np.zeros(game.num_rows, np.int64)
    actions[rows] = random_actions(rng, game.legal_mask[rows])
    asked = int(game.acting[rows].sum())
    game.send(actions, group)
    return asked


def bench_vgc(num_envs: int = BATTLES, seconds: float = 10.0, baseline: bool = True) -> dict[str, Any]:
    """Random play of both sides on the held-out teams; the baseline runs right after, on the same teams."""
    game = VgcGame(num_envs, options=Options(opponent=SELF, teams=SPLIT))
    rng = np.random.default_rng(0)
    try:
        game.reset()
        play(game, WARM_UP * seconds, rng)
        before = game.pool.usage()
        decisions, battles, elapsed = play(game, seconds, rng)
        after = game.pool.usage()
        spent = sum(now["cpu_seconds"] - then["cpu_seconds"] for now, then in zip(after, before, strict=True))
        figures: dict[str, Any] = {
            "workers": game.pool.workers,
            "battles_at_once": num_envs,
            "decisions_per_second": decisions / elapsed,
            "decisions_per_cpu_second": decisions / spent,
            "battles_per_second": battles / elapsed,
            "worker_megabytes": max(worker["rss_mb"] for worker in after),
            "illegal_actions": game.illegal_actions,
        }
    finally:
        game.close()
    if baseline:
        figures |= _baseline(seconds, figures["decisions_per_second"])
    return figures


def _baseline(seconds: float, ours: float) -> dict[str, Any]:
    try:
        from benchmarks.vgc_poke_env import measure
    except MissingExtraError as problem:
        return {"poke_env": str(problem)}
    theirs = measure(teams.split_teams(SPLIT), DEFAULT_FORMAT, seconds, WARM_UP * seconds)["decisions_per_second"]
    return {"poke_env_decisions_per_second": theirs, "times_poke_env": ours / theirs}
