"""How many games a statement needs: to know a figure twice as well, or to tell a win rate from one that was claimed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from jimbot.evaluation.intervals import (
    Interval,
    games_for_half_width,
    games_for_rate_half_width,
    games_to_tell_rate,
)


@dataclass(frozen=True)
class Claim:
    """A win rate beside one that somebody else reached."""

    rate: Interval
    against: float

    @property
    def verdict(self) -> str:
        """above, below, or open when the games played do not decide it."""
        if not self.rate.excludes(self.against):
            return "open"
        return "above" if self.rate.mean > self.against else "below"

    @property
    def games_needed(self) -> int | None:
        """Games in all that decide it if the rate stays as it is; None if no number would."""
        needed = games_to_tell_rate(self.rate.mean, self.against)
        return needed if needed is None or self.verdict != "open" else max(needed, self.rate.count + 1)

    def __str__(self) -> str:
        rate, other = f"{self.rate.mean:.2%}", f"{self.against:.2%}"
        if self.verdict != "open":
            return f"The win rate of {rate} is {self.verdict} {other} with 95 % confidence."
        if self.games_needed is None:
            return f"The win rate is {other}, exactly what it is compared with; no number of games tells them apart."
        more = self.games_needed - self.rate.count
        return (
            f"The win rate of {rate} cannot be told from {other} yet; if it stays as it is, "
            f"{self.games_needed:,} games would ({more:,} more)."
        )

    def to_dict(self) -> dict[str, Any]:
        more = None if self.games_needed is None else max(0, self.games_needed - self.rate.count)
        return {
            "against": self.against,
            "verdict": self.verdict,
            "games_needed": self.games_needed,
            "more_games": more,
            "sentence": str(self),
        }


def games_to_halve(interval: Interval | None, is_rate: bool = False) -> int | None:
    """Games in all until an interval is half as wide, if games go on as they did; None if that cannot be known."""
    if interval is None or not 0 < interval.half_width < math.inf or math.isnan(interval.mean):
        return None
    half = interval.half_width / 2
    if is_rate:
        return games_for_rate_half_width(interval.mean, half)
    return games_for_half_width(interval.spread, half)
