"""The numbers of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from jimbot.errors import UsageError


@dataclass(frozen=True)
class PlanSettings:
    """How much is tried, and how sure a plan must be before it overrules its policy."""

    rollouts: int = 32
    """Tries per decision, over all moves looked at."""
    candidates: int = 4
    """Moves looked at: the policy's most probable ones."""
    depth: int = 20
    """Decisions of the policy played after the move; then its value speaks."""
    certain: float = 0.98
    """Probability from which on the policy's own move is taken without a try."""
    margin: float = 1.0
    """Standard errors by which another move must be better than the policy's own."""
    prior: float = 0.0
    """What a move gains per unit of log-probability: for policies whose value is wrong where they never go."""
    seconds: float | None = None
    """Time after which no further tries are begun; None: all of them."""

    def __post_init__(self) -> None:
        least = {"rollouts": 2, "candidates": 2, "depth": 0}
        for name, smallest in least.items():
            if getattr(self, name) < smallest:
                raise UsageError(f"A plan with {name} {getattr(self, name)} cannot be; expected at least {smallest}.")
        if not 0 < self.certain <= 1:
            raise UsageError(f"A plan's `certain` is {self.certain}; expected a probability above 0, at most 1.")
        if self.margin < 0 or self.prior < 0:
            raise UsageError(f"A plan's margin {self.margin} and prior {self.prior} may not be negative.")
