"""Who plays what: a policy however it is named, together with the game and the options it is to be played with."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jimbot.errors import CheckpointError, UnknownNameError, UsageError
from jimbot.games.contract import BatchGame, GameEntry, available_games, game_entry, named_game
from jimbot.policies.contract import Decision, Policy, decide
from jimbot.policies.heuristics import heuristic_names, with_needed_options
from jimbot.policies.portable import load_policy
from jimbot.runs.checkpoint import run_of, shipped_games, shipped_policy
from jimbot.runs.manifest import Manifest, check_matches

Named = Policy | str | Path
"""A policy, or anything `load_policy` understands."""
Which = Literal["latest", "best"]

_log = logging.getLogger("jimbot.policies")

LONGEST_NAME = 40  # characters in a headline; a longer one is a path, of which the file name will do


@dataclass(frozen=True)
class Player:
    """A policy and the game it is to play."""

    name: str
    policy: Policy
    game: str
    options: dict[str, Any] = field(default_factory=dict)
    manifest: Manifest | None = None  # None for heuristic players, and policies given as objects
    run: Path | None = None  # the directory of the run whose checkpoint it is, if it is one

    @property
    def entry(self) -> GameEntry:
        return game_entry(self.game)

    def shown(self, options: Mapping[str, Any]) -> Policy:
        """The policy for games under these options, which may show more than it was trained on."""
        if self.manifest is None:
            return self.policy
        spec = self.entry.spec.under(options)
        check_matches(self.manifest, spec, where=self.name, sees_less=True)
        size = self.entry.spec.under(self.manifest.game_options).observation.size
        if size == spec.observation.size:
            return self.policy
        seeing_first = getattr(self.policy, "seeing_first", None)  # a search of the game's own sees all there is
        return self.policy if seeing_first is None else seeing_first(size)

    def under(self, options: Mapping[str, Any] | None) -> Player:
        """The same player under exactly these game options (and those it cannot do without); None: as it is."""
        return self if options is None else replace(self, options=with_needed_options(self.policy, options))


def decide_sides(
    players: Sequence[Player], game: BatchGame, deterministic: bool, rng: np.random.Generator
) -> list[Decision | None]:
    """What the players of one game with a row for each do; None for who waits."""
    policies = [player.shown(players[0].options) for player in players]
    return [
        decide(policy, game, None, deterministic, rng, rows=np.array([row])) if game.acting[row] else None
        for row, policy in enumerate(policies)
    ]


def find_player(
    policy: Named,
    game: str | None = None,
    options: Mapping[str, Any] | None = None,
    runs_root: str | Path = "runs",
    which: Which = "latest",
    threads: int = 1,
) -> Player:
    """The player meant by a policy, or by anything `load_policy` understands.

    The game is the one the policy was trained on, with the options it was trained with unless `options` differ;
    heuristic players need `game`, and switch on the options they cannot do without.
    """
    if game is not None and (game := named_game(game)) not in available_games():
        raise UnknownNameError("game", game, available_games())
    manifest = None
    if isinstance(policy, str | Path):
        if game is not None and str(policy) != game and str(policy) in shipped_games():
            raise UsageError(f"'{policy}' and game '{game}' are two games; give one of them.")
        policy, manifest = _load(policy, game, runs_root, which, threads)
    game = manifest.game if manifest is not None else getattr(policy, "game", game)  # one elsewhere says so itself
    if game is None:
        raise UsageError(
            f"'{policy.name}' does not say which game it plays; add --game, one of {_or(available_games())}."
        )
    trained_with = manifest.game_options if manifest is not None else getattr(policy, "trained_with", {})
    merged = with_needed_options(policy, {**trained_with, **(options or {})})
    spec = game_entry(game).spec.under(merged)
    spec.parse_options(merged)
    if manifest is not None:
        check_matches(manifest, spec, where=policy.name)
        _tell_environment(manifest, policy.name)
    name = policy.name if len(policy.name) <= LONGEST_NAME else Path(policy.name).name
    return Player(name, policy, game, merged, manifest, run_of(getattr(policy, "checkpoint", None)))


def _tell_environment(manifest: Manifest, name: str) -> None:
    if manifest.environment:
        _log.warning(
            "%s learned in %s, an environment that was given from Python and that no file can rebuild: what follows is "
            "the bare game '%s'. trainer.evaluate() plays it in its own.",
            *(name, manifest.environment, manifest.game),
        )


def _load(
    reference: str | Path, game: str | None, runs_root: str | Path, which: Which, threads: int
) -> tuple[Policy, Manifest | None]:
    """As `load_policy`; what was not found may be a heuristic player, or a game without a ready-made policy."""
    try:
        return load_policy(reference, game, runs_root, which, threads)
    except CheckpointError:
        name = str(reference)
        if Path(reference).exists() or (Path(runs_root) / name).exists():
            raise
        if name in available_games():
            shipped_policy(name)  # says that there is none, and what to do
        players = [known for known in available_games() if game is None and name in heuristic_names(known)]
        if not players:
            raise
        raise UsageError(
            f"'{name}' is a heuristic player, of {_or(players)}; add --game {players[0]}, for instance."
        ) from None


def _or(names: list[str]) -> str:
    return " or ".join(names)
