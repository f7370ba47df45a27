"""What jokers favour among poker hands, and what helps or suffers against which boss: measured in the same hands.

- A joker *favours* a poker hand by what it adds to the best certain play of that hand, in hands where it can be formed
  with the joker or without, beyond what it adds to poker hands on average. Making a hand possible counts in full.
- A joker *counters* a boss by what it adds under the boss beyond what it adds to the same hands without one; a poker
  hand by what it loses under the boss compared with the others. Bosses that only ask for more points are not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from jimbot.games.balatro.arms.playing import FIRST_HAND, HAND, LOG_SCORE
from jimbot.games.balatro.rules.content import BLINDS, HANDS, JOKERS
from jimbot.games.balatro.rules.state import BYTES_PER_GAME, GAME_DTYPE
from jimbot.games.balatro.synergy.measuring import Bench, play
from jimbot.games.balatro.synergy.statistics import RESAMPLES, TAILS
from jimbot.games.balatro.synergy.worlds import Worlds
from jimbot.games.hooks import Interaction

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


def _some(worlds: Worlds, rows: Sequence[int] | np.ndarray) -> Worlds:
    return Worlds(worlds.records[rows], worlds.situations[rows], worlds.stages[rows], worlds.cells[rows])


def _against(worlds: Worlds, boss: str) -> Worlds:
    """The same starts with a boss on deck."""
    games: Any = worlds.records.copy().view(GAME_DTYPE)[:, 0]
    games["boss"], games["on_deck"] = BLINDS.id(boss), _BOSS_ROUND
    records = games.view(np.uint8).reshape(len(games), BYTES_PER_GAME)
    return Worlds(records, worlds.situations, worlds.stages, worlds.cells)
