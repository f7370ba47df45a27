"""Plays policies against each other in games of two players: many matches at a time, every policy asked once per turn
for all the seats it holds.

A seed decides dice and teams; every seed is played twice with the seats exchanged, so that neither side nor team
favours a player. A battle that ends goes on with the next match at once, so that no battle waits for the slowest, and
while one half of the battles is simulated the policies think about the other.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypedDict, cast

import numpy as np

from jimbot.errors import SimulatorError, UsageError
from jimbot.evaluation.play import Progress
from jimbot.games.contract import BatchGame, game_entry, make
from jimbot.policies.contract import Policy, decide

MOST_AT_ONCE = 128
"""Battles at a time; more make each simulator process large and nothing faster."""
MOST_LOSSES = 5
"""Times a match is played again because the process that held it died."""
SIDES = 2


class TwoSided(Protocol):
    """What a batch of two-sided games has beside the contract of `BatchGame`; rows 2 b and 2 b + 1 play battle b."""

    num_envs: int
    observation: np.ndarray
    legal_mask: np.ndarray
    acting: np.ndarray
    refused: np.ndarray
    lost: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    final_stats: np.ndarray
    groups: Sequence[np.ndarray]

    def reset(self, seeds: np.ndarray) -> None: ...

    def follow(self, battles: np.ndarray, seeds: np.ndarray) -> None: ...

    def send(self, actions: np.ndarray, battles: np.ndarray) -> None: ...

    def receive(self, battles: np.ndarray) -> None: ...

    def close(self) -> None: ...


class Match(NamedTuple):
    """One game to be played: `first` and `second` are numbers of players."""

    seed: int
    first: int
    second: int


@dataclass(frozen=True)
class Matches:
    """What happened in n matches between P players."""

    game: str
    players: tuple[str, ...]
    seats: np.ndarray  # (n, 2) int64, who played the first and the second side
    scores: np.ndarray  # (n,) float64, of the first side: 1 won, 0 lost, 0.5 neither
    turns: np.ndarray  # (n,) float64
    cut_off: np.ndarray  # (n,) bool, ended by the limit of turns; counts as a tie
    decisions: np.ndarray  # (P,) int64
    illegal: np.ndarray  # (P,) int64, must be 0
    refused: np.ndarray  # (P,) int64, choices that hidden information made impossible
    lost: int
    """Matches that were played again because their process died."""
    seconds: float

    @property
    def decisions_per_second(self) -> float:
        return float(self.decisions.sum()) / max(self.seconds, 1e-9)

    def of_pair(self, one: int, other: int) -> np.ndarray:
        """(k,) the scores of `one` in its matches with `other`."""
        ahead = (self.seats[:, 0] == one) & (self.seats[:, 1] == other)
        behind = (self.seats[:, 0] == other) & (self.seats[:, 1] == one)
        return np.concatenate([self.scores[ahead], 1.0 - self.scores[behind]])


def both_seats(seeds: np.ndarray, pairs: Sequence[tuple[int, int]]) -> list[Match]:
    """Every pair on every seed, once in each order of seats."""
    return [
        Match(int(seed), *seats) for seed in seeds for one, other in pairs for seats in ((one, other), (other, one))
    ]


class HowToMatch(TypedDict, total=False):
    """How matches are played. See `play_matches`."""

    deterministic: bool
    num_envs: int
    rng_seed: int
    progress: Progress | None


def play_matches(
    game_id: str,
    players: Sequence[Policy],
    names: Sequence[str],
    matches: Sequence[Match],
    *,
    options: Mapping[str, Any] | None = None,
    deterministic: bool = True,
    num_envs: int = MOST_AT_ONCE,
    rng_seed: int = 0,
    progress: Progress | None = None,
) -> Matches:
    """Plays every match once. Equal arguments give equal results, as long as no simulator process dies."""
    entry = game_entry(game_id)
    if entry.two_sides is None:
        raise UsageError(f"Game '{game_id}' is for one player; only games of two players have matches.")
    if not matches or num_envs < 1:
        raise UsageError(f"Got {len(matches)} matches, {num_envs} at a time; expected at least 1 of each.")
    together = {**(options or {}), **entry.two_sides.options}
    at_once = min(num_envs, MOST_AT_ONCE, len(matches))
    game = cast(TwoSided, make(game_id, at_once, options=together))
    try:
        table = _Table(game, entry.spec.episode_stats, players, matches, deterministic, rng_seed, progress)
        table.play()
    finally:
        game.close()
    return Matches(
        game=game_id,
        players=tuple(names),
        seats=np.array([(match.first, match.second) for match in matches]),
        scores=table.scores,
        turns=table.turns,
        cut_off=table.cut_off,
        decisions=table.decisions,
        illegal=table.illegal,
        refused=table.refused,
        lost=int(table.losses.sum()),
        seconds=table.seconds,
    )


class _Table:
    """The matches being played, those waiting, and those that are over."""

    def __init__(
        self,
        game: TwoSided,
        stats: Sequence[str],
        players: Sequence[Policy],
        matches: Sequence[Match],
        deterministic: bool,
        rng_seed: int,
        progress: Progress | None,
    ) -> None:
        count = len(matches)
        self.game, self.players, self.matches = game, players, matches
        self.deterministic, self.progress = deterministic, progress
        self._won, self._turns = stats.index("won"), stats.index("turns")
        self._rngs = [np.random.default_rng([rng_seed, number]) for number in range(len(players))]
        self.scores = np.full(count, np.nan)
        self.turns = np.full(count, np.nan)
        self.cut_off = np.zeros(count, bool)
        self.losses = np.zeros(count, np.int64)
        self.decisions, self.illegal, self.refused = (np.zeros(len(players), np.int64) for _ in range(3))
        self.seconds = 0.0
        self._waiting = deque(range(count))
        self._playing = np.full(game.num_envs, -1)  # match of each battle; -1 where there is nothing more to play
        self._next = np.full(game.num_envs, -1)  # what it goes on with if it ends with the step that was sent
        self._seats = np.full((game.num_envs, SIDES), -1)
        self._actions = np.zeros(game.num_envs * SIDES, np.int64)
        self._over = 0

    def play(self) -> None:
        began = 0.0
        while self._waiting:  # again only if a process died with the last matches
            self._begin()
            began = began or time.perf_counter()  # the processes are loaded now
            sent = [self._send(group) for group in self.game.groups]
            while any(len(battles) for battles in sent):
                for number, battles in enumerate(sent):
                    if len(battles):
                        self._receive(battles)
                        sent[number] = self._send(self.game.groups[number])
        self.seconds = time.perf_counter() - began

    def _begin(self) -> None:
        first = [self._waiting.popleft() for _ in range(min(self.game.num_envs, len(self._waiting)))]
        seeds = np.array([self.matches[match].seed for match in first], np.uint64)
        self.game.reset(np.resize(seeds, self.game.num_envs))
        for battle in range(self.game.num_envs):
            self._seat(battle, first[battle] if battle < len(first) else -1)

    def _seat(self, battle: int, match: int) -> None:
        self._playing[battle] = match
        self._seats[battle] = self.matches[match][1:] if match >= 0 else (-1, -1)

    def _send(self, group: np.ndarray) -> np.ndarray:
        """All policies decide for this group's battles; returns those that go on."""
        battles = group[self._playing[group] >= 0]
        if not len(battles):
            return battles
        rows = (battles[:, None] * SIDES + np.arange(SIDES)).reshape(-1)
        seated = np.where(self.game.acting[rows], self._seats[battles].reshape(-1), -1)
        for number, policy in enumerate(self.players):
            mine = rows[seated == number]
            if len(mine):
                self._decide(number, policy, mine)
        self._reserve(battles)
        self.game.send(self._actions, battles)
        return battles

    def _decide(self, number: int, policy: Policy, rows: np.ndarray) -> None:
        legal = self.game.legal_mask[rows]
        decision = decide(policy, cast(BatchGame, self.game), None, self.deterministic, self._rngs[number], rows=rows)
        self._actions[rows] = decision.actions
        self.decisions[number] += len(rows)
        self.illegal[number] += int((~legal[np.arange(len(rows)), decision.actions]).sum())

    def _reserve(self, battles: np.ndarray) -> None:
        """Any of these battles may end with this step: each is given its next match, as far as there is more."""
        ready = [self._waiting.popleft() for _ in range(min(len(battles), len(self._waiting)))]
        self._next[battles] = -1
        self._next[battles[: len(ready)]] = ready
        seeds = np.array([self.matches[match].seed for match in ready], np.uint64)
        self.game.follow(battles[: len(ready)], seeds)

    def _receive(self, battles: np.ndarray) -> None:
        self.game.receive(battles)
        game, first = self.game, battles * SIDES
        for side in range(SIDES):
            refused = battles[game.refused[first + side]]
            np.add.at(self.refused, self._seats[refused, side], 1)
        ended = (game.terminated | game.truncated)[first]
        unused = [int(match) for match in self._next[battles[~ended]] if match >= 0]
        for battle in battles[ended].tolist():
            self._end(int(self._playing[battle]), battle * SIDES)
            self._seat(battle, int(self._next[battle]))
        self._waiting.extendleft(reversed(unused))
        if ended.any() and self.progress is not None:
            self.progress(self._over, len(self.matches))

    def _end(self, match: int, row: int) -> None:
        if self.game.lost[row]:
            self.losses[match] += 1
            if self.losses[match] > MOST_LOSSES:
                raise SimulatorError(
                    f"The process of a match on seed {self.matches[match].seed} died {self.losses[match]} times; "
                    "see what ends the simulator (memory?), and evaluate again."
                )
            self._waiting.append(match)
            return
        one, two = (float(self.game.final_stats[row + side, self._won]) for side in range(SIDES))
        self.scores[match] = 0.5 + (one - two) / 2
        self.turns[match] = self.game.final_stats[row, self._turns]
        self.cut_off[match] = bool(self.game.truncated[row])
        self._over += 1
