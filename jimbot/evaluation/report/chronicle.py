"""Watches games for a report: every action, and whatever the game's own diary finds worth counting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jimbot.evaluation.intervals import Interval, mean_interval, wilson_interval
from jimbot.games.contract import BatchGame, Diary, Event, GameEntry
from jimbot.games.hooks import Variety
from jimbot.games.variety import VarietyCount

FEWEST_GAMES = 5
"""Of fewer games than this no effect is told."""


class Entry(NamedTuple):
    """All events of one name."""

    name: str
    count: int
    games: int
    """Games it happened in."""
    afterwards: Interval | None
    """Rungs of the ladder gained after it beyond what games that had come as far gain on average."""
    success: Interval | None
    """How often it went well."""


class Way(NamedTuple):
    """One way to play."""

    name: str
    games: int
    share: float
    """Of the games that show a way at all."""
    won: Interval | None


class Chronicle:
    """A `Witness` that remembers. Games are known by their number, in the order of their seeds."""

    def __init__(self, entry: GameEntry, ways: Variety | None = None) -> None:
        """`ways`: what tells how a game is played, one thing at a time."""
        self.entry, self.ways = entry, ways
        self._way: dict[int, int] = {}  # the last one of every game, by its number
        self.events: list[Event] = []  # `row` is the number of the game
        self._steps: list[tuple[np.ndarray, np.ndarray]] = []
        self._numbers = np.zeros(0, np.int64)
        self._game: BatchGame | None = None
        self._diary: Diary | None = None
        known = entry.varieties() if entry.varieties is not None else ()
        self.variety = VarietyCount((*known, *([ways] if ways is not None else [])))

    # --- what `play_games` calls ---

    def begin(self, game: BatchGame, numbers: np.ndarray) -> None:
        self._numbers = numbers
        if game is not self._game:
            self._game = game
            self._diary = self.entry.diary(game) if self.entry.diary else None
        elif self._diary is not None:
            self._diary.begin()

    def before(self, actions: np.ndarray, live: np.ndarray) -> None:
        rows = np.flatnonzero(live)
        self._steps.append((self._numbers[rows].astype(np.int32), np.asarray(actions)[rows].astype(np.int32)))
        if self._game is not None and self.variety.varieties:
            self.variety.look(self._game.observation[rows])
        if self._game is not None and self.ways is not None:
            found, keys = self.ways.find(self._game.observation[rows])
            self._way |= dict(zip(self._numbers[rows[found]].tolist(), keys.tolist(), strict=True))
        if self._diary is not None:
            self._note(self._diary.before(np.asarray(actions), live))

    def after(self, ended: np.ndarray) -> None:
        if self._diary is not None and ended.any():
            self._note(self._diary.ended(np.flatnonzero(ended)))

    def _note(self, events: list[Event]) -> None:
        self.events += [event._replace(row=int(self._numbers[event.row])) for event in events]

    # --- what it knows ---

    @property
    def topics(self) -> Mapping[str, str]:
        return self._diary.topics if self._diary is not None else {}

    def ways_played(self, won: np.ndarray | None) -> list[Way]:
        """How games were played in the end, the most frequent way first; `won` (n,) where games can be won."""
        if self.ways is None:
            return []
        games = {key: [number for number, one in self._way.items() if one == key] for key in set(self._way.values())}
        return sorted(
            (
                Way(self.ways.name_of(key), len(played), len(played) / len(self._way),
                    None if won is None else wilson_interval(int(won[played].sum()), len(played)))
                for key, played in games.items()
            ),
            key=lambda way: (-way.games, way.name),
        )  # fmt: skip

    def actions_of(self, number: int) -> list[int]:
        """The actions of one game, in order."""
        return [int(actions[numbers == number][0]) for numbers, actions in self._steps if (numbers == number).any()]

    def action_counts(self) -> np.ndarray:
        """(A,) how often every action was taken."""
        taken = np.concatenate([actions for _, actions in self._steps])
        return np.bincount(taken, minlength=self.entry.spec.actions.size)

    def block_shares(self) -> dict[str, float]:
        """The share of every block in all actions."""
        actions = self.entry.spec.actions
        sums = np.bincount(actions.block_of, weights=self.action_counts(), minlength=len(actions.blocks))
        return {block.name: float(sums[i] / sums.sum()) for i, block in enumerate(actions.blocks)}

    def table(self, topic: str, reached: np.ndarray | None) -> list[Entry]:
        """The events of a topic by name, the most frequent first; `reached` (n,) is where each game ended on the
        ladder."""
        by_name: dict[str, list[Event]] = defaultdict(list)
        for event in self.events:
            if event.topic == topic:
                by_name[event.name].append(event)
        expected = None if reached is None else _gained_on_average(reached)
        found = [
            Entry(
                name,
                len(events),
                len({event.row for event in events}),
                None if reached is None or expected is None else _afterwards(events, reached, expected),
                _success(events),
            )
            for name, events in by_name.items()
        ]
        return sorted(found, key=lambda entry: (-entry.count, entry.name))


def _gained_on_average(reached: np.ndarray) -> dict[int, float]:
    """Rung → what games that came there gain from it on, on average."""
    known = reached[~np.isnan(reached)]
    top = int(known.max(initial=0))
    return {rung: float((known[known >= rung] - rung).mean()) for rung in range(top + 1)}


def _afterwards(events: list[Event], reached: np.ndarray, expected: Mapping[int, float]) -> Interval | None:
    """The first event of every game counts: games are independent, events of one game are not."""
    first: dict[int, float] = {}
    for event in events:
        if not (np.isnan(event.standing) or np.isnan(reached[event.row])):
            first.setdefault(event.row, event.standing)
    if len(first) < FEWEST_GAMES:
        return None
    return mean_interval(np.array([reached[game] - rung - expected[int(rung)] for game, rung in first.items()]))


def _success(events: list[Event]) -> Interval | None:
    told = [event.success for event in events if event.success is not None]
    return wilson_interval(sum(told), len(told)) if told else None
