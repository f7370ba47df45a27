"""What the shell offers when Tab is pressed: runs, games and scripted players. Nothing heavy is imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def complete_run(ctx: Any, incomplete: str) -> list[str]:
    """Names of runs."""
    from jimbot.runs.checkpoint import run_names

    root = (ctx.params.get("runs_dir") if ctx is not None else None) or Path("runs")
    return [name for name in run_names(root) if name.startswith(incomplete)]


def complete_game(incomplete: str) -> list[str]:
    """Names of games."""
    from jimbot.games.contract import available_games

    return [name for name in available_games() if name.startswith(incomplete)]


def complete_policy(ctx: Any, incomplete: str) -> list[str]:
    """Whatever names a policy and is not a file: runs, then games with their shipped ones."""
    return [*complete_run(ctx, incomplete), *complete_game(incomplete)]
