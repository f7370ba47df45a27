"""Policies beside each other: what their runs were judged at, and games on the very same seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jimbot.errors import UsageError
from jimbot.evaluation.compare import common_game, compare
from jimbot.evaluation.duels import cross_play
from jimbot.games.contract import game_entry
from jimbot.runs.catalogue import EVALUATION
from jimbot.runs.directory import RunDirectory
from jimbot.runs.files import read_json
from jimbot.viewer.jobs import Job
from jimbot.viewer.tables import policy_reference

MOST_POLICIES = 12
MOST_GAMES = 100_000


def stored_evaluation(run: RunDirectory) -> dict[str, Any] | None:
    """How a run's policy was judged when its training ended."""
    found = read_json(run.path / EVALUATION)
    return found if isinstance(found, dict) else None


def check_wish(policies: Sequence[str], games: int) -> None:
    """Refuses what nobody wants to wait for."""
    if not 2 <= len(policies) <= MOST_POLICIES:
        raise UsageError(f"Got {len(policies)} policies to compare; expected 2 to {MOST_POLICIES}.")
    if not 1 <= games <= MOST_GAMES:
        raise UsageError(f"games is {games}; expected 1 to {MOST_GAMES:,}.")


def compared(
    job: Job, policies: Sequence[str], game: str, games: int, options: dict[str, Any], roots: tuple[Path, ...]
) -> dict[str, Any]:
    """Plays and compares: pairs on equal seeds, or everybody against everybody in games of two sides."""
    named = [_named(one, roots) for one in policies]
    game = game or common_game(named, roots[0], "latest")
    settings: dict[str, Any] = {"options": options or None, "progress": job.report, "runs_root": roots[0]}
    if game_entry(game).two_sides is not None:
        return {"kind": "cross", **cross_play(named, game, games, scripted=False, **settings).to_dict()}
    metric = "win_rate" if "won" in game_entry(game).spec.episode_stats else "return"
    return {"kind": "pairs", **compare(named, game, games, metric=metric, **settings).to_dict()}


def _named(policy: str, roots: tuple[Path, ...]) -> str:
    reference, root = policy_reference(policy, "", roots)
    return str(root / reference) if reference != policy else policy
