"""What trials say (`trials.py`): how much likelier a run wins that is given a part, how much further it comes, and what
parts do together beyond that. The result is kept with the parts and as claims of the graph, and is the data set of
`jimbot graph export --format csv`.

Of all runs of a seed that came to a milestone those that were given a part are compared with the others: one linear
model for all parts at once, with a level of its own for every (seed, milestone), so that what a seed is worth cancels.
Games of one seed are not independent; errors are those of whole seeds (the sandwich of Huber and White). Parts that
were compared in groups are taken apart on the same seeds: what both do beyond what each does, with the third and
without.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from typing import Any

import numpy as np

from jimbot.errors import MissingExtraError
from jimbot.evaluation.intervals import mean_interval
from jimbot.knowledge.records import MEASURED, SYNERGY, Edge, Graph, Node
from jimbot.knowledge.trials import TIMES, Game

VERSION = 1
"""Of the data set's columns."""
WINS = "wins"
"""The channel of claims, in shares of games won; and where the effects of a part stand in its details."""
EVERY = 0
"""In place of a milestone: at any of them."""
LEAST_GAMES = 12
"""With a part, below which nothing is said."""
_TAIL = 1.96
_DIGITS = 4
_HIDDEN = ("helpers",)
"""Options that a player needs and that do not change the game."""


@dataclass(frozen=True)
class Effect:
    """What being given a part at a milestone is worth; intervals of 95 %."""

    part: str
    options: str
    """Of the game, as `stake=gold`; empty: all that were played."""
    at: int
    """The milestone; 0: at any."""
    games: int
    """Runs that were given it."""
    others: int
    """Runs they are compared with."""
    won: float
    """Share of those others that won."""
    wins: float
    """How much larger the share is with the part."""
    wins_low: float
    wins_high: float
    further: float
    """How much further runs come: in Balatro blinds."""
    further_low: float
    further_high: float


COLUMNS = tuple(field.name for field in fields(Effect))


def effects(games: Iterable[Game]) -> list[Effect]:
    """Of every part, at any milestone and at each, under all options and under each."""
    singles = [game for game in games if not game.group]
    kinds = sorted({options_text(game.options) for game in singles})
    found: list[Effect] = []
    for kind in ["", *kinds] if len(kinds) > 1 else kinds:
        chosen = [game for game in singles if kind in ("", options_text(game.options))]
        for at in (EVERY, *TIMES):
            found += _effects(chosen, kind if len(kinds) > 1 or kind else "", at)
    return found


def options_text(options: Mapping[str, Any]) -> str:
    """
    >>> options_text({"stake": "gold", "helpers": True})
    'stake=gold'
    """
    return ", ".join(f"{name}={value}" for name, value in sorted(options.items()) if name not in _HIDDEN)


def _effects(games: Sequence[Game], options: str, at: int) -> Iterator[Effect]:
    rows = [(game, time) for game in games for time in TIMES if at in (EVERY, time) and game.reached >= time]
    given = [game.given.get(time, ("",))[0] for game, time in rows]
    counted = {part: given.count(part) for part in set(given) - {""}}
    parts = sorted(part for part, count in counted.items() if count >= LEAST_GAMES)
    if not parts:
        return
    place = {part: column for column, part in enumerate(parts)}
    held = np.zeros((len(rows), len(parts)))
    for row, part in enumerate(given):
        if part in place:
            held[row, place[part]] = 1.0
    kept = np.array([part == "" or part in place for part in given])  # what is too rare to say is no control either
    results = np.array([[game.won, game.far] for game, _ in rows], float)[kept]
    held, levels = held[kept], _numbers((options_text(game.options), game.seed, time) for game, time in rows)[kept]
    seeds = _numbers((options_text(game.options), game.seed) for game, _ in rows)[kept]
    strength, error = _fitted(_within(held, levels), _within(results, levels), seeds)
    without = held.sum(axis=1) == 0
    for part, column in place.items():
        wins, further = strength[column]
        around = [value for pair in zip(strength[column], error[column], strict=True) for value in _interval(*pair)]
        yield Effect(
            part, options, at, counted[part], int(without.sum()), round(float(results[without, 0].mean()), _DIGITS),
            *(round(float(value), _DIGITS) + 0.0 for value in (wins, *around[:2], further, *around[2:])),
        )  # fmt: skip


def _interval(value: float, error: float) -> tuple[float, float]:
    return value - _TAIL * error, value + _TAIL * error


def _numbers(keys: Iterable[tuple[Any, ...]]) -> np.ndarray:
    """Which of them are the same: each as a number from 0."""
    known: dict[tuple[Any, ...], int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)


def _within(values: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Values without the mean of their level."""
    sums = np.zeros((levels.max() + 1, values.shape[1]))
    np.add.at(sums, levels, values)
    return values - (sums / np.maximum(1, np.bincount(levels, minlength=len(sums)))[:, None])[levels]


def _fitted(columns: np.ndarray, results: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """((P, R) least squares, their standard errors over whole seeds)."""
    inverse = np.linalg.pinv(columns.T @ columns, hermitian=True)
    strength = inverse @ columns.T @ results
    left = results - columns @ strength
    errors = np.zeros_like(strength)
    for result in range(results.shape[1]):
        score = np.zeros((seeds.max() + 1, columns.shape[1]))
        np.add.at(score, seeds, columns * left[:, result, None])
        spread = score @ inverse
        errors[:, result] = np.sqrt((spread**2).sum(axis=0) * len(score) / max(1, len(score) - 1))
    return strength, errors


# --- what parts do together ---


def together(games: Iterable[Game]) -> list[Edge]:
    """What pairs and threes of every group win beyond their parts, as claims."""
    by_group: dict[tuple[str, ...], list[Game]] = defaultdict(list)
    for game in games:
        if game.group:
            by_group[game.group].append(game)
    return [edge for group, played in sorted(by_group.items()) for edge in _of_group(group, played)]


def _of_group(group: tuple[str, ...], games: Sequence[Game]) -> Iterator[Edge]:
    by_seed: dict[tuple[str, str], dict[tuple[str, ...], Game]] = defaultdict(dict)
    for game in games:
        keys = next(iter(game.given.values()), ())
        by_seed[options_text(game.options), game.seed][tuple(sorted(keys))] = game
    whole = [arms for arms in by_seed.values() if len(arms) == 2 ** len(group)]
    if not whole:
        return
    command = f"jimbot graph trial --group {','.join(group)} --games 0"
    for size in range(2, len(group) + 1):
        for parts in combinations(group, size):
            won = mean_interval(np.array([_beyond(arms, parts, "won") for arms in whole]))
            far = mean_interval(np.array([_beyond(arms, parts, "far") for arms in whole]))
            numbers = [round(value, _DIGITS) for value in (won.mean, won.low, won.high)]
            further = [round(value, _DIGITS) for value in (far.mean, far.low, far.high)]
            yield Edge(
                SYNERGY, parts[0], parts[1], numbers[0], numbers[1], numbers[2], WINS,
                samples=len(whole) * len(whole[0]), others=parts[2:], command=command, details={"further": further},
            )  # fmt: skip


def _beyond(arms: Mapping[tuple[str, ...], Game], parts: Sequence[str], what: str) -> float:
    """Inclusion and exclusion over the parts, averaged over whether the others were there."""
    total = 0.0
    for keys, game in arms.items():
        missing = sum(part not in keys for part in parts)
        total += (-1) ** missing * float(getattr(game, what))
    return total / (len(arms) / 2 ** len(parts))


# --- in the graph, and out of it ---


def with_effects(graph: Graph, games: Sequence[Game]) -> tuple[list[Node], list[Edge]]:
    """(the parts with what trials say about them, the claims about pairs), ready to be added."""
    by_part: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for effect in effects(games):
        values = asdict(effect)
        by_part[values.pop("part")].append(values)
    known = {node.key: node for node in graph.nodes}
    nodes = [
        replace(known[key], details={**known[key].details, WINS: found})
        for key, found in sorted(by_part.items()) if key in known
    ]  # fmt: skip
    return nodes, [edge for edge in together(games) if {edge.a, edge.b, *edge.others} <= known.keys()]


def effects_of(nodes: Iterable[Node]) -> list[Effect]:
    """What a graph's parts hold of trials."""
    return [Effect(node.key, **values) for node in nodes for values in node.details.get(WINS, ())]


def csv_of(found: Sequence[Effect]) -> bytes:
    """The data set as text, a line for every effect."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(tuple(vars(effect).values()) for effect in found)
    return out.getvalue().encode()


def parquet_of(found: Sequence[Effect]) -> bytes:
    """The same as Parquet; the library comes with Ray."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as problem:
        raise MissingExtraError("Parquet", "ray") from problem
    out = io.BytesIO()
    columns = {name: [getattr(effect, name) for effect in found] for name in COLUMNS}
    parquet.write_table(pyarrow.table(columns).replace_schema_metadata({"version": str(VERSION)}), out)
    return out.getvalue()


def card_of(game: str, found: Sequence[Effect], edges: Iterable[Edge]) -> str:
    """What the data set is, for who finds it without us."""
    whose = sorted({effect.options for effect in found if effect.options})
    sure = sum(effect.wins_low > 0 or effect.wins_high < 0 for effect in found)
    runs = max((effect.games + effect.others for effect in found if effect.at == EVERY), default=0)
    pairs = sum(edge.channel == WINS and edge.evidence == MEASURED for edge in edges)
    words = "\n".join(f"| {field.name} | {text} |" for field, text in zip(fields(Effect), _CARD_WORDS, strict=True))
    return f"""# What parts of {game} are worth in games won

Version {VERSION}, {len(found):,} rows, one for every part, options and milestone; {sure:,} intervals leave zero out.
Options: {"; ".join(whose) or "the game as it comes"}. Milestones: {", ".join(map(str, TIMES))}; 0 is any of them.
{pairs:,} claims about parts together are in the graph (channel `{WINS}`), not in this table.

Randomised: in games of train seeds a coin at each milestone decides whether a run is given a part, and which is drawn
by lot; every seed is played several times. Up to {runs:,} runs with and without are compared at once, by least squares
with a level for every seed and milestone; intervals of 95 % over whole seeds. What is measured is what a part that
comes for nothing is worth to the player that played, on average over whatever else it had: not what it costs, and not
what a player would win who builds for it. Made and made again by `jimbot graph trial`.

| column | what it is |
|---|---|
{words}
"""


_CARD_WORDS = (
    "key of the joker, voucher or tag", "options of the game; empty: all together", "milestone (ante); 0: any",
    "runs that were given the part", "runs they are compared with", "share of those that won",
    "how much larger the share is with the part", "lower end", "upper end", "how many blinds further runs come",
    "lower end", "upper end",
)  # fmt: skip
