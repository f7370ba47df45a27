"""The numbers of a plan, and how a game spreads them over its kinds of decisions.

What `--plan N` says is the number of simulations; the rest comes from the game's table (`GameEntry.plans`), because
what pays differs: a purchase stays for the whole game, a hand of cards is one of a few.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.entry import GameEntry


@dataclass(frozen=True)
class PlanSettings:
    """How much is tried, and how sure a plan must be before it overrules its policy."""

    rollouts: int = 32
    """Simulations per decision, over all moves looked at."""
    candidates: int = 4
    """Moves looked at: the policy's most probable ones."""
    depth: int = 20
    """Decisions played after the move; then the policy's value speaks."""
    horizon: int = 1
    """Positions that settle something (Balatro: the choice of a blind) until a simulation ends, where the game has such
    and who plays on can tell how likely it is to win there; `depth` does not count then."""
    certain: float = 0.98
    """Probability from which on the policy's own move is taken without a try."""
    margin: float = 1.0
    """Standard errors by which another move must be better than the policy's own."""
    least: float = 0.0
    """What another move must gain at least, however sure that is."""
    prior: float = 0.0
    """What a move gains per unit of log-probability: for policies whose value is wrong where they never go."""
    share: float = 1.0
    """Part of the simulations that decisions of this kind get; 0: they are not planned."""
    seconds: float | None = None
    """Time for all decisions that are planned together; None: all the simulations they need."""

    def __post_init__(self) -> None:
        least = {"rollouts": 2, "candidates": 2, "depth": 0, "horizon": 1}
        for name, smallest in least.items():
            if getattr(self, name) < smallest:
                raise UsageError(f"A plan with {name} {getattr(self, name)} cannot be; expected at least {smallest}.")
        if not 0 < self.certain <= 1:
            raise UsageError(f"A plan's `certain` is {self.certain}; expected a probability above 0, at most 1.")
        if min(self.margin, self.least, self.prior, self.share) < 0:
            raise UsageError(
                f"A plan's margin {self.margin}, least {self.least}, prior {self.prior} and share {self.share} may not "
                "be negative."
            )

    @property
    def simulations(self) -> int:
        """Of one decision of this kind."""
        return round(self.rollouts * self.share)


class PlanTable:
    """The settings of every decision of a game: those given, and what the game's table says per kind where nothing
    else was asked for."""

    def __init__(
        self, entry: GameEntry, given: PlanSettings | None = None, asked: Mapping[str, Any] | None = None
    ) -> None:
        asked = dict(asked or {})
        known = [field.name for field in fields(PlanSettings)]
        for name, value in asked.items():
            if name not in known:
                raise UnknownNameError("setting of a plan", name, known)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise UsageError(f"The setting '{name}' of a plan is {value!r}; expected a number.")
        self._plans = None if given is not None else entry.plans
        base = replace(given or PlanSettings(), **asked)
        tables = self._plans.settings if self._plans is not None else ({},)
        self.kinds = tuple(replace(base, **{**changes, **asked}) for changes in tables)
        self.seconds = base.seconds

    def kind_of(self, observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        """(N,) int: which of `kinds` each decision is."""
        if self._plans is None:
            return np.zeros(len(observation), np.int64)
        return self._plans.find(observation, legal_mask)
