"""The teacher that a run's settings name: who answers, plays or judges in the parts beside this file."""

from __future__ import annotations

from pathlib import Path

from jimbot.errors import SettingsError
from jimbot.policies.contract import Policy
from jimbot.policies.players import find_player
from jimbot.training.settings.record import TrainSettings


def teacher_policy(settings: TrainSettings, runs_root: str | Path) -> Policy:
    """Raises one sentence where it cannot play this run's games."""
    wanted = str(settings.teacher.policy)
    policy = find_player(wanted, settings.game, runs_root=runs_root).policy
    needed = getattr(policy, "options", {})
    missing = {name: value for name, value in needed.items() if settings.game_options.get(name) != value}
    if missing:
        asked = ", ".join(f"--option {name}={str(value).lower()}" for name, value in missing.items())
        raise SettingsError(
            f"The teacher '{wanted}' cannot play with this run's game options; train with {asked}, or without a "
            "teacher (--teacher none)."
        )
    return policy
