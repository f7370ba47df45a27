"""From what a policy expects to how often it wins: a table measured on games it played, or nothing.

A value is a discounted sum of rewards, which nobody can read. The table says how many of the games that passed through
a value were won in the end; where a scripted player of the game judges positions (`appraise`), its judgement takes the
place of the value, because it tells more. It belongs to one policy, played by its most probable action under the
options it was trained with. Those of shipped policies are measured by `python -m jimbot.evaluation.win_chances`, that
of a run's checkpoint by `jimbot evaluate`, which leaves it in the run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jimbot.errors import UnreadableError
from jimbot.policies.contract import LooksAhead
from jimbot.policies.scripted import scripted_names, scripted_policy
from jimbot.reading.plain import file_text, json_value
from jimbot.runs.shipped import PRETRAINED

if TYPE_CHECKING:
    from jimbot.policies.players import Player

FILE = "win_chances.json"
LEVELS = 24
"""Steps of the table; each holds as many decisions as the others."""
LARGEST_TABLE = 2**20
"""Bytes; a longer file is none of ours."""


@dataclass(frozen=True)
class WinChances:
    """How often games were won from decisions of each value, or of each judgement of a scripted player."""

    game: str

    policy: str
    """When the policy was made, as its manifest says: another one has another table."""
    games: int
    decisions: int
    bank: str
    error: float
    """Mean distance between a chance and what became of other games, weighted by decisions."""
    by: str
    """The scripted player whose judgement is looked up; empty: the policy's own value."""
    levels: tuple[float, ...]
    chances: tuple[float, ...]

    def of(self, observation: np.ndarray, value: float) -> float:
        """0 to 1, for one position."""
        found = levels_of(self.game, self.by, observation[None], np.array([value], np.float32))
        return float(np.interp(found[0], self.levels, self.chances))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def judge(game: str) -> str:
    """The scripted player that judges positions of a game; empty where none does."""
    return next((name for name in scripted_names(game) if _appraise(game, name) is not None), "")


def levels_of(game: str, by: str, observations: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(N,) what is looked up for positions."""
    appraise = _appraise(game, by) if by else None
    return values if appraise is None else np.asarray(appraise(np.ascontiguousarray(observations)))


@cache
def _appraise(game: str, name: str) -> Any:
    return getattr(scripted_policy(name, game), "appraise", None)


def fit(values: np.ndarray, won: np.ndarray, levels: int = LEVELS) -> tuple[list[float], list[float]]:
    """(values, chances), rising: the mean of each level, joined with the next where it would fall.

    >>> fit(np.arange(8.0), np.array([0, 0, 0, 1, 0, 1, 1, 1]), levels=4)
    ([0.5, 3.5, 6.5], [0.0, 0.5, 1.0])
    """
    order = np.argsort(values, kind="stable")
    pools: list[tuple[float, float, int]] = []  # sums of values and of wins, decisions
    for part in np.array_split(order, min(levels, len(order))):
        pools.append((float(values[part].sum()), float(won[part].sum()), len(part)))
        while len(pools) > 1 and pools[-2][1] / pools[-2][2] >= pools[-1][1] / pools[-1][2]:
            last, before = pools.pop(), pools.pop()
            pools.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
    return [pool[0] / pool[2] for pool in pools], [pool[1] / pool[2] for pool in pools]


def win_chances(player: Player) -> WinChances | None:
    """The table of a player, if one was measured for exactly this policy and these options."""
    manifest = player.manifest
    if manifest is None or dict(player.options) != dict(manifest.game_options) or isinstance(player.policy, LooksAhead):
        return None  # who looks ahead plays better than the table says
    places = [PRETRAINED / player.game, *([] if player.run is None else [player.run])]
    tables = (table_in(place) for place in places)
    fitting = (one for one in tables if one is not None and (one.game, one.policy) == (player.game, manifest.created))
    return next(fitting, None)


def table_in(directory: Path) -> WinChances | None:
    """The table in a directory; None where there is none, or one that cannot be read."""
    path = directory / FILE
    try:
        return _read_once(path, path.stat().st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=64)
def _read_once(path: Path, _changed: int) -> WinChances | None:
    try:
        return read(path)
    except UnreadableError:  # damaged, or of another version: no chance is better than a wrong one
        return None


def read(path: Path) -> WinChances:
    """A table from its file, which anybody may have written."""
    document = json_value(file_text(path, LARGEST_TABLE))
    try:
        lists: dict[str, Any] = {name: tuple(map(float, document[name])) for name in ("levels", "chances")}
        table = WinChances(**{**document, **lists})
    except (TypeError, ValueError, KeyError, OverflowError) as problem:
        raise UnreadableError(f"{path} holds no table of chances: {problem}") from problem
    if not _is_sound(table):
        raise UnreadableError(f"{path} holds no table of chances: its figures fit no table")
    return table


def _is_sound(table: WinChances) -> bool:
    """Whether chances can be looked up: levels that rise, a chance for each, and a player whose judgement is known."""
    if not all(isinstance(word, str) for word in (table.game, table.policy, table.by)) or not table.levels:
        return False
    levels, chances = np.array(table.levels), np.array(table.chances)
    return (
        len(levels) == len(chances)
        and bool(np.isfinite(levels).all() and (np.diff(levels) >= 0).all())
        and bool(((chances >= 0) & (chances <= 1)).all())
        and (not table.by or (table.by in scripted_names(table.game) and _appraise(table.game, table.by) is not None))
    )
