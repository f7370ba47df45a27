"""From what a policy expects to how often it wins: a table measured on games it played, or nothing.

A value is a discounted sum of rewards, which nobody can read. The table says how many of the games that passed through
a value were won in the end; where a heuristic player of the game judges positions (`appraise`), its judgement takes the
place of the value, because it tells more. It belongs to one policy, played by its most probable action under the
options it was trained with, and in a game of two sides to one opponent, who is named with the chance. Those of shipped
policies are measured by `python -m jimbot.evaluation.win_chances`, that of a run's checkpoint by `jimbot evaluate`,
which leaves it in the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jimbot.errors import JimbotError, UnreadableError
from jimbot.policies.contract import looks_at_game
from jimbot.policies.heuristics import heuristic_names, heuristic_policy, with_needed_options
from jimbot.reading.plain import file_text, json_value
from jimbot.runs.checkpoint import PRETRAINED, shipped_games, shipped_policy
from jimbot.runs.manifest import Manifest, parse_manifest

if TYPE_CHECKING:
    from jimbot.games.contract import BatchGame, GameEntry
    from jimbot.policies.contract import Policy
    from jimbot.policies.players import Player

FILE = "win_chances.json"
LEVELS = 24
"""Steps of the table; each holds as many decisions as the others."""
LARGEST_TABLE = 2**20
"""Bytes; a longer file is none of ours."""


@dataclass(frozen=True)
class WinChances:
    """How often games were won from decisions of each value, or of each judgement of a heuristic player."""

    game: str

    policy: str
    """When the policy was made, as its manifest says: another one has another table."""
    games: int
    decisions: int
    bank: str
    error: float
    """Mean distance between a chance and what became of other games, weighted by decisions."""
    by: str
    """The heuristic player whose judgement is looked up; empty: the policy's own value."""
    levels: tuple[float, ...]
    chances: tuple[float, ...]
    against: str = ""
    """The heuristic player on the other side; empty in games for one player."""

    @property
    def facing(self) -> str:
        """What is added to "wins from here"."""
        return f" against {self.against}" if self.against else ""

    def words(self, observation: np.ndarray, value: float) -> str:
        return f"wins from here{self.facing}: {self.of(observation, value):.0%}"

    def of(self, observation: np.ndarray, value: float) -> float:
        """0 to 1, for one position."""
        return float(self.of_all(observation[None], np.array([value], np.float32))[0])

    def of_all(self, observations: np.ndarray, values: np.ndarray) -> np.ndarray:
        """(N,) 0 to 1, for positions."""
        return np.interp(levels_of(self.game, self.by, observations, values), self.levels, self.chances)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def appraiser(game: str) -> str:
    """The heuristic player that judges positions of a game; empty where none does."""
    return next((name for name in heuristic_names(game) if _appraise(game, name) is not None), "")


def levels_of(game: str, by: str, observations: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(N,) what is looked up for positions."""
    appraise = _appraise(game, by) if by else None
    return values if appraise is None else np.asarray(appraise(np.ascontiguousarray(observations)))


@cache
def _appraise(game: str, name: str) -> Any:
    return getattr(heuristic_policy(name, game), "appraise", None)


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
    if manifest is None or dict(player.options) != dict(manifest.game_options) or looks_at_game(player.policy):
        return None  # who looks ahead plays better than the table says
    places = [PRETRAINED / player.game, *([] if player.run is None else [player.run])]
    tables = (table_in(place) for place in places)
    fitting = (one for one in tables if one is not None and (one.game, one.policy) == (player.game, manifest.created))
    return next(fitting, None)


def chances_against(player: Player, opponent: Player) -> WinChances | None:
    """The same where policies play both sides of a game: the table holds against the opponent it was measured with."""
    manifest, two_sides = player.manifest, player.entry.two_sides
    if manifest is None or two_sides is None or opponent.manifest is not None:
        return None
    measured, parse = dict(manifest.game_options), player.entry.spec.parse_options
    sides = {name: getattr(parse(measured), name) for name in two_sides.options}
    if parse({**player.options, **sides}) != parse(measured):
        return None
    table = win_chances(replace(player, options=measured))
    return table if table is not None and table.against == opponent.name else None


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
    """A table from its file, which any program may have written."""
    document = json_value(file_text(path, LARGEST_TABLE))
    try:
        lists: dict[str, Any] = {name: tuple(map(float, document[name])) for name in ("levels", "chances")}
        table = WinChances(**{**document, **lists})
    except (TypeError, ValueError, KeyError, OverflowError) as problem:
        raise UnreadableError(f"{path} holds no table of chances: {problem}") from problem
    if not _is_sound(table):
        raise UnreadableError(f"{path} holds no table of chances: its metrics fit no table")
    return table


def _is_sound(table: WinChances) -> bool:
    """Whether chances can be looked up: levels that rise, a chance for each, and a player whose judgement is known."""
    words = (table.game, table.policy, table.by, table.against)
    if not all(isinstance(word, str) for word in words) or not table.levels:
        return False
    levels, chances = np.array(table.levels), np.array(table.chances)
    return (
        len(levels) == len(chances)
        and bool(np.isfinite(levels).all() and (np.diff(levels) >= 0).all())
        and bool(((chances >= 0) & (chances <= 1)).all())
        and table.against in ("", *heuristic_names(table.game))
        and (not table.by or (table.by in heuristic_names(table.game) and _appraise(table.game, table.by) is not None))
    )


# How often the shipped policy would win from where a person stands, for games that the person plays.


MISSING = (JimbotError, ImportError, OSError)
"""What happens where a part of the box is damaged or was never installed."""


@dataclass
class ShippedChances:
    """The shipped policy's chances in one game of a person."""

    table: WinChances
    manifest: Manifest
    needed: Mapping[str, Any]
    """Options that show what is looked up, and change nothing else."""
    _policy: Policy | None = field(default=None, repr=False)
    _silent: bool = field(default=False, repr=False)

    def showing(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of the person's game, with those that let a chance be looked up."""
        return {**self.needed, **options}

    def of(self, game: BatchGame) -> float | None:
        """0 to 1, for the position that is shown; None where it cannot be known."""
        if self._silent:
            return None
        try:
            return self.table.of(game.observation[0], self._value(game))
        except MISSING:
            self._silent = True  # it will not be there at the next move, either
            return None

    def _value(self, game: BatchGame) -> float:
        """What the policy expects, which is loaded when it is first needed; nobody needs it where a heuristic player's
        judgement is looked up."""
        if self.table.by:
            return 0.0
        if self._policy is None:
            from jimbot.policies.portable import load_policy

            self._policy = load_policy(self.manifest.game)[0]
        return float(self._policy.act(game.observation[:1], game.legal_mask[:1]).values[0])


def shipped_chances(entry: GameEntry, options: Mapping[str, Any]) -> ShippedChances | None:
    """The chances that hold in a game with these options, if there are any."""
    if entry.spec.id not in shipped_games():
        return None
    directory = shipped_policy(entry.spec.id)
    try:
        manifest = parse_manifest((directory / "manifest.json").read_bytes(), directory)
        table = table_in(directory)
        if table is None or table.policy != manifest.created:
            return None
        needed = with_needed_options(heuristic_policy(table.by, entry.spec.id)) if table.by else {}
    except MISSING:
        return None
    found = ShippedChances(table, manifest, needed)
    return found if _is_the_game(entry, found.showing(options), manifest) else None


def _is_the_game(entry: GameEntry, options: Mapping[str, Any], manifest: Manifest) -> bool:
    """Whether a game with these options has the positions the policy was measured in, and shows them as it saw them."""
    spec = entry.spec.under(options)
    if spec.observation.fingerprint != manifest.observation_fingerprint:
        return False
    mine, measured = (spec.parse_options(dict(one)) for one in (options, manifest.game_options))
    beside = getattr(spec.options, "beside_positions", ())
    names = [one.name for one in fields(spec.options) if one.name not in beside]
    return all(getattr(mine, name) == getattr(measured, name) for name in names)
