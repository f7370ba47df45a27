"""A heuristic player of HackMatrix: it thinks every decision through by playing on in its head.

It reads the position from the observation (`reading` makes a row of numbers of it, in the form of `layout`), and then
simulates: a plan of stops before the exit, a first action, how it goes on (`search`; `rules` plays on, `habits` is what
is done without thinking, `settings` what things are worth). Simulations are seeded by the observation, so the same
position always gets the same answer. It sees the observation and the mask only; with the option `helpers` it knows the
clocks, too, and may use STEP.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any, ClassVar

import numpy as np

from jimbot.games.hackmatrix.heuristic.reading import read
from jimbot.games.hackmatrix.heuristic.search import search_all
from jimbot.games.hackmatrix.heuristic.settings import Thinking, Weights
from jimbot.games.heuristics import Answer
from jimbot.games.threads import Threads, thread_count

SIMULATIONS = 100
_SEED = 20_260_711
_ROWS_WORTH_A_THREAD = 2  # a row takes a millisecond


class Heuristic:
    """Plays from observations; see the module."""

    name = "heuristic"
    helped_by: ClassVar[dict[str, Any]] = {"helpers": True}
    """Game options by which it sees more; it can do without."""

    def __init__(
        self,
        simulations: int = SIMULATIONS,
        thinking: Thinking = Thinking(),
        weights: Weights = Weights(),
        guess: np.ndarray | None = None,
    ) -> None:
        """`guess` (N, 28): how likely another policy finds the actions of the positions it will be asked about."""
        self.simulations, self._thinking, self._weights, self._guess = simulations, thinking, weights, guess

    def planning(self, simulations: int, guess: np.ndarray | None = None) -> Heuristic:
        """The same player with another number of simulations per decision, begun with the likely actions of a guess."""
        return Heuristic(simulations, self._thinking, self._weights, guess)

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Answer:
        """((N,) actions, (N, 28) shares of the simulations, (N,) chances to win) for (N, D), (N, 28)."""
        observation = np.ascontiguousarray(observation, np.float32)
        legal = np.ascontiguousarray(legal_mask, bool)
        count = len(legal)
        actions, values = np.zeros(count, np.int64), np.zeros(count)
        visits = np.zeros(legal.shape, np.int64)
        guess = np.zeros((0, 0)) if self._guess is None else np.ascontiguousarray(self._guess, np.float64)
        positions, seeds = read(observation), _seeds(observation)

        def think(worker: int, first: int, last: int) -> None:
            part = slice(first, last)
            search_all(
                positions[part], legal[part], guess[part], seeds[part], self.simulations, self._thinking, self._weights,
                actions[part], visits[part], values[part],
            )  # fmt: skip

        _threads().spread(count, think)
        probabilities = visits / visits.sum(axis=1, keepdims=True)
        if not deterministic:
            drawn = (key or np.random.default_rng(0)).random((count, 1))
            actions = (probabilities.cumsum(axis=1) <= drawn * (1 - 1e-9)).sum(axis=1)
        return actions, probabilities.astype(np.float32), values.astype(np.float32)


@cache
def _threads() -> Threads:
    return Threads(thread_count(), _ROWS_WORTH_A_THREAD)


if hasattr(os, "register_at_fork"):  # a child has none of its parent's threads
    os.register_at_fork(after_in_child=_threads.cache_clear)


def _seeds(observation: np.ndarray) -> np.ndarray:
    """(N,) uint64, odd: a hash of every observation, so that nothing else decides how simulations are drawn."""
    factors = np.random.default_rng(_SEED).integers(0, 2**63, observation.shape[1], dtype=np.uint64)
    mixed = (observation.view(np.uint32).astype(np.uint64) * factors).sum(axis=1)
    return (mixed ^ (mixed >> np.uint64(29))) | np.uint64(1)
