"""The hook `Knowledge` of Balatro: what the simulator says about its parts.

- A joker *favours* a poker hand by what it adds to the best certain play of that hand, in hands where it can be formed
  with the joker or without, beyond what it adds to poker hands on average. Making a hand possible counts in full.
- A joker *counters* a boss by what it adds under the boss beyond what it adds to the same hands without one; a poker
  hand by what it loses under the boss compared with the others. Bosses that only ask for more points are not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.balatro.arms import FIRST_HAND, HAND, LOG_SCORE, MOST_JOKERS
from jimbot.games.balatro.rules.content import BLINDS, HANDS, JOKERS
from jimbot.games.balatro.rules.state import BYTES_PER_GAME, GAME_DTYPE
from jimbot.games.balatro.synergy import measuring
from jimbot.games.balatro.synergy.measuring import Bench, play
from jimbot.games.balatro.synergy.shared_starts import SharedStarts
from jimbot.games.balatro.synergy.statistics import RESAMPLES, TAILS
from jimbot.games.hooks.learners import Interaction

SCORE = "score"
BOSSES = tuple(row["key"] for row in BLINDS if row["type"] == "boss")
_LEAST = 0.02
_DIGITS = 4
_BOSS_ROUND = 2
_BOSS_HANDS = 48  # are played against every boss


def favours(bench: Bench, wanted: Iterable[tuple[str, str]] | None = None) -> Iterator[Interaction]:
    """Which poker hands jokers favour; all that are sure, or the pairs that are named."""
    named = None if wanted is None else set(wanted)
    jokers = [joker for joker in range(len(JOKERS)) if named is None or JOKERS.key(joker) in {a for a, _ in named}]
    if not jokers:
        return
    scores = play(HAND, bench.hands, [[], *([joker] for joker in jokers)], bench.grown)[..., FIRST_HAND:]
    without = scores[0]
    for joker, with_joker in zip(jokers, scores[1:], strict=True):
        possible = (with_joker > 0) | (without > 0)  # (W, hands)
        added = np.where(possible, with_joker - without, np.nan)
        usual = np.nanmean(added)
        for hand in range(len(HANDS)):
            pair = JOKERS.key(joker), HANDS.key(hand)
            known = added[possible[:, hand], hand] - usual
            if len(known) > 1 and (named is None or pair in named):
                yield from _edge("favours", pair, known, named is not None)


def counters(bench: Bench, wanted: Iterable[tuple[str, str]] | None = None) -> Iterator[Interaction]:
    """What does better or worse against bosses; all that is sure, or the pairs that are named."""
    named = None if wanted is None else set(wanted)
    few = np.unique(np.linspace(0, len(bench.hands) - 1, _BOSS_HANDS).astype(int))
    quiet = _some(bench.hands, few)
    rows: list[list[int]] = [[], *([joker] for joker in range(len(JOKERS)))]
    before = play(HAND, quiet, rows, bench.grown[few])
    for boss in BOSSES:
        if named is None or boss in {b for _, b in named}:
            after = play(HAND, _against(quiet, boss), rows, bench.grown[few])
            yield from _counters_of(boss, before, after, named)


def _counters_of(
    boss: str, before: np.ndarray, after: np.ndarray, named: set[tuple[str, str]] | None
) -> Iterator[Interaction]:
    lost = (after - before)[..., LOG_SCORE]
    for joker in range(len(JOKERS)):
        pair = JOKERS.key(joker), boss
        if named is None or pair in named:
            yield from _edge("counters", pair, lost[joker + 1] - lost[0], named is not None)
    hands = np.where(before[0, :, FIRST_HAND:] > 0, (after - before)[0, :, FIRST_HAND:], np.nan)
    usual = np.nanmean(hands)
    for hand in range(len(HANDS)):
        pair = HANDS.key(hand), boss
        known = hands[~np.isnan(hands[:, hand]), hand] - usual
        if len(known) > 1 and (named is None or pair in named):
            yield from _edge("counters", pair, known, named is not None)


def _edge(relation: str, pair: tuple[str, str], values: np.ndarray, in_any_case: bool) -> Iterator[Interaction]:
    chosen = np.random.default_rng(0).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(values[chosen].mean(axis=1), TAILS)
    strength = float(values.mean())
    if in_any_case or (abs(strength) > _LEAST and (low > 0 or high < 0)):
        numbers = [
            round(float(number), _DIGITS) + 0.0 for number in (strength, min(low, strength), max(high, strength))
        ]
        yield Interaction(relation, *pair, SCORE, numbers[0], numbers[1], numbers[2], len(values))


def _some(starts: SharedStarts, rows: Sequence[int] | np.ndarray) -> SharedStarts:
    return SharedStarts(starts.records[rows], starts.situations[rows], starts.stages[rows], starts.cells[rows])


def _against(starts: SharedStarts, boss: str) -> SharedStarts:
    """The same starts with a boss on deck."""
    games: Any = starts.records.copy().view(GAME_DTYPE)[:, 0]
    games["boss"], games["on_deck"] = BLINDS.id(boss), _BOSS_ROUND
    records = games.view(np.uint8).reshape(len(games), BYTES_PER_GAME)
    return SharedStarts(records, starts.situations, starts.stages, starts.cells)


_TOP_PAIRS, _THIRDS = 15, 2
"""Groups of three that a whole measurement ends with: the strongest pairs, with the jokers that suit both best."""


def measure(
    pairs: Iterable[Sequence[str]] | None = None,
    seed: int = 0,
    effort: float = 1.0,
    channels: Iterable[str] | None = None,
    progress: measuring.Progress | None = None,
) -> Iterator[Interaction]:
    """What pairs of parts do together: two jokers, a joker and a poker hand, or either and a boss.

    Without pairs: what jokers favour and counter, all pairs of jokers, then groups of three of the strongest.
    `effort` 1 plays 140 hands and 13 antes per arm.
    """
    wanted = set(channels or (*measuring.EDGES, measuring.GROUP))
    if unknown := wanted - {*measuring.EDGES, measuring.GROUP}:
        raise UnknownNameError("channel", min(unknown), (*measuring.EDGES, measuring.GROUP))
    if effort <= 0:
        raise UsageError(f"The effort is {effort}; expected a number above 0.")
    jokers, others = ([], []) if pairs is None else _sorted_by_kind(pairs)
    base = measuring.bench(seed, effort)
    if "score" in wanted and (pairs is None or others):
        yield from favours(base, None if pairs is None else others)
        yield from counters(base, None if pairs is None else others)
    found: list[Interaction] = []
    for one in measuring.measure_pairs(
        base, measuring.all_pairs() if pairs is None else measuring.read_pairs(jokers), wanted, progress
    ):
        found.append(one)
        yield one
    if pairs is None and measuring.GROUP in wanted:
        yield from measure_top(
            {(one.a, one.b): one.strength for one in found if one.channel == measuring.ALL}, seed, effort
        )


def measure_top(
    strengths: Mapping[tuple[str, str], float], seed: int = 0, effort: float = 1.0
) -> Iterator[Interaction]:
    """Groups of three around the strongest pairs that are more than their pairs for sure, in their best order."""
    yield from _threes(measuring.bench(seed, effort), {frozenset(pair): value for pair, value in strengths.items()})


def profiles(seed: int = 0, effort: float = 1.0) -> dict[str, tuple[float, ...]]:
    """What every joker adds to the score alone, in each shape of deck with discards kept and spent."""
    alone = measuring.bench(seed, effort).alone[measuring.SCORE].mean(axis=-1)
    return {JOKERS.key(joker): tuple(round(float(gain), 3) for gain in row) for joker, row in enumerate(alone)}


def measure_group(keys: Sequence[str], seed: int = 0, effort: float = 1.0) -> Interaction:
    """What three or more jokers do beyond their pairs, in the order of the keys."""
    if not 2 < len(set(keys)) == len(keys) <= MOST_JOKERS:
        raise UsageError(f"A group is 3 to {MOST_JOKERS} different jokers; got {', '.join(keys)}.")
    return measuring.measure_rows(measuring.bench(seed, effort), [[JOKERS.id(key) for key in keys]])[0]


def _sorted_by_kind(pairs: Iterable[Sequence[str]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(pairs of jokers, pairs with a poker hand or a boss second); names that are none are refused."""
    jokers, others = [], []
    for pair in pairs:
        a, b = sorted(pair, key=_place)
        if _place(b) == 0:
            jokers.append((a, b))
        elif (_place(a), _place(b)) in ((0, 1), (0, 2), (1, 2)):
            others.append((a, b))
        else:
            raise UsageError(f"{a} and {b} cannot be measured together; give a joker, or a poker hand and a boss.")
    return jokers, others


def _place(key: str) -> int:
    for place, table in enumerate((JOKERS, HANDS, BLINDS)):
        if key in table:
            return place
    raise UnknownNameError("joker", key, JOKERS.keys)


def _threes(base: measuring.Bench, strength: Mapping[frozenset[str], float]) -> Iterator[Interaction]:
    top = sorted(strength, key=lambda pair: -strength[pair])[:_TOP_PAIRS]
    groups = set()
    for pair in top:
        thirds = sorted(
            (key for key in JOKERS.keys if key not in pair),
            key=lambda third: -sum(strength.get(frozenset((third, one)), 0.0) for one in pair),
        )
        groups.update(frozenset((*pair, third)) for third in thirds[:_THIRDS])
    for group in sorted(groups, key=sorted):
        rows = [[JOKERS.id(key) for key in order] for order in permutations(sorted(group))]
        best = max(measuring.measure_rows(base, rows), key=lambda one: one.strength)
        if best.low > 0:
            yield best
