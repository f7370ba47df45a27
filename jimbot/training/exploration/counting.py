"""A bonus for what was seldom met: c/√n for the n-th time something happens to a key (which joker, which boss, which
strategy).

What counts is what the game names worth remembering (`hooks.RareEvent`), so a joker held for the first time pays c, for
the hundredth a tenth of it; and, by a factor of its own, which strategy of the knowledge graph a game has come to. The
counts are part of the training state, and so are the strategies: resume is exact, whatever became of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry
from jimbot.games.hooks import Found, RareEvent
from jimbot.knowledge.sorting import NONE, Sorter, sorter_of

Steps = Iterable[tuple[np.ndarray, np.ndarray]]
"""Observations (N, D) before and after each step of a rollout; a step that ended its game shows how it ended."""
STRATEGIES, WEIGHTS = "new_strategy", "strategies"


class CountBonus:
    """What is paid, and how often everything was met."""

    def __init__(
        self, events: Sequence[RareEvent], coef: float, sorter: Sorter | None = None, strategy_coef: float = 0.0
    ) -> None:
        self._paying = {event.name: (event, coef) for event in events}
        self._sorter = sorter
        if sorter is not None:
            self._paying[STRATEGIES] = new_strategy(sorter), strategy_coef
        self._counts = {name: np.zeros(event.keys, np.int64) for name, (event, _) in self._paying.items()}
        self.paid = 0.0
        """Of the last rollout, a step on average."""

    @classmethod
    def of(cls, game: str, coef: float, strategy_coef: float = 0.0) -> CountBonus | None:
        """The bonus of a run; None where none is wanted."""
        if not coef and not strategy_coef:
            return None
        events = game_entry(game).rare_events if coef else None
        if coef and events is None:
            raise SettingsError(
                f"count_bonus is {coef}, but game '{game}' names nothing that could be counted. Leave it out."
            )
        sorter = sorter_of(game) if strategy_coef else None
        if strategy_coef and sorter is None:
            raise SettingsError(
                f"strategy_bonus is {strategy_coef}, but no strategies of game '{game}' are known. Leave it out, or "
                "find some: jimbot graph discover"
            )
        return cls(events() if events is not None else (), coef, sorter, strategy_coef)

    def rewards(self, steps: Steps) -> np.ndarray:
        """(T, N) float32: the bonus of every step of a rollout."""
        bonus = np.stack([self._step(before, after) for before, after in steps])
        self.paid = float(bonus.mean())
        return bonus

    def _step(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        paid = np.zeros(len(before), np.float32)
        for name, (event, coef) in self._paying.items():
            rows, keys = event.find(before, after)
            np.add.at(self._counts[name], keys, 1)
            np.add.at(paid, rows, coef / np.sqrt(self._counts[name][keys]))
        return paid

    def arrays(self) -> dict[str, np.ndarray]:
        found = {name: counts.copy() for name, counts in self._counts.items()}
        return found if self._sorter is None else {**found, WEIGHTS: self._sorter.weights}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """What a checkpoint kept; what it does not know was never met."""
        weights = arrays.get(WEIGHTS)
        if self._sorter is not None and weights is not None and len(weights) == len(self._sorter.weights):
            names = tuple(f"strategy {number}" for number in range(weights.shape[1]))
            self._sorter = replace(self._sorter, names=names, weights=weights)
            self._paying[STRATEGIES] = new_strategy(self._sorter), self._paying[STRATEGIES][1]
        for name, (event, _) in self._paying.items():
            kept = arrays.get(name)
            known = kept is not None and kept.shape == (event.keys,)
            self._counts[name] = kept.copy() if kept is not None and known else np.zeros(event.keys, np.int64)

    def metrics(self) -> dict[str, float]:
        met = {f"explore/{name}_met": float((counts > 0).sum()) for name, counts in self._counts.items()}
        return {"explore/count_bonus": self.paid, **met}


def new_strategy(sorter: Sorter) -> RareEvent:
    """A game comes to another strategy than it followed before."""

    def find(before: np.ndarray, after: np.ndarray) -> Found:
        old, new = sorter.nearest(before), sorter.nearest(after)
        rows = np.flatnonzero((new != NONE) & (new != old))
        return rows, new[rows]

    return RareEvent(STRATEGIES, 1.0, None, len(sorter.names), find)
