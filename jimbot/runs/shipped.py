"""The ready-made policies in the box: `jimbot watch hackmatrix` works before anything was trained.

Each lies in `jimbot/pretrained/<game>/` as a checkpoint directory without training state, beside its evaluation and
the command that made it. The name of a game means its ready-made policy wherever a policy is wanted
(`runs.checkpoint.find_checkpoint`).
"""

from __future__ import annotations

from pathlib import Path

from jimbot.errors import CheckpointError

PRETRAINED = Path(__file__).parents[1] / "pretrained"


def shipped_games() -> list[str]:
    """Games that have a ready-made policy."""
    return sorted(path.parent.name for path in PRETRAINED.glob("*/manifest.json"))


def shipped_policy(game_id: str) -> Path:
    """The directory of a game's ready-made policy."""
    if game_id not in shipped_games():
        known = ", ".join(shipped_games()) or "none"
        raise CheckpointError(
            f"There is no ready-made policy for '{game_id}' (there are: {known}). Train one: jimbot train {game_id}"
        )
    return PRETRAINED / game_id
