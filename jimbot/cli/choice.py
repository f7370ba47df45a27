"""Which policy, playing which game, a command line means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jimbot.errors import CheckpointError, UnknownNameError, UsageError
from jimbot.games.contract import GameEntry, available_games, game_entry
from jimbot.policies.contract import Policy
from jimbot.policies.portable import load_policy
from jimbot.policies.scripted import RANDOM, scripted_names, with_needed_options
from jimbot.runs import Manifest, run_names
from jimbot.runs.checkpoint import CHECKPOINTS, CheckpointStore

Which = Literal["latest", "best"]
LONGEST_NAME = 40  # characters in a headline; a longer one is a path, of which the file name will do


@dataclass(frozen=True)
class Choice:
    """A policy and the game it is to play."""

    name: str
    policy: Policy
    manifest: Manifest | None  # None for scripted players
    entry: GameEntry
    options: dict[str, Any]

    @property
    def game(self) -> str:
        return self.entry.spec.id


def choose(
    reference: str,
    game: str | None = None,
    options: Mapping[str, Any] | None = None,
    runs_dir: Path = Path("runs"),
    which: Which = "latest",
) -> Choice:
    """Finds a policy by whatever names it: a game (its shipped policy), scripted player, run, checkpoint or file.

    The game is the one the policy was trained on, with the options it was trained with unless `options` differ;
    scripted players need `game`, and switch on the options they cannot do without.
    """
    if game is not None and game not in available_games():
        raise UnknownNameError("game", game, available_games())
    if reference in available_games():
        if game not in (None, reference):
            raise UsageError(f"'{reference}' and --game {game} name two games; give one of them.")
        policy, manifest = load_policy(shipped(reference), reference)
        name = f"{reference} (shipped)"
    else:
        policy, manifest = _load(reference, game, runs_dir, which)
        name = policy.name if len(policy.name) <= LONGEST_NAME else Path(policy.name).name
    game = manifest.game if manifest is not None else game
    if game is None:
        raise UsageError(
            f"'{reference}' does not say which game it plays; add --game, one of {_or(available_games())}."
        )
    trained_with = manifest.game_options if manifest is not None else {}
    entry = game_entry(game)
    merged = with_needed_options(policy, {**trained_with, **(options or {})})
    entry.spec.parse_options(merged)
    return Choice(name, policy, manifest, entry, merged)


def game_first(first: str, second: str | None, game: str | None) -> tuple[str, str | None]:
    """`GAME POLICY` as some type it, or `POLICY` alone: (policy, game)."""
    if second is None:
        return first, game
    if first not in available_games():
        raise UsageError(f"Got two policies, '{first}' and '{second}'; give one, or a game and a policy.")
    if game not in (None, first):
        raise UsageError(f"'{first}' and --game {game} name two games; give one of them.")
    return second, first


def newest_checkpoint(runs_dir: Path) -> Path:
    """The newest checkpoint of the run that was saved last."""
    names = run_names(runs_dir)
    # The folder of checkpoints changes with every save, the run's own folder only with its first one.
    for name in sorted(names, key=lambda name: (runs_dir / name / CHECKPOINTS).stat().st_mtime, reverse=True):
        if found := CheckpointStore(runs_dir / name / CHECKPOINTS).latest():
            return found
    raise CheckpointError(f"There is no checkpoint under {runs_dir} yet; train first, or name it with --runs-dir.")


def shipped(game: str) -> Path:
    """The policy that comes with JimBot for a game."""
    from jimbot.policies.shipped import shipped_policy

    return shipped_policy(game)


def _load(reference: str, game: str | None, runs_dir: Path, which: Which) -> tuple[Policy, Manifest | None]:
    try:
        return load_policy(reference, game, runs_dir, which)
    except CheckpointError:
        if game is not None or Path(reference).exists():
            raise
        players = [known for known in available_games() if reference in scripted_names(known)]
        if not players:
            raise
        raise UsageError(
            f"'{reference}' is a scripted player, of {_or(players)}; add --game {players[0]}, for instance."
        ) from None


def _or(names: list[str]) -> str:
    return " or ".join(names)


__all__ = ["RANDOM", "Choice", "Which", "choose", "game_first", "newest_checkpoint", "shipped"]
