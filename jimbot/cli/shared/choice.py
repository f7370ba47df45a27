"""What a command line means by its first words: a policy, or a game and a policy, or the newest there is."""

from __future__ import annotations

from pathlib import Path

from jimbot.errors import CheckpointError, UsageError
from jimbot.games.contract import available_games
from jimbot.runs import run_names
from jimbot.runs.checkpoint import CHECKPOINTS, CheckpointStore


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
