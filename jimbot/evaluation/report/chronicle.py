"""Watches games for a report: every action, and whatever the game's own diary finds worth counting."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from html import escape
from itertools import groupby
from typing import NamedTuple

import numpy as np

from jimbot.evaluation.intervals import Interval, mean_interval, wilson_interval
from jimbot.evaluation.play import RETURN
from jimbot.evaluation.report import svg
from jimbot.evaluation.report.page import folded, section
from jimbot.evaluation.summary import WON, Evaluation
from jimbot.games.contract import BatchGame, GameEntry, make
from jimbot.games.hooks.learners import Variety
from jimbot.games.narration import Diary, Event, Line
from jimbot.games.seeds import seed_name
from jimbot.games.variety import VarietyCount
from jimbot.policies.contract import Policy

FEWEST_GAMES = 5
"""Of fewer games than this no effect is reported."""


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
    known = [event.success for event in events if event.success is not None]
    return wilson_interval(sum(known), len(known)) if known else None


_LINES_A_CHAPTER = 40  # of games that have no chapters of their own
_RED_SUITS = re.compile(r"[^\s,(:→]*[♥♦]")


class Story(NamedTuple):
    """One game in words."""

    title: str
    words: str
    lines: list[Line]
    values: list[float]
    """What the policy expected before every action; empty if it has no opinion."""


def choose_examples(evaluation: Evaluation, count: int) -> dict[int, str]:
    """Games by number, with what they stand for: the best, the worst, and ones evenly between."""
    if count < 1:
        return {}
    keys = [evaluation.values(RETURN)]
    if evaluation.spec.ladder:
        keys.append(evaluation.games.stat(evaluation.spec.ladder))
    if WON in evaluation.spec.episode_stats:
        keys.append(evaluation.games.stat(WON))
    order = np.lexsort([np.nan_to_num(key, nan=-np.inf) for key in keys])[::-1]  # the last key decides first
    places = np.unique(np.linspace(0, len(order) - 1, min(count, len(order))).round().astype(int)).tolist()
    titles = {places[0]: "The best game", places[-1]: "The worst game"} if len(places) > 1 else {places[0]: "A game"}
    return {int(order[place]): titles.get(place, _standing(place, len(order))) for place in places}


def _standing(place: int, count: int) -> str:
    better = round(100 * place / max(1, count - 1))
    return "A typical game" if 40 <= better <= 60 else f"A game with {better} % better ones"


def tell(policy: Policy, chronicle: Chronicle, evaluation: Evaluation, number: int, title: str) -> Story:
    """Plays game `number` once more, action by action."""
    entry, actions = chronicle.entry, chronicle.actions_of(number)
    seed = evaluation.games.seeds[number : number + 1]
    named, gained = seed_name(entry, int(seed[0]), evaluation.options), evaluation.games.returns[number]
    words = f"seed {named}, {len(actions)} actions, return {gained:.3g}, "
    words += _result(
        evaluation, dict(zip(evaluation.spec.episode_stats, evaluation.games.stats[number].tolist(), strict=True))
    )
    with closing(make(entry.spec.id, 1, options=evaluation.options)) as game:
        values, plain = [], []
        game.reset(seed)
        for action in actions:
            values.append(float(policy.act(game.observation, game.legal_mask).values[0]))
            said = game.describe_action(0, action)
            game.step(np.array([action]))
            plain.append((said, game.reward_terms[0].tolist()))
        if entry.narrate is not None:
            game.reset(seed)
            lines = entry.narrate(game, actions)
        else:
            lines = _plain_lines(entry, plain)
    return Story(title, words, lines, values if any(values) else [])


def _result(evaluation: Evaluation, stats: Mapping[str, float]) -> str:
    """How a game went: won or lost and how far it came, or whatever the game measures."""
    ending = [("won" if stats[WON] > 0 else "not won")] if WON in stats else []
    names = [evaluation.spec.ladder] if evaluation.spec.ladder else [name for name in stats if name != WON]
    return ", ".join([*ending, *(f"{name.replace('_', ' ')} {stats[name]:.4g}" for name in names)])


def _plain_lines(entry: GameEntry, played: Sequence[tuple[str, list[float]]]) -> list[Line]:
    """Every action with the rewards it brought."""
    lines = []
    for number, (said, terms) in enumerate(played):
        first = number // _LINES_A_CHAPTER * _LINES_A_CHAPTER
        chapter = f"Actions {first + 1} to {min(first + _LINES_A_CHAPTER, len(played))}"
        amounts = zip(entry.spec.reward_terms, terms, strict=True)
        effects = tuple(f"{name.replace('_', ' ')} {amount:+.2f}" for name, amount in amounts if abs(amount) >= 0.005)
        lines.append(Line(chapter, said, effects))
    return lines


def stories_section(stories: Sequence[Story]) -> str:
    """All stories, folded up."""
    return section("Games in words", "Open one to read it move by move.", *map(_story, stories))


def _story(story: Story) -> str:
    curve = ""
    if len(story.values) > 1:
        curve = '<p class="note">What it expected of the rest of the game, action by action:</p>'
        curve += svg.sparkline(story.values)
    number, parts = 1, []
    for chapter, lines in groupby(story.lines, key=lambda line: line.chapter):
        items = [f"<li>{_words(line)}</li>" for line in lines]
        parts.append(f'<h4>{escape(chapter)}</h4><ol start="{number}">{"".join(items)}</ol>')
        number += len(items)
    summary = f"{escape(story.title)} <span>· {escape(story.words)}</span>"
    return folded(summary, f'{curve}<div class="story">{"".join(parts)}</div>')


def _words(line: Line) -> str:
    effects = f" <i>{escape('; '.join(line.effects))}</i>" if line.effects else ""
    return _RED_SUITS.sub(lambda card: f'<span class="red">{card[0]}</span>', escape(line.text) + effects)
