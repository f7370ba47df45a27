"""What a set of games says about a policy: figures with intervals, as JSON or as a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from jimbot.evaluation.intervals import Interval, games_for_half_width, mean_interval, wilson_interval
from jimbot.evaluation.play import Games
from jimbot.games.contract import game_entry
from jimbot.games.spec import GameSpec

if TYPE_CHECKING:
    from rich.console import RenderableType

WON = "won"
"""Games whose episode statistics have this name report a win rate; above 0 counts as won."""
RETURN, LENGTH = "return", "length"
MOST_VALUES = 24
"""A statistic of whole numbers with at most so many different ones is shown as a distribution."""
_BAR = 30  # characters


@dataclass(frozen=True)
class Evaluation:
    """A policy's games and everything that follows from them."""

    games: Games
    bank: str
    """The seed bank or seeds file the games were played on."""
    deterministic: bool
    options: Mapping[str, Any]

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
    def mean_return(self) -> Interval:
        return mean_interval(self.games.returns)

    @cached_property
    def mean_length(self) -> Interval:
        return mean_interval(self.games.lengths)

    @cached_property
    def stats(self) -> dict[str, Interval]:
        return {name: mean_interval(self.games.stat(name)) for name in self.spec.episode_stats if name != WON}

    @cached_property
    def win_rate(self) -> Interval | None:
        """None if the game has no notion of winning. An unfinished game is not won."""
        if WON not in self.spec.episode_stats:
            return None
        return wilson_interval(int((self.games.stat(WON) > 0).sum()), self.count)

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

    @property
    def illegal_actions(self) -> int:
        return self.games.illegal_actions

    @property
    def games_per_hour(self) -> float:
        return self.count / max(self.games.seconds, 1e-9) * 3600

    def values(self, metric: str = RETURN) -> np.ndarray:
        """(n,) one figure per game: "return", "length" or an episode statistic."""
        if metric == RETURN:
            return self.games.returns
        return self.games.lengths if metric == LENGTH else self.games.stat(metric)

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
            "stats": {name: interval.to_dict() for name, interval in self.stats.items()},
            "distributions": {
                name: {str(value): count for value, count in counts.items()}
                for name, counts in self.distributions.items()
            },
            "reward_terms": {name: float(mean) for name, mean in terms},
            "illegal_actions": self.illegal_actions,
            "truncated": int(self.games.truncated.sum()),
            "unfinished": int(self.games.unfinished.sum()),
            "seconds": self.games.seconds,
            "games_per_hour": self.games_per_hour,
            "steps_per_second": float(self.games.lengths.sum() / max(self.games.seconds, 1e-9)),
        }

    def __rich__(self) -> RenderableType:
        from rich.console import Group

        how = "best action" if self.deterministic else "drawn actions"
        title = f"[bold]{self.policy}[/] on {self.games.game}: {self.count:,} games, {self.bank} seeds, {how}"
        distributions = [_distribution_table(name, counts, self.count) for name, counts in self.distributions.items()]
        return Group(
            title, self._table(), *distributions, f"{self.games_per_hour:,.0f} games per hour. {self._advice()}"
        )

    def _table(self) -> RenderableType:
        from rich.table import Table

        table = Table()
        table.add_column("figure")
        table.add_column("mean", justify="right")
        table.add_column("95 % interval", justify="right")
        rows = {"return": self.mean_return, "length": self.mean_length, **self.stats}
        for name, interval in rows.items():
            table.add_row(name, f"{interval.mean:,.3f}", _span(interval))
        if self.win_rate is not None:
            rate = self.win_rate
            table.add_row("win rate", f"{rate.mean:.1%}", f"{rate.low:.1%} … {rate.high:.1%}")
        illegal = "0" if self.illegal_actions == 0 else f"[bold red]{self.illegal_actions}[/]"
        table.add_row("illegal actions", illegal, "")
        for name, mask in (("truncated", self.games.truncated), ("unfinished", self.games.unfinished)):
            if mask.any():
                table.add_row(name, f"{int(mask.sum()):,}", "")
        return table

    def _advice(self) -> str:
        interval = self.mean_return
        if not 0 < interval.half_width < float("inf"):
            return ""
        needed = games_for_half_width(interval.spread, interval.half_width / 2)
        return f"An interval of the return half as wide would take {needed:,} games."


def renamed(evaluation: Evaluation, policy: str) -> Evaluation:
    """The same evaluation under another policy name."""
    return dataclasses.replace(evaluation, games=dataclasses.replace(evaluation.games, policy=policy))


def _span(interval: Interval) -> str:
    return f"{interval.low:,.3f} … {interval.high:,.3f}" if interval.count > 1 else "unknown"


def _distribution_table(name: str, counts: Mapping[int, int], games: int) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, show_header=True)
    table.add_column(name, justify="right")
    table.add_column("games", justify="right")
    table.add_column("share", justify="right")
    table.add_column("")
    most = max(counts.values())
    for value, count in counts.items():
        table.add_row(str(value), f"{count:,}", f"{count / games:.1%}", "█" * max(1, round(_BAR * count / most)))
    return table
