"""The starts that builds are compared from: decks of typical shapes, at several stages of a run.

The shapes follow from what a playing card can be, not from what jokers like: for every suit, rank, group of ranks and
enhancement there is a deck in which it is common, and there are the plain deck and a small one. A player steers a deck
to what the jokers want, so what two jokers are worth together is looked at over all shapes (`statistics.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jimbot.games.balatro.arms import (
    DISCARDS,
    HAND,
    HAND_COLUMNS,
    MOST_JOKERS,
    ONE_CARD_FIRST,
    RUN,
    RUN_COLUMNS,
    SELLS,
    SHOPS,
    SKIPS_PACKS,
    START,
    work,
)  # fmt: skip
from jimbot.games.balatro.compiling.kernels import announce_compilation
from jimbot.games.balatro.rules.content import DECKS, ENHANCEMENTS, HANDS, JOKERS, RANK_LETTERS, STAKES, SUITS
from jimbot.games.balatro.rules.scratch import new_scratch
from jimbot.games.balatro.rules.state import BYTES_PER_GAME, GAME_DTYPE, IN_DECK, NOWHERE, new_games

SITUATION = 5  # numbers that tell one, see `arms.work`
_COLUMNS = {START: 1, HAND: HAND_COLUMNS, RUN: RUN_COLUMNS}


def run(task: int, starts: np.ndarray, situations: np.ndarray, arms: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(N, W, columns): every arm from every start; `arms.work` describes the arrays."""
    out = np.zeros((len(arms), len(starts), _COLUMNS[task]))
    g, s = new_games(1)[0], new_scratch()[0]
    g.deck, g.stake = DECKS.id("b_red"), STAKES.id("stake_white")
    spare = [np.zeros(BYTES_PER_GAME, np.uint8) for _ in range(2)]
    rows = [np.ascontiguousarray(array, np.int64) for array in (situations, arms)]
    grown = np.ascontiguousarray(values, np.float64)

    def call(starts: np.ndarray) -> None:
        work(task, starts, *rows, grown, g, s, *spare, np.zeros(HAND_COLUMNS), out)

    announce_compilation(work, lambda: call(starts[:0]))
    call(starts)
    return out


def fresh_runs(numbers: np.ndarray) -> np.ndarray:
    """(W,) runs at their first blind selection, of the seeds with these numbers."""
    starts = np.zeros((len(numbers), BYTES_PER_GAME), np.uint8)
    situations = np.zeros((len(numbers), SITUATION), np.int64)
    situations[:, -1] = numbers
    run(START, starts, situations, np.full((1, MOST_JOKERS), -1), np.zeros((len(numbers), 1)))
    return starts.view(GAME_DTYPE)[:, 0]


RANKS = tuple(RANK_LETTERS.values())
_FACES = (11, 12, 13)
_COMMON = 0.6
"""The share of a deck that has what it is full of."""
_SMALL_DECK = 30


@dataclass(frozen=True)
class Shape:
    """What is common in a deck: the suit, one of the ranks, the enhancement; nothing where it is plain."""

    name: str
    suits: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    enhancement: int = 0
    cards: int = 52


def _groups() -> list[Shape]:
    return [
        Shape("faces", ranks=_FACES),
        Shape("low", ranks=(2, 3, 4, 5)),
        Shape("even", ranks=(2, 4, 6, 8, 10)),
        Shape("odd", ranks=(14, 3, 5, 7, 9)),
        Shape("run to six", ranks=(14, 2, 3, 4, 5, 6)),
        Shape("run to jack", ranks=(6, 7, 8, 9, 10, 11)),
        Shape("run to ace", ranks=(9, 10, 11, 12, 13, 14)),
        Shape("few ranks", ranks=(4, 8, 10, 12)),
    ]


SHAPES: tuple[Shape, ...] = (
    Shape("plain"),
    Shape("small", cards=_SMALL_DECK),
    *(Shape(SUITS[suit], suits=(suit,)) for suit in range(4)),
    *_groups(),
    *(Shape(f"rank {rank}", ranks=(rank,)) for rank in RANKS),
    *(Shape(ENHANCEMENTS.name(kind), enhancement=kind) for kind in range(1, ENHANCEMENTS.size)),
)


@dataclass(frozen=True)
class Stage:
    """How far a run is: its ante, the level of all poker hands, money, and what it has counted."""

    name: str
    ante: int
    level: int
    money: int
    counted: int
    """Tarots used, hands played of every kind, blinds skipped twice over."""
    grown: float
    """How many antes a joker has been held and grown."""


STAGES = (Stage("early", 2, 1, 6, 2, 0.5), Stage("middle", 4, 3, 20, 6, 1.0), Stage("late", 7, 7, 45, 12, 2.0))
STYLES = (0, DISCARDS | SHOPS, ONE_CARD_FIRST | SHOPS | SKIPS_PACKS, DISCARDS | ONE_CARD_FIRST | SHOPS | SELLS)


@dataclass(frozen=True)
class SharedStarts:
    """Starts, ready to be played by arms. Those of one cell differ in seed and stage only."""

    records: np.ndarray  # (W, bytes) uint8
    situations: np.ndarray  # (W, 5) int64, see `arms.work`
    stages: np.ndarray  # (W,) int64
    cells: np.ndarray  # (W,) int64

    def __len__(self) -> int:
        return len(self.records)


def _shape_deck(g: np.ndarray, shape: Shape, rng: np.random.Generator) -> None:
    """Gives some of the cards what the deck is full of; a small deck loses cards."""
    count = shape.cards
    chosen = rng.permutation(52)[: round(_COMMON * count)]
    if shape.suits:
        g["card_suit"][chosen] = g["card_first_suit"][chosen] = rng.choice(shape.suits, len(chosen))
    if shape.ranks:
        g["card_rank"][chosen] = rng.choice(shape.ranks, len(chosen))
    if shape.enhancement:
        g["card_enhancement"][chosen] = shape.enhancement
    kept = np.sort(rng.permutation(52)[:count])
    g["card_place"][:52] = NOWHERE
    g["card_place"][kept] = IN_DECK
    g["cards"][:count] = g["pile"][:count] = kept
    g["card_count"] = g["pile_count"] = count
    g["enhancement_count"] = np.bincount(g["card_enhancement"][kept], minlength=len(g["enhancement_count"]))


def _set_stage(g: np.ndarray, stage: Stage) -> None:
    g["ante"], g["money"] = stage.ante, stage.money
    g["hand_level"] = stage.level
    g["hand_played"] = stage.counted
    g["hands_played"] = stage.counted * len(HANDS)
    g["tarots_used"] = stage.counted
    g["skips"] = stage.counted // 4
    g["win_ante"] = 39  # no run is to be won on the way


def _build(plan: list[tuple[int, Shape, int, tuple[int, int, int, int]]], seed: int) -> SharedStarts:
    """Starts of a plan: (cell, shape, stage, situation) each."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(35**6, 35**8, len(plan))
    games = fresh_runs(numbers)
    for row, (_, shape, stage, _) in enumerate(plan):
        _shape_deck(games[row], shape, rng)
        _set_stage(games[row], STAGES[stage])
    records = np.ascontiguousarray(games).view(np.uint8).reshape(len(plan), BYTES_PER_GAME)
    situations = np.array(
        [(*situation, number) for (*_, situation), number in zip(plan, numbers, strict=True)], np.int64
    )
    stages = np.array([stage for _, _, stage, _ in plan], np.int64)
    return SharedStarts(records, situations, stages, np.array([cell for cell, *_ in plan], np.int64))


def hand_starts(seed: int, samples: int) -> SharedStarts:
    """Single hands: every shape with the discards kept and with them spent, early in a round and at its end."""
    plan = []
    for number, shape in enumerate(SHAPES):
        for spent in range(2):
            for sample in range(samples):
                last = (number + sample) % 2 if samples == 1 else sample % 2
                situation = (1 if last else 0, 0 if spent else -1, 3 if last else 0, 0)
                plan.append((2 * number + spent, shape, (number + sample) % len(STAGES), situation))
    return _build(plan, seed)


_RUN_SHAPES = ("plain", "Hearts", "faces", "few ranks", "run to jack")
"""Shapes of the antes that are played; with every enhancement these are the decks a run comes to."""


def run_starts(seed: int, styles: int, every: int = 1) -> SharedStarts:
    """Whole antes: decks of several shapes (all, or one of so many), each played in so many styles."""
    shapes = [shape for shape in SHAPES if shape.name in _RUN_SHAPES or shape.enhancement][::every]
    plan = []
    for number, shape in enumerate(shapes):
        for place in range(styles):
            style = STYLES[(number + place) % len(STYLES)]  # every second one keeps its discards
            plan.append((styles * number + place, shape, (number + place) % len(STAGES), (0, -1, 0, style)))
    return _build(plan, seed)


def as_they_come(starts: SharedStarts) -> np.ndarray:
    """(W, jokers) nan: every joker as it is bought."""
    return np.full((len(starts), len(JOKERS)), np.nan)
