"""Games of an arena: those that are missing, played; and results that are checked.

A result is proved in two ways. Its moves are replayed by the rules, which takes no player: the same moves must lead to
the same end. And its player is asked again at every position, which tells a worker that plays other moves than the
player it claims.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jimbot.errors import UsageError
from jimbot.evaluation.arena.league import Arena, Result, pack, unpack
from jimbot.evaluation.play import play_games
from jimbot.games.contract import BatchGame, make
from jimbot.policies.contract import decide
from jimbot.policies.heuristics import RANDOM

UNIT = 32  # games of a unit of work
TOLERANCE = 1e-4  # of a return, which is a sum of float32


class Unit(NamedTuple):
    """Some games of one player."""

    player: str
    round: int
    cell: str
    seeds: tuple[int, ...]


def missing_units(arena: Arena) -> Iterator[Unit]:
    """What has not been played yet, round by round, all players side by side."""
    for number, drawn in enumerate(arena.rounds):
        seeds = drawn.seeds(arena.games)
        for first in range(0, len(seeds), UNIT):
            for cell in arena.cells:
                for player in arena.players:
                    done = arena.of(player, number, cell)
                    left = tuple(int(seed) for seed in seeds[first : first + UNIT] if int(seed) not in done)
                    if left:
                        yield Unit(player, number, cell, left)


class _Moves:
    """Writes the actions of many games down (a `Witness` of games)."""

    def __init__(self, count: int) -> None:
        self.of: list[list[int]] = [[] for _ in range(count)]

    def begin(self, game: BatchGame, numbers: np.ndarray) -> None:
        self._numbers = numbers

    def before(self, actions: np.ndarray, live: np.ndarray) -> None:
        for row in np.flatnonzero(live[: len(self._numbers)]).tolist():
            self.of[self._numbers[row]].append(int(actions[row]))

    def after(self, ended: np.ndarray) -> None:
        pass


def play_unit(arena: Arena, unit: Unit, runs_root: str | Path = "runs", worker: str = "") -> list[Result]:
    """Plays the games of a unit."""
    options = arena.cells[unit.cell]
    entrant = arena.players[unit.player]
    player = entrant.player(arena.game, options, runs_root)
    if arena.entry.spec.players != 1:
        raise UsageError(f"Game '{arena.game}' has two players; its table is made by jimbot compare.")
    moves, began = _Moves(len(unit.seeds)), time.perf_counter()
    played = play_games(
        player.shown(player.options), arena.game, np.array(unit.seeds, np.uint64), player.options,
        num_envs=len(unit.seeds), witness=moves,
    )  # fmt: skip
    spent = 1000.0 * (time.perf_counter() - began) / max(1, int(played.lengths.sum()))
    names = arena.entry.spec.episode_stats
    return [
        Result(
            unit.round, unit.cell, seed, unit.player, entrant.hash, arena.engine, pack(moves.of[number]),
            dict(zip(names, played.stats[number].tolist(), strict=True)), float(played.returns[number]), spent, worker,
        )
        for number, seed in enumerate(unit.seeds)
    ]  # fmt: skip


@dataclass(frozen=True)
class Checked:
    """What a check of a result found."""

    result: Result
    complaint: str = ""

    @property
    def good(self) -> bool:
        return not self.complaint


def check_result(arena: Arena, result: Result, with_player: bool = False, runs_root: str | Path = "runs") -> Checked:
    """Replays a game; `with_player` asks its player again at every position, unless it draws its moves."""
    actions, options = unpack(result.moves), arena.cells[result.cell]
    entrant = arena.players[result.player]
    player = entrant.player(arena.game, options, runs_root)
    policy = player.shown(player.options)
    game = make(arena.game, 1, options=player.options)
    total = 0.0
    try:
        game.reset(np.array([result.seed], np.uint64))
        for number, action in enumerate(actions.tolist(), 1):
            if not (0 <= action < game.legal_mask.shape[1] and game.legal_mask[0, action]):
                return Checked(result, f"move {number} is not possible there")
            if with_player and policy.name != RANDOM and int(decide(policy, game).actions[0]) != action:
                return Checked(result, f"{result.player} makes another move than number {number}")
            game.step(np.array([action]))
            total += float(game.reward[0])
            if (game.terminated[0] or game.truncated[0]) and number < len(actions):
                return Checked(result, f"the game is over after {number} of {len(actions)} moves")
        if not (game.terminated[0] or game.truncated[0]):
            return Checked(result, "the game is not over after its last move")
        return Checked(result, _differs(result, game, total))
    finally:
        game.close()


def _differs(result: Result, game: BatchGame, total: float) -> str:
    found: Mapping[str, Any] = dict(zip(game.spec.episode_stats, game.final_stats[0].tolist(), strict=True))
    for name, value in found.items():
        if not abs(value - result.stats.get(name, np.nan)) <= TOLERANCE * max(1.0, abs(value)):
            return f"{name} is {value:g} at its end, not {result.stats.get(name)}"
    if not abs(total - result.total_return) <= TOLERANCE * max(1.0, abs(total)):
        return f"its return is {total:g}, not {result.total_return:g}"
    return ""
