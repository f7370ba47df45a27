"""What a set of games says about a policy: metrics with intervals, as JSON or as a table."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from jimbot.evaluation import intervals
from jimbot.evaluation.play import LENGTH, RETURN, WIN_RATE, Games
from jimbot.games.contract import game_entry
from jimbot.games.spec import GameSpec
from jimbot.notebook import ShownInNotebooks

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class Claim:
    """A win rate beside one that another player reached."""

    rate: intervals.Interval
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
        needed = intervals.games_to_tell_rate(self.rate.mean, self.against)
        return needed if needed is None or self.verdict != "open" else max(needed, self.rate.count + 1)

    def __str__(self) -> str:
        rate, other = f"{self.rate.mean:.2%}", f"{self.against:.2%}"
        if self.verdict != "open":
            return f"The win rate of {rate} is {self.verdict} {other} with 95 % confidence."
        if self.games_needed is None:
            return f"The win rate is {other}, exactly what it is compared with; no number of games tells them apart."
        more = self.games_needed - self.rate.count
        return (
            f"The win rate of {rate} does not differ significantly from {other} yet; if it stays as it is, "
            f"{self.games_needed:,} games would decide ({more:,} more)."
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


def games_to_halve(interval: intervals.Interval | None, is_rate: bool = False) -> int | None:
    """Games in all until an interval is half as wide, if games go on as they did; None if that cannot be known."""
    if interval is None or not 0 < interval.half_width < math.inf or math.isnan(interval.mean):
        return None
    half = interval.half_width / 2
    if is_rate:
        return intervals.games_for_rate_half_width(interval.mean, half)
    return intervals.games_for_half_width(interval.spread, half)


WON = "won"
"""Games whose episode statistics have this name report a win rate; above 0 counts as won."""
HIGHEST = "highest_"
"""Statistics whose names begin so are reported as the maximum over all games."""
QUANTILES = (5, 25, 50, 75, 95)  # per cent of games
MOST_VALUES = 24
"""A statistic of whole numbers with at most so many different ones is reported as a distribution."""


@dataclass(frozen=True)
class Evaluation(ShownInNotebooks):
    """A policy's games and everything that follows from them."""

    games: Games
    bank: str
    """The seed bank or seeds file the games were played on."""
    deterministic: bool
    options: Mapping[str, Any]
    against: float | None = None
    """A win rate that another player reached, to compare this one with."""

    @property
    def policy(self) -> str:
        return self.games.policy

    @property
    def spec(self) -> GameSpec:
        return game_entry(self.games.game).spec

    @property
    def count(self) -> int:
        return len(self.games.seeds)

    @cached_property
    def mean_return(self) -> intervals.Interval:
        return intervals.mean_interval(self.games.returns)

    @cached_property
    def mean_length(self) -> intervals.Interval:
        return intervals.mean_interval(self.games.lengths)

    @cached_property
    def stats(self) -> dict[str, intervals.Interval]:
        names = [name for name in self.spec.episode_stats if name != WON and not name.startswith(HIGHEST)]
        return {name: intervals.mean_interval(self.games.stat(name)) for name in names}

    @cached_property
    def maxima(self) -> dict[str, float]:
        """The `highest_…` statistics over all games that came to an end."""
        names = [name for name in self.spec.episode_stats if name.startswith(HIGHEST)]
        known = ~self.games.unfinished
        return {name: float(self.games.stat(name)[known].max()) for name in names if known.any()}

    @cached_property
    def win_rate(self) -> intervals.Interval | None:
        """None if the game has no notion of winning. An unfinished game is not won."""
        if WON not in self.spec.episode_stats:
            return None
        return intervals.wilson_interval(int((self.games.stat(WON) > 0).sum()), self.count)

    @cached_property
    def ladder(self) -> dict[int, intervals.Interval]:
        """The share of games that came at least so far, for games that declare a ladder; empty for others."""
        return intervals.survival(self.games.stat(self.spec.ladder)) if self.spec.ladder else {}

    @cached_property
    def distributions(self) -> dict[str, dict[int, int]]:
        """value → games, for statistics that take few whole values (the stage reached, for instance)."""
        found = {}
        for name in self.stats:
            values = self.games.stat(name)
            values = values[~np.isnan(values)]
            distinct, counts = np.unique(values, return_counts=True)
            if 0 < len(distinct) <= MOST_VALUES and (distinct == np.round(distinct)).all():
                found[name] = {int(value): int(count) for value, count in zip(distinct, counts, strict=True)}
        return found

    @cached_property
    def quantiles(self) -> dict[str, dict[int, float]]:
        """Per cent of games → the value they stay at or below."""
        found = {}
        for name in (RETURN, LENGTH, *self.stats):
            values = self.values(name)
            values = values[~np.isnan(values)]
            if len(values):
                found[name] = dict(zip(QUANTILES, np.percentile(values, QUANTILES).tolist(), strict=True))
        return found

    @cached_property
    def claim(self) -> Claim | None:
        """The win rate beside `against`; None if nothing was asked or the game has no winner."""
        if self.against is None or self.win_rate is None:
            return None
        return Claim(self.win_rate, self.against)

    @property
    def illegal_actions(self) -> int:
        return self.games.illegal_actions

    @property
    def games_per_hour(self) -> float:
        return self.count / max(self.games.seconds, 1e-9) * 3600

    def values(self, metric: str = RETURN) -> np.ndarray:
        """(n,) one value per game: "return", "length" or an episode statistic."""
        if metric == RETURN:
            return self.games.returns
        return self.games.lengths if metric == LENGTH else self.games.stat(metric)

    @property
    def half_interval_games(self) -> dict[str, int]:
        """Games in all until an interval would be half as wide, by metric; left out where that is not known."""
        metrics = {RETURN: self.mean_return, WIN_RATE: self.win_rate}
        needed = {name: games_to_halve(interval, name == WIN_RATE) for name, interval in metrics.items()}
        return {name: count for name, count in needed.items() if count is not None}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        terms = zip(self.spec.reward_terms, self.games.reward_terms.mean(axis=0), strict=True)
        return {
            "game": self.games.game,
            "game_version": self.spec.version,
            "options": dict(self.options),
            "policy": self.policy,
            "deterministic": self.deterministic,
            "seeds": self.bank,
            "games": self.count,
            "mean_return": self.mean_return.to_dict(),
            "mean_length": self.mean_length.to_dict(),
            "win_rate": self.win_rate.to_dict() if self.win_rate else None,
            "claim": self.claim.to_dict() if self.claim else None,
            "ladder": {
                "stat": self.spec.ladder or None,
                "reached": {str(rung): interval.to_dict() for rung, interval in self.ladder.items()},
            },
            "stats": {name: interval.to_dict() for name, interval in self.stats.items()},
            "maxima": self.maxima,
            "quantiles": {
                name: {str(percent): value for percent, value in found.items()}
                for name, found in self.quantiles.items()
            },
            "distributions": {
                name: {str(value): count for value, count in counts.items()}
                for name, counts in self.distributions.items()
            },
            "reward_terms": {name: float(mean) for name, mean in terms},
            "illegal_actions": self.illegal_actions,
            "truncated": int(self.games.truncated.sum()),
            "unfinished": int(self.games.unfinished.sum()),
            "games_for_half_interval": self.half_interval_games,
            "seconds": self.games.seconds,
            "games_per_hour": self.games_per_hour,
            "steps_per_second": float(self.games.lengths.sum() / max(self.games.seconds, 1e-9)),
        }

    def headline(self) -> RenderableType:
        """Wins, how far it came, against what: what `jimbot evaluate` prints without `--full`."""
        from jimbot.evaluation.tables import headline

        return headline(self)

    def __rich__(self) -> RenderableType:
        from jimbot.evaluation.tables import evaluation_tables

        return evaluation_tables(self)


def distinct_names(names: Sequence[str]) -> list[str]:
    """Names that are there twice get numbers.

    >>> distinct_names(["a", "b", "a"])
    ['a #1', 'b', 'a #2']
    """
    often, seen = Counter(names), Counter[str]()
    named = []
    for name in names:
        seen[name] += 1
        named.append(f"{name} #{seen[name]}" if often[name] > 1 else name)
    return named


def renamed(evaluation: Evaluation, policy: str) -> Evaluation:
    """The same evaluation under another policy name."""
    return dataclasses.replace(evaluation, games=dataclasses.replace(evaluation.games, policy=policy))
