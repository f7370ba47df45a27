"""How various play is: of the things a game may be played with (`hooks.Variety`), how many really are.

Entropy in nats of what games have, and the share of games that have the most common thing. A policy that knows one
build only has little of the first and much of the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jimbot.games.hooks.learners import Variety

FEWEST = 50  # games looked at, below which nothing is said


class Spread(NamedTuple):
    """What was seen of one variety."""

    entropy: float
    """Nats; its exponential is how many things are in use, as if all were used alike."""
    top: float
    """Share of the games looked at that have the most common thing."""
    top_name: str
    games: int


class VarietyCount:
    """Looks at games and counts."""

    def __init__(self, varieties: Sequence[Variety]) -> None:
        self.varieties = tuple(varieties)
        self.clear()

    def clear(self) -> None:
        self._counts = [np.zeros(one.keys, np.int64) for one in self.varieties]
        self._games = [0] * len(self.varieties)

    def look(self, observation: np.ndarray) -> None:
        """Games as they stand, (N, D)."""
        for place, one in enumerate(self.varieties):
            rows, keys = one.find(observation)
            pairs = np.unique(np.stack([rows, keys]), axis=1)  # a thing held twice is held
            self._counts[place] += np.bincount(pairs[1], minlength=one.keys)
            self._games[place] += len(np.unique(rows))

    def spread(self) -> dict[str, Spread]:
        """By name; of those that enough games were seen of."""
        found = {}
        for one, counts, games in zip(self.varieties, self._counts, self._games, strict=True):
            if games >= FEWEST:
                share = counts[counts > 0] / counts.sum()
                top = int(counts.argmax())
                entropy = float(-(share * np.log(share)).sum())
                found[one.name] = Spread(entropy, float(counts[top] / games), one.name_of(top), games)
        return found

    def metrics(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, spread in self.spread().items():
            found |= {f"variety/{name}": spread.entropy, f"variety/{name}_top": spread.top}
        return found
