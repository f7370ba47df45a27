"""Which strategy a game follows, for many games at once and from their observations alone.

The same likeness that `queries.similarity` asks of one state, as a product of matrices: what each of many rows holds,
times the weights of every strategy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from jimbot.errors import JimbotError
from jimbot.games.contract import available_games, game_entry
from jimbot.games.hooks.learners import Found, Held, Variety
from jimbot.knowledge.first_use import graph_address, open_store, shipped_strategies, take_newer
from jimbot.knowledge.queries import followed, strategies

NONE = -1
VARIETY = "strategies"


@dataclass(frozen=True)
class Sorter:
    """Finds the nearest of some strategies."""

    held: Held
    names: tuple[str, ...]
    weights: np.ndarray  # (parts, strategies) float32, columns of length 1

    def nearest(self, observation: np.ndarray) -> np.ndarray:
        """(N, D) observations → (N,) int: the place of the strategy, or NONE where too little is held to tell."""
        rows, parts = self.held.find(observation)
        holds = np.zeros((len(observation), len(self.weights)), np.float32)
        holds[rows, parts] = 1.0
        likeness = holds @ self.weights
        best = likeness.argmax(axis=1)
        return np.where(likeness[np.arange(len(best)), best] > 0, best, NONE)

    def variety(self) -> Variety:
        """What `games.variety` counts: in how many games every strategy is followed."""

        def find(observation: np.ndarray) -> Found:
            place = self.nearest(observation)
            rows = np.flatnonzero(place != NONE)
            return rows, place[rows]

        title = "strategies of the knowledge graph, from two jokers on"
        return Variety(VARIETY, title, len(self.names), find, self.names.__getitem__)


def sorter(held: Held, known: Sequence[Mapping[str, Any]]) -> Sorter | None:
    """Of strategies (`name`, `uses`); None where there are none whose parts can be seen."""
    place = {key: number for number, key in enumerate(held.keys()) if key}
    weights = np.zeros((len(held.keys()), len(known)), np.float32)
    for column, one in enumerate(known):
        for key, weight in one["uses"].items():
            if key in place:
                weights[place[key], column] = weight
    length = np.linalg.norm(weights, axis=0)
    seen = np.flatnonzero(length > 0)
    if not len(seen):
        return None
    return Sorter(held, tuple(str(known[column]["name"]) for column in seen), weights[:, seen] / length[seen])


def sorter_of(game: str) -> Sorter | None:
    """By the strategies of the user's graph if there is one, else by those that ship; None where nothing is known."""
    knowledge = game_entry(game).knowledge if game in available_games() else None
    if knowledge is None or knowledge.held is None:
        return None
    return sorter(knowledge.held, known_strategies(game))


def ways_of(game: str) -> Variety | None:
    """The strategies of a game as ways to play, for reports and metrics; None where none are known."""
    found = sorter_of(game)
    return None if found is None else found.variety()


def known_strategies(game: str) -> list[dict[str, Any]]:
    """Strategies that runs may be said to follow; a graph that cannot be asked tells none, and nobody has to wait."""
    try:
        store = open_store(graph_address(None, game), game)
        try:
            if store.exists():
                take_newer(store, game)  # one made from an older release may know no strategy yet
                return followed(strategies(store))
        finally:
            store.close()
    except JimbotError:
        pass
    return _shipped(game)


@cache
def _shipped(game: str) -> list[dict[str, Any]]:
    return followed(shipped_strategies(game))
