"""Measures what jokers do together with the exact rules: every pair, with neither, with each, with both.

Two kinds of play, both the same for all arms of a pair (`shared_starts.py`):

- single hands, best play, for the channel `score`: expected log-score now, with jokers as far grown as is typical;
- whole antes by fixed rules, for `growth` (how much more a hand scores after the ante than before it) and `money`
  (dollars earned in it, consumables and risen sell values included, turned into log-score by what jokers cost).

All strengths have one unit, log-score. `all` is the one number to rank pairs by: the score, and what the ante brings in
growth and money at once, for who earns by keeping discards and grows by spending them cannot do both. `retrigger` and
`copying` repeat it for pairs in which one joker does that. `build` is something else: whether the deck that is built
for one of the two feeds the other, too, whatever they do to each other's points in a hand; two sources of Mult are
rivals in `score`, and belong together for who plays one suit. It follows from what each does alone in every shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.balatro.arms import AFTER, BEFORE, EARNED, FIRST_VALUE, HAND, LOG_SCORE, MOST_JOKERS, RUN
from jimbot.games.balatro.rules.content import JOKER_COST, JOKERS
from jimbot.games.balatro.rules.inventory import START_VALUE
from jimbot.games.balatro.synergy.shared_starts import (
    STAGES,
    STYLES,
    SharedStarts,
    as_they_come,
    hand_starts,
    run,
    run_starts,
)
from jimbot.games.balatro.synergy.statistics import Estimate, interactions, resampling, shrunk
from jimbot.games.hooks.learners import Interaction

SCORE, GROWTH, MONEY, ALL = "score", "growth", "money", "all"
RETRIGGER, COPYING, GROUP, BUILD = "retrigger", "copying", "group", "build"
CHANNELS = (SCORE, GROWTH, MONEY)
"""What is measured; the other edges follow from these."""
_ANTE = "ante"  # growth and money of the same antes, added up
EDGES = (*CHANNELS, RETRIGGER, COPYING, BUILD, ALL)
CHUNK = 100  # pairs between two reports of progress
_HAND_SAMPLES = 2
_WORTH_TELLING = 0.005
_WORTH_BUILDING = 0.05
_DIGITS = 4
_PHASES = {
    RETRIGGER: frozenset(row["key"] for row in JOKERS if {"retrigger_played", "retrigger_held"} & {*row["phases"]}),
    COPYING: frozenset(row["key"] for row in JOKERS if "copy" in row["phases"]),
}
Pair = tuple[int, int]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Bench:
    """What all pairs are compared with: the starts, and how each joker does alone. Gains are over nothing held."""

    hands: SharedStarts
    runs: SharedStarts
    grown: np.ndarray  # (W of hands, jokers)
    nothing: dict[str, np.ndarray]  # channel → (W,)
    alone: dict[str, np.ndarray]  # channel → (jokers, C, S)
    rate: float
    """Log-score a dollar buys."""
    chosen: dict[str, np.ndarray]  # channel → resamples


# --- what is known before any pair ---


def _arms(rows: Sequence[Sequence[int]]) -> np.ndarray:
    out = np.full((len(rows), MOST_JOKERS), -1, np.int64)
    for number, row in enumerate(rows):
        out[number, : len(row)] = row
    return out


def _by_cell(starts: SharedStarts, values: np.ndarray) -> np.ndarray:
    """(N, W) → (N, C, S)."""
    return values.reshape(len(values), int(starts.cells.max()) + 1, -1)


def play(task: int, starts: SharedStarts, rows: Sequence[Sequence[int]], values: np.ndarray) -> np.ndarray:
    """(N, W, columns) of arms, each a row of jokers."""
    return run(task, starts.records, starts.situations, _arms(rows), values)


def _grown(runs: SharedStarts, hands: SharedStarts, played: np.ndarray) -> np.ndarray:
    """(W of hands, jokers): what jokers have typically grown to at each stage, from the style that suits them best.

    `played` are the jokers' antes alone. Where a joker does not grow, or is gone by then, it is as it comes.
    """
    with np.errstate(invalid="ignore"):
        ends = np.stack([_mean_where_known(played[:, runs.situations[:, 3] == style, FIRST_VALUE]) for style in STYLES])
    away = np.abs(ends - START_VALUE)
    suited = np.take_along_axis(ends, np.nan_to_num(away, nan=-1.0).argmax(axis=0)[None], axis=0)[0]
    per_ante = suited - START_VALUE
    stages = np.array([stage.grown for stage in STAGES])[hands.stages]
    values = np.maximum(0.0, START_VALUE + stages[:, None] * per_ante)
    return np.where(np.isnan(per_ante) | (per_ante == 0), np.nan, values)


def _mean_where_known(values: np.ndarray) -> np.ndarray:
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


@cache
def bench(seed: int = 0, effort: float = 1.0) -> Bench:
    """The starts of a seed with every joker played alone; `effort` 1 is what ships."""
    hands = hand_starts(seed, max(1, round(_HAND_SAMPLES * effort)))
    runs = run_starts(seed + 1, max(1, round(effort)), every=max(1, round(1 / effort)))
    rows: list[list[int]] = [[], *([joker] for joker in range(len(JOKERS)))]
    antes = play(RUN, runs, rows, as_they_come(runs))
    grown = _grown(runs, hands, antes[1:])
    scores = play(HAND, hands, rows, grown)[..., LOG_SCORE]
    gains = {SCORE: scores, GROWTH: antes[..., AFTER] - antes[..., BEFORE], MONEY: antes[..., EARNED]}
    alone = {
        channel: _by_cell(hands if channel == SCORE else runs, gain[1:] - gain[0]) for channel, gain in gains.items()
    }
    rate = _rate(alone[SCORE])
    alone[MONEY] = rate * alone[MONEY]
    alone[_ANTE] = alone[GROWTH] + alone[MONEY]
    chosen = {channel: resampling(*gain.shape[1:], seed) for channel, gain in alone.items()}
    return Bench(hands, runs, grown, {channel: gain[0] for channel, gain in gains.items()}, alone, rate, chosen)


def _rate(alone: np.ndarray) -> float:
    """What a dollar buys: the log-score all jokers add on average, alone, per dollar of their prices."""
    return float(alone.mean(axis=(1, 2)).sum() / JOKER_COST.sum())


# --- pairs ---


def _score_gains(bench: Bench, rows: Sequence[Sequence[int]]) -> np.ndarray:
    scores = play(HAND, bench.hands, rows, bench.grown)[..., LOG_SCORE]
    return _by_cell(bench.hands, scores - bench.nothing[SCORE])


def _run_gains(bench: Bench, rows: Sequence[Sequence[int]]) -> dict[str, np.ndarray]:
    antes = play(RUN, bench.runs, rows, as_they_come(bench.runs))
    growth = antes[..., AFTER] - antes[..., BEFORE] - bench.nothing[GROWTH]
    money = bench.rate * (antes[..., EARNED] - bench.nothing[MONEY])
    gains = {GROWTH: growth, MONEY: money, _ANTE: growth + money}
    return {channel: _by_cell(bench.runs, gain) for channel, gain in gains.items()}


def _order_matters(bench: Bench, pairs: Sequence[Pair]) -> np.ndarray:
    """(N,) bool: whether the two ways round differ in a few hands or antes."""
    differs = np.zeros(len(pairs), np.bool_)
    for task, starts, values in ((HAND, bench.hands, bench.grown), (RUN, bench.runs, as_they_come(bench.runs))):
        few = slice(None, None, 9 if task == HAND else 13)
        played = [
            run(task, starts.records[few], starts.situations[few], _arms(rows), values[few])
            for rows in (pairs, [(b, a) for a, b in pairs])
        ]
        columns = [LOG_SCORE] if task == HAND else [BEFORE, AFTER, EARNED]
        differs |= (played[0][..., columns] != played[1][..., columns]).any(axis=(1, 2))
    return differs


@dataclass(frozen=True)
class _Measured:
    """The channels of one way round of some pairs."""

    estimates: dict[str, Estimate]
    total: np.ndarray  # (N,)
    error: np.ndarray  # (N,)


def _measure_ordered(bench: Bench, pairs: Sequence[Pair], channels: Iterable[str]) -> _Measured:
    gains: dict[str, np.ndarray] = {}
    if SCORE in channels:
        gains[SCORE] = _score_gains(bench, pairs)
    if GROWTH in channels or MONEY in channels:
        gains |= _run_gains(bench, pairs)
    left, right = np.array(pairs).T
    estimates = {
        channel: interactions(
            gain,
            (bench.alone[channel][left], bench.alone[channel][right]),
            (-1, -1),
            bench.chosen[channel],
        )
        for channel, gain in gains.items()
    }
    total, error = _summed(estimates, len(pairs))
    told = {channel: one for channel, one in estimates.items() if channel in channels}
    return _Measured({**told, BUILD: shared_build(bench, left, right)}, total, error)


def shared_build(bench: Bench, left: np.ndarray, right: np.ndarray) -> Estimate:
    """What steering a deck gives to two jokers beyond what it gives to each, as if their gains added up."""
    one, other = bench.alone[SCORE][left], bench.alone[SCORE][right]
    return interactions(one + other, (one, other), (-1, -1), bench.chosen[SCORE])


def _summed(estimates: dict[str, Estimate], count: int) -> tuple[np.ndarray, np.ndarray]:
    """(all, its standard error). Hands are the same for all arms, so their differences are no noise; antes part ways,
    so what chance would give is taken off."""
    total, error = np.zeros(count), np.zeros(count)
    if SCORE in estimates:
        total = total + estimates[SCORE].strength
        error = error + estimates[SCORE].error ** 2
    if _ANTE in estimates:
        total = total + shrunk(estimates[_ANTE].strength, estimates[_ANTE].error)
        error = error + estimates[_ANTE].error ** 2
    return total, np.sqrt(error)


def _interactions(bench: Bench, pair: Pair, measured: _Measured, row: int, order: str) -> Iterator[Interaction]:
    """The edges of a pair: its score, every other channel in which something is sure, and the sum.

    A score of nothing is left out where the other channels are against the pair.
    """
    a, b = JOKERS.key(pair[0]), JOKERS.key(pair[1])
    total, spread = measured.total[row], 1.96 * measured.error[row]
    samples = len(bench.hands) + len(bench.runs)

    def edge(channel: str, strength: float, low: float, high: float, samples: int) -> Interaction:
        strength, low, high = (round(float(value), _DIGITS) + 0.0 for value in (strength, low, high))
        return Interaction("synergizes", a, b, channel, strength, low, high, samples, order)

    for channel, one in measured.estimates.items():
        least = _WORTH_BUILDING if channel == BUILD else _WORTH_TELLING
        sure = (one.low[row] > 0 or one.high[row] < 0) and abs(one.strength[row]) > least
        if sure or (channel == SCORE and total > -_WORTH_TELLING):
            used = bench.hands if channel in (SCORE, BUILD) else bench.runs
            yield edge(channel, one.strength[row], one.low[row], one.high[row], len(used))
    for channel, jokers in _PHASES.items():
        if {a, b} & jokers and abs(total) > _WORTH_TELLING:
            yield edge(channel, total, total - spread, total + spread, samples)
    yield edge(ALL, total, total - spread, total + spread, samples)


def _measure_chunk(bench: Bench, pairs: Sequence[Pair], channels: Iterable[str]) -> Iterator[Interaction]:
    """Pairs in the better order; the order is given where it matters."""
    measured = _measure_ordered(bench, pairs, channels)
    turned = np.flatnonzero(_order_matters(bench, pairs))
    others = _measure_ordered(bench, [pairs[row][::-1] for row in turned], channels) if len(turned) else None
    place = {int(row): number for number, row in enumerate(turned)}
    for row, pair in enumerate(pairs):
        number = place.get(row)
        if others is None or number is None or abs(others.total[number] - measured.total[row]) < _WORTH_TELLING:
            yield from _interactions(bench, pair, measured, row, "")
        elif others.total[number] > measured.total[row]:
            yield from _interactions(bench, pair, others, number, "b_left")
        else:
            yield from _interactions(bench, pair, measured, row, "a_left")


def all_pairs() -> list[Pair]:
    """Every two jokers; the one whose key comes first in the alphabet is first."""
    numbers = sorted(range(len(JOKERS)), key=JOKERS.key)
    return list(combinations(numbers, 2))


def read_pairs(pairs: Iterable[tuple[str, str]]) -> list[Pair]:
    """Pairs of keys as numbers, in the order of the alphabet; unknown keys are refused by name."""
    found = []
    for a, b in pairs:
        if a == b:
            raise UsageError(f"A pair is two different jokers; got {a} twice.")
        found.append((JOKERS.id(min(a, b)), JOKERS.id(max(a, b))))
    return found


def measure_pairs(
    bench: Bench, pairs: Sequence[Pair], channels: Iterable[str] = EDGES, progress: Progress | None = None
) -> Iterator[Interaction]:
    """Interactions of pairs of jokers as they are found: all edges of a pair, one pair after the other."""
    wanted = set(channels)
    measured = CHANNELS if wanted - {*CHANNELS} else [channel for channel in CHANNELS if channel in wanted]
    for first in range(0, len(pairs), CHUNK):
        if progress:
            progress(first, len(pairs))
        for found in _measure_chunk(bench, pairs[first : first + CHUNK], measured):
            if found.channel in wanted:
                yield found
    if progress:
        progress(len(pairs), len(pairs))


# --- groups ---


def measure_rows(bench: Bench, rows: Sequence[Sequence[int]]) -> list[Interaction]:
    """What groups of three or more do beyond their pairs, each in the order of its row.

    By inclusion and exclusion: V(abc) − V(ab) − V(ac) − V(bc) + V(a) + V(b) + V(c), where V is what is gained over
    nothing held, in hands and antes.
    """
    return [_measure_row(bench, list(row)) for row in rows]


def _measure_row(bench: Bench, row: list[int]) -> Interaction:
    parts = [list(part) for size in range(len(row), 0, -1) for part in combinations(row, size)]
    signs = tuple((-1) ** (len(row) - len(part)) for part in parts)
    gains = {SCORE: _score_gains(bench, parts), **_run_gains(bench, parts)}
    others = range(1, len(parts))
    estimates = {
        channel: interactions(gain[:1], tuple(gain[n : n + 1] for n in others), signs[1:], bench.chosen[channel])
        for channel, gain in gains.items()
    }
    total, error = _summed(estimates, 1)
    strength, spread = float(total[0]), 1.96 * float(error[0])
    keys = [JOKERS.key(joker) for joker in row]
    order = "a_left" if keys[0] < keys[1] else "b_left"
    a, b = sorted(keys[:2])
    samples = len(bench.hands) + len(bench.runs)
    numbers = [round(number, _DIGITS) for number in (strength, strength - spread, strength + spread)]
    details = {channel: round(float(estimates[channel].strength[0]), _DIGITS) for channel in CHANNELS}
    return Interaction(
        "synergizes", a, b, GROUP, numbers[0], numbers[1], numbers[2], samples, order, tuple(keys[2:]), details
    )
