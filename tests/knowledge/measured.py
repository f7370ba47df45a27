"""A game's hook that measures at once: what it says follows from the names alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from jimbot.games.hooks.learners import Interaction, Knowledge, Part
from tests.knowledge.samples import JOKERS


def parts() -> tuple[Part, ...]:
    jokers = [Part("joker", key, name, "Does things.", (1.0, 0.0)) for key, name in JOKERS.items()]
    return (*jokers, Part("boss", "bl_wall", "The Wall", "Extra large."), Part("hand", "High Card", "High Card", ""))


def strength(a: str, b: str, seed: int) -> float:
    return (len(a) * 7 + len(b) * 3 + seed) % 10 / 10


class Measuring:
    """Counts what it was asked, and stops where it is told."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.stop_after: int | None = None
        self.ranked: dict[tuple[str, str], float] = {}

    def measure(
        self, pairs=None, seed=0, effort=1.0, channels=None, progress=lambda done, of: None
    ) -> Iterator[Interaction]:
        wanted = list(combinations(sorted(JOKERS), 2)) if pairs is None else pairs
        for number, (a, b) in enumerate(wanted):
            if number == self.stop_after:
                raise KeyboardInterrupt
            self.asked.append((a, b))
            for channel in channels or ("score", "money"):
                value = strength(a, b, seed)
                yield Interaction("synergizes", a, b, channel, value, value - 0.05, value + 0.05, int(64 * effort))
            progress(number + 1, len(wanted))

    def measure_group(self, keys, seed=0, effort=1.0) -> Interaction:
        a, b, *others = keys
        return Interaction("synergizes", a, b, "score", 1.0, 0.9, 1.1, 64, others=tuple(others))

    def hook(self) -> Knowledge:
        return Knowledge(parts, lambda game, row: {}, self.measure, self.measure_group, self.measure_top)

    def measure_top(self, strengths, seed=0, effort=1.0) -> Iterator[Interaction]:
        self.ranked = dict(strengths)
        yield self.measure_group(sorted(JOKERS)[:3], seed, effort)
