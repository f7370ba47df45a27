"""Who is how good: a row per player and cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jimbot.evaluation.arena.league import Arena, Result
from jimbot.evaluation.intervals import Interval, mean_interval, wilson_interval

if TYPE_CHECKING:
    from rich.table import Table

WON = "won"


@dataclass(frozen=True)
class Standing:
    """One player in one cell."""

    player: str
    hash: str
    cell: str
    games: int
    known: int
    """Of these on seeds that had been drawn when it was entered."""
    wins: Interval | None
    """None: the game cannot be won."""
    ladder: Interval
    scores: Mapping[str, float]
    """By the formulas of other tables, where the game has such (`GameEntry.scores`)."""
    milliseconds: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "player": self.player, "hash": self.hash, "cell": self.cell, "games": self.games, "known": self.known,
            "wins": None if self.wins is None else self.wins.to_dict(), "ladder": self.ladder.to_dict(),
            "scores": dict(self.scores), "milliseconds": self.milliseconds,
        }  # fmt: skip


def standings(arena: Arena) -> list[Standing]:
    """The best of each cell first."""
    found = []
    for cell in arena.cells:
        rows = []
        for player in arena.players:
            games = [one for number in range(len(arena.rounds)) for one in arena.of(player, number, cell).values()]
            if games:
                rows.append(_standing(arena, player, cell, games))
        found += sorted(rows, key=lambda row: (-(row.wins.mean if row.wins else 0.0), -row.ladder.mean))
    return found


def _standing(arena: Arena, player: str, cell: str, games: Sequence[Result]) -> Standing:
    spec = arena.entry.spec
    stats = {name: np.array([one.stats[name] for one in games]) for name in spec.episode_stats}
    wins = wilson_interval(int((stats[WON] > 0).sum()), len(games)) if WON in stats else None
    ladder = stats[spec.ladder] if spec.ladder in stats else np.array([one.total_return for one in games])
    scores = {} if arena.entry.scores is None else arena.entry.scores(stats)
    known = sum(arena.known_before(one) for one in games)
    spent = float(np.mean([one.milliseconds for one in games]))
    return Standing(
        player, arena.players[player].hash, cell, len(games), known, wins, mean_interval(ladder), scores, spent
    )


def standings_table(rows: Sequence[Standing], ladder: str) -> Table:
    """For a terminal."""
    from rich.table import Table

    from jimbot.foreign_text import marked

    scores = list(dict.fromkeys(name for row in rows for name in row.scores))
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("player", overflow="fold")
    table.add_column("cell", overflow="fold")
    for name in ("games", "wins", ladder.replace("_", " ") or "return", *scores, "ms"):
        table.add_column(name, justify="right", overflow="fold")
    for row in rows:
        wins = "" if row.wins is None else f"{row.wins.mean:.1%} ({row.wins.low:.1%} to {row.wins.high:.1%})"
        reached = f"{row.ladder.mean:.1f} ± {row.ladder.half_width:.1f}"
        games = f"{row.games}{'*' if row.known else ''}"
        told = (f"{row.scores[name]:.1f}" if name in row.scores else "" for name in scores)
        table.add_row(marked("{}", row.player), row.cell, games, wins, reached, *told, f"{row.milliseconds:.1f}")
    return table
