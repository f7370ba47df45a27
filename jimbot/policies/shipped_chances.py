"""How often the shipped policy would win from where a person stands, for games that the person plays.

The table is the policy's (`win_chances.py`); the game is somebody else's, so it is asked whether it is the same game:
what is paid for and what is shown may differ, the rules may not. A chance is an addition to the picture. Whatever keeps
it from being known (no ONNX Runtime, a damaged file) leaves it out and never stops the game.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from jimbot.errors import JimbotError
from jimbot.policies.scripted import scripted_policy, with_needed_options
from jimbot.policies.win_chances import WinChances, table_in
from jimbot.runs.manifest import Manifest, parse_manifest
from jimbot.runs.shipped import shipped_games, shipped_policy

if TYPE_CHECKING:
    from jimbot.games.contract import BatchGame, GameEntry
    from jimbot.policies.contract import Policy

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
        """What the policy expects, which is loaded when it is first needed; nobody needs it where a scripted player's
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
        needed = with_needed_options(scripted_policy(table.by, entry.spec.id)) if table.by else {}
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
