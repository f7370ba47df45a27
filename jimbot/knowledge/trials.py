"""Randomised trials: games in which coins decide what a run is given, so that what it wins by is no matter of taste.

A plan deals the games. In batches of *singles* every seed is played by several arms: one is given nothing, and in the
others a coin is tossed at each of a few milestones, and a part is drawn that the run gets there if it comes up. Coins
know nothing of how a run stands, so of all runs that came to a milestone those that got something differ from those
that did not by that alone; one game tells about as many parts as it was given. Batches of *groups* come after them:
three parts that ought to be strong together, all eight ways to have some of them, on the same seeds. What comes out is
`effects.py`'s business.

Every game is a line of a file, and which batch comes next follows from it: Ctrl+C loses the batch that is being played,
the same command goes on, another one with more games adds to it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import KnowledgeError, UnreadableError, UsageError
from jimbot.games.batch_game import BatchGame
from jimbot.games.entry import GameEntry
from jimbot.games.seeds import bank_seeds
from jimbot.knowledge.played import play_runs
from jimbot.machine import try_lock
from jimbot.policies.players import Player
from jimbot.reading.plain import file_text, json_value
from jimbot.runs.files import make_directory, storing

TIMES = (1, 2, 4, 6)
"""Milestones at which a coin is tossed."""
CHANCE = 0.4
"""That it comes up."""
ARMS = 8
"""Of every seed: the first gets nothing."""
SEEDS_AT_ONCE = 24
GROUP_TIMES = (1, 4)
"""When groups are handed over, seed by seed in turns."""
FIRST_SEED = 10**9
GIVEN = ("joker", "voucher", "tag")
LARGEST = 2**30
Given = Mapping[int, tuple[str, ...]]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Game:
    """One game of a trial, as its line says."""

    batch: int
    player: str
    options: Mapping[str, Any]
    seed: str
    given: Given
    """What the run was to get at each milestone, whether or not it came there."""
    group: tuple[str, ...] = ()
    """The parts whose ways to be had are compared; none in batches of singles."""
    won: bool = False
    reached: int = 0
    far: float = 0.0

    def line(self) -> str:
        values = {**asdict(self), "given": {str(at): list(keys) for at, keys in self.given.items()}}
        return json.dumps({name: value for name, value in values.items() if name != "group" or value})

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Game:
        given = {int(at): tuple(map(str, keys)) for at, keys in values["given"].items()}
        return cls(
            int(values["batch"]), str(values["player"]), dict(values["options"]), str(values["seed"]), given,
            tuple(map(str, values.get("group", ()))), bool(values["won"]), int(values["reached"]), float(values["far"]),
        )  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Which games are to be played."""

    player: Player
    games: int
    """Of singles, those of earlier calls included."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Parts to be had in every way on the same seeds, those on which most hangs first."""
    group_seeds: int = 48
    """For each group."""
    seed: int = 0
    parts: tuple[str, ...] = field(default=())
    """To draw from; none: all that a run can be given."""

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.player.options)

    def mine(self, game: Game) -> bool:
        """Whether a game was played by this player under these options."""
        return game.player == self.player.name and game.options == self.options


def _giving(entry: GameEntry) -> Callable[[BatchGame, int, Sequence[str]], None]:
    knowledge = entry.knowledge
    if knowledge is None or knowledge.give is None or entry.milestones is None:
        raise UsageError(f"Runs of '{entry.spec.id}' cannot be given anything, so nothing can be tried.")
    return knowledge.give


def givable(entry: GameEntry) -> tuple[str, ...]:
    """Keys of the parts that a run can be given."""
    _giving(entry)
    return tuple(part.key for part in entry.knowledge.parts() if part.kind in GIVEN) if entry.knowledge else ()


def run_trials(path: Path, plan: Plan, progress: Progress = lambda done, of: None) -> int:
    """Plays what is left of a plan and writes it down; how many games were added. Ctrl+C keeps whole batches."""
    _giving(plan.player.entry)
    added = 0
    with _appending(path) as write:
        known = [game for game in read_games(path) if plan.mine(game)]
        left = list(_left(plan, known))
        played, total = 0, sum(len(games) for games in left)
        try:
            for games in left:
                progress(played, total)
                write(_played(plan.player, games))
                played = added = played + len(games)
            progress(played, total)
        except KeyboardInterrupt:
            pass
    return added


def read_games(path: Path) -> list[Game]:
    """What was played so far; the last line of a process that was killed counts for nothing."""
    if not path.exists():
        return []
    lines = file_text(path, LARGEST).split("\n")
    try:
        return [Game.read(json_value(line)) for line in lines[:-1]]
    except (UnreadableError, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise KnowledgeError(f"{path} is no file of trials ({problem}); move it away to begin anew.") from problem


# --- the games of a plan ---


def _left(plan: Plan, known: Sequence[Game]) -> Iterator[list[Game]]:
    """Batches that nobody has played yet, singles first."""
    had = {(game.batch, bool(game.group)) for game in known}
    parts = plan.parts or givable(plan.player.entry)
    for batch in range(-(-plan.games // (ARMS * SEEDS_AT_ONCE))):
        if (batch, False) not in had:
            yield _singles(plan, batch, parts)
    done = {game.group for game in known}
    number = max((game.batch + 1 for game in known if game.group), default=0)
    for group in plan.groups:
        if tuple(sorted(group)) not in done:
            yield _group(plan, number, tuple(sorted(group)))
            number += 1


def _singles(plan: Plan, batch: int, parts: Sequence[str]) -> list[Game]:
    rng = np.random.default_rng([plan.seed, batch])
    games = []
    for seed in _seeds(plan, batch * SEEDS_AT_ONCE, SEEDS_AT_ONCE):
        for arm in range(ARMS):
            drawn = rng.choice(len(parts), len(TIMES), replace=False)
            up = rng.random(len(TIMES)) < (CHANCE if arm else 0.0)
            given = {at: (parts[part],) for at, part, comes in zip(TIMES, drawn, up, strict=True) if comes}
            games.append(Game(batch, plan.player.name, plan.options, str(seed), given))
    return games


def _group(plan: Plan, batch: int, group: tuple[str, ...]) -> list[Game]:
    games = []
    for number, seed in enumerate(_seeds(plan, 0, plan.group_seeds)):
        at = GROUP_TIMES[number % len(GROUP_TIMES)]
        for chosen in product((False, True), repeat=len(group)):
            keys = tuple(key for key, one in zip(group, chosen, strict=True) if one)
            given = {at: keys} if keys else {}
            games.append(Game(batch, plan.player.name, plan.options, str(seed), given, group))
    return games


def _seeds(plan: Plan, first: int, count: int) -> list[int]:
    found = bank_seeds("train", first + count, FIRST_SEED * (1 + plan.seed))
    return [int(seed) for seed in found[first:]]


def _played(player: Player, games: Sequence[Game]) -> list[Game]:
    give = _giving(player.entry)

    def arrive(game: BatchGame, row: int, reached: int) -> None:
        if keys := games[row].given.get(reached):
            give(game, row, keys)

    runs = play_runs(player, np.array([int(game.seed) for game in games], np.uint64), arrive, follow=False)
    return [replace(game, won=run.won, reached=run.reached, far=run.far) for game, run in zip(games, runs, strict=True)]


def groups_worth_trying(strengths: Mapping[tuple[str, str], float], most: int) -> list[tuple[str, ...]]:
    """Threes with the strongest pairs: the pairs by strength, each with the third that is strongest with both; no pair
    twice."""
    known = {frozenset(pair): value for pair, value in strengths.items()}
    keys = sorted({key for pair in known for key in pair})
    found: list[tuple[str, ...]] = []
    tried: set[frozenset[str]] = set()
    for pair in sorted(known, key=lambda pair: (-known[pair], sorted(pair))):
        if len(found) >= most:
            break
        if pair in tried:
            continue
        beside = {one: sum(known.get(frozenset((one, key)), 0.0) for key in pair) for one in keys if one not in pair}
        third = max(beside, key=lambda one: (beside[one], one), default=None)
        if third is not None:
            found.append(tuple(sorted((*pair, third))))
            tried.update(frozenset(two) for two in combinations(found[-1], 2))
    return found


# --- the file ---


@contextmanager
def _appending(path: Path) -> Generator[Callable[[Sequence[Game]], None]]:
    """What adds whole batches to a file that no other process adds to meanwhile."""
    make_directory(path.parent)
    with storing(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not try_lock(descriptor):
            raise KnowledgeError(f"Another process is playing trials into {path}; wait for it, or name another file.")
        _drop_torn_line(descriptor, path)

        def write(games: Sequence[Game]) -> None:
            with storing(path):
                os.lseek(descriptor, 0, os.SEEK_END)
                data = "".join(f"{game.line()}\n" for game in games).encode()
                while data:
                    data = data[os.write(descriptor, data) :]
                os.fsync(descriptor)

        yield write
    finally:
        os.close(descriptor)


def _drop_torn_line(descriptor: int, path: Path) -> None:
    """Of a process that was killed while it wrote: a batch is whole or was never played."""
    with storing(path):
        text = path.read_bytes()
        os.ftruncate(descriptor, text.rfind(b"\n") + 1)
