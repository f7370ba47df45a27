"""Plays exactly the games asked for: every seed once, from its first move to its end.

A batch restarts ended games by itself and can only be seeded as a whole, so games run in waves: all rows start from
given seeds, a row whose game is over is held, and the next wave begins when all are. The last wave is filled up with
repeated seeds whose results are thrown away, so that a compiled game sees one batch size only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.contract import BatchGame, game_entry, make
from jimbot.policies.contract import Policy, decide
from jimbot.policies.heuristics import with_needed_options

RETURN, LENGTH, WIN_RATE = "return", "length", "win_rate"
"""Names of the metrics every game has, as reports, comparisons and JSON spell them."""
Progress = Callable[[int, int], None]
"""Called whenever games end, with (games over, games in all)."""


class Witness(Protocol):
    """Sees games while they are played; rows are of the batch that plays them."""

    def begin(self, game: BatchGame, numbers: np.ndarray) -> None:
        """Games start: row i plays game `numbers[i]`; rows beyond are fillers that never count."""
        ...

    def before(self, actions: np.ndarray, live: np.ndarray) -> None:
        """A step is about to be taken: `actions` (N,) count where `live` (N,) is True."""
        ...

    def after(self, ended: np.ndarray) -> None:
        """It was taken; the games of rows where `ended` (N,) is True are over and these rows have begun new ones."""
        ...


@dataclass(frozen=True)
class Games:
    """What happened in n games, in the order of their seeds."""

    game: str
    policy: str
    seeds: np.ndarray  # (n,) uint64
    returns: np.ndarray  # (n,) float64, sum of rewards
    lengths: np.ndarray  # (n,) int64, steps
    reward_terms: np.ndarray  # (n, K) float64, sums
    stats: np.ndarray  # (n, S) float64, episode statistics; not a number where unfinished
    truncated: np.ndarray  # (n,) bool, cut off by the game's own limit
    unfinished: np.ndarray  # (n,) bool, given up after `max_steps`
    illegal_actions: int
    seconds: float
    """Spent playing; without the first step, which may compile the game."""

    def stat(self, name: str) -> np.ndarray:
        """One episode statistic, (n,) float64."""
        return self.stats[:, game_entry(self.game).spec.episode_stats.index(name)]


def play_games(
    policy: Policy,
    game_id: str,
    seeds: np.ndarray,
    options: Mapping[str, Any] | None = None,
    deterministic: bool = True,
    num_envs: int = 256,
    progress: Progress | None = None,
    rng_seed: int = 0,
    max_steps: int = 100_000,
    witness: Witness | None = None,
    batch: BatchGame | None = None,
) -> Games:
    """Plays each seed once. Equal arguments give equal games.

    `batch` are games that the caller made (and closes): they are played in as they are, `options` and `num_envs`
    are theirs.

    `rng_seed` seeds the generator of policies that draw their actions. `max_steps` ends games that a policy would never
    bring to an end; they are counted as unfinished.
    """
    seeds = np.asarray(seeds, np.uint64)
    spec = game_entry(game_id).spec if batch is None else batch.spec
    if spec.players != 1:
        raise UsageError(f"Game '{game_id}' has {spec.players} players; games of one player can be played alone.")
    if seeds.ndim != 1 or len(seeds) == 0:
        raise UsageError(f"Got seeds of shape {seeds.shape}; expected a list of at least one seed.")
    if num_envs < 1 or max_steps < 1:
        raise UsageError(f"num_envs is {num_envs} and max_steps {max_steps}; expected at least 1 of each.")
    count = len(seeds)
    rng = np.random.default_rng(rng_seed)
    clock = _Clock()
    game = batch or make(game_id, min(num_envs, count), options=with_needed_options(policy, options))
    illegal_before = game.illegal_actions
    try:
        waves = []
        for first in range(0, count, game.num_envs):

            def report(over: int, before: int = first) -> None:
                if progress is not None:
                    progress(before + over, count)

            wave = seeds[first : first + game.num_envs]
            numbers = np.arange(first, first + len(wave))
            waves.append(_play_wave(game, policy, wave, deterministic, rng, max_steps, report, witness, numbers, clock))
        illegal_actions = game.illegal_actions - illegal_before
    finally:
        if batch is None:
            game.close()
    together = {name: np.concatenate([wave[name] for wave in waves]) for name in waves[0]}
    return Games(
        game=game_id,
        policy=policy.name,
        seeds=seeds,
        illegal_actions=illegal_actions,
        seconds=clock.seconds,
        **together,
    )


class _Clock:
    """Runs from its first start."""

    def __init__(self) -> None:
        self._began: float | None = None

    def start(self) -> None:
        if self._began is None:
            self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        return 0.0 if self._began is None else time.perf_counter() - self._began


def _play_wave(
    game: BatchGame,
    policy: Policy,
    seeds: np.ndarray,
    deterministic: bool,
    rng: np.random.Generator,
    max_steps: int,
    report: Callable[[int], None],
    witness: Witness | None,
    numbers: np.ndarray,
    clock: _Clock,
) -> dict[str, np.ndarray]:
    rows, used = game.num_rows, len(seeds)
    over = np.zeros(rows, bool)
    over[used:] = True  # fillers
    lengths = np.zeros(rows, np.int64)
    reward_terms = np.zeros((rows, len(game.spec.reward_terms)))
    returns = np.zeros(rows)
    stats = np.full((rows, len(game.spec.episode_stats)), np.nan)
    truncated = np.zeros(rows, bool)
    game.reset(np.resize(seeds, rows))
    if witness is not None:
        witness.begin(game, numbers)
    for _ in range(max_steps):
        live = ~over
        decision = decide(policy, game, live, deterministic, rng)
        if witness is not None:
            witness.before(decision.actions, live)
        game.step(decision.actions, hold=over)
        lengths += live
        returns[live] += game.reward[live]
        reward_terms[live] += game.reward_terms[live]
        ended = (game.terminated | game.truncated) & live
        stats[ended] = game.final_stats[ended]
        truncated |= game.truncated & live
        if witness is not None:
            witness.after(ended)
        clock.start()
        if ended.any():
            over = over | ended
            report(int(over[:used].sum()))
            if over.all():
                break
    return {
        "returns": returns[:used],
        "lengths": lengths[:used],
        "reward_terms": reward_terms[:used],
        "stats": stats[:used],
        "truncated": truncated[:used],
        "unfinished": ~over[:used],
    }
