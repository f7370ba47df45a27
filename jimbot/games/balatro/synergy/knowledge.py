"""The hook `Knowledge` of Balatro: what the simulator says about its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.balatro.arms.playing import MOST_JOKERS
from jimbot.games.balatro.rules.content import BLINDS, HANDS, JOKERS
from jimbot.games.balatro.synergy.measuring import (
    ALL,
    EDGES,
    GROUP,
    SCORE,
    Bench,
    Progress,
    all_pairs,
    bench,
    measure_pairs,
    measure_rows,
    read_pairs,
)
from jimbot.games.balatro.synergy.relations import counters, favours
from jimbot.games.hooks import Interaction

_TOP_PAIRS, _THIRDS = 15, 2
"""Groups of three that a whole measurement ends with: the strongest pairs, with the jokers that suit both best."""


def measure(
    pairs: Iterable[Sequence[str]] | None = None,
    seed: int = 0,
    effort: float = 1.0,
    channels: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Iterator[Interaction]:
    """What pairs of parts do together: two jokers, a joker and a poker hand, or either and a boss.

    Without pairs: what jokers favour and counter, all pairs of jokers, then groups of three of the strongest.
    `effort` 1 plays 140 hands and 13 antes per arm.
    """
    wanted = set(channels or (*EDGES, GROUP))
    if unknown := wanted - {*EDGES, GROUP}:
        raise UnknownNameError("channel", min(unknown), (*EDGES, GROUP))
    if effort <= 0:
        raise UsageError(f"The effort is {effort}; expected a number above 0.")
    jokers, others = ([], []) if pairs is None else _sorted_by_kind(pairs)
    base = bench(seed, effort)
    if "score" in wanted and (pairs is None or others):
        yield from favours(base, None if pairs is None else others)
        yield from counters(base, None if pairs is None else others)
    found: list[Interaction] = []
    for one in measure_pairs(base, all_pairs() if pairs is None else read_pairs(jokers), wanted, progress):
        found.append(one)
        yield one
    if pairs is None and GROUP in wanted:
        yield from measure_top({(one.a, one.b): one.strength for one in found if one.channel == ALL}, seed, effort)


def measure_top(
    strengths: Mapping[tuple[str, str], float], seed: int = 0, effort: float = 1.0
) -> Iterator[Interaction]:
    """Groups of three around the strongest pairs that are more than their pairs for sure, in their best order."""
    yield from _threes(bench(seed, effort), {frozenset(pair): value for pair, value in strengths.items()})


def profiles(seed: int = 0, effort: float = 1.0) -> dict[str, tuple[float, ...]]:
    """What every joker adds to the score alone, in each shape of deck with discards kept and spent."""
    alone = bench(seed, effort).alone[SCORE].mean(axis=-1)
    return {JOKERS.key(joker): tuple(round(float(gain), 3) for gain in row) for joker, row in enumerate(alone)}


def measure_group(keys: Sequence[str], seed: int = 0, effort: float = 1.0) -> Interaction:
    """What three or more jokers do beyond their pairs, in the order of the keys."""
    if not 2 < len(set(keys)) == len(keys) <= MOST_JOKERS:
        raise UsageError(f"A group is 3 to {MOST_JOKERS} different jokers; got {', '.join(keys)}.")
    return measure_rows(bench(seed, effort), [[JOKERS.id(key) for key in keys]])[0]


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


def _threes(base: Bench, strength: Mapping[frozenset[str], float]) -> Iterator[Interaction]:
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
        best = max(measure_rows(base, rows), key=lambda one: one.strength)
        if best.low > 0:
            yield best
