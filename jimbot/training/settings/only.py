"""Settings that one learner alone honours: the others refuse them, rather than leave them out in silence."""

from __future__ import annotations

from jimbot.errors import SettingsError
from jimbot.training.settings.record import DEFAULTS, TrainSettings

ONLY = {
    "jax": (
        "clip_value", "ent_blocks", "forced_every", "grow_batch", "extensions", "teacher", "adviser", "count_bonus",
        "strategy_bonus", "rare_weight", "keep_games", "deep_starts",
    ),
    "improve": ("plan", "plan_with", "plan_settings"),
}  # fmt: skip


def check_only(settings: TrainSettings, learner: str) -> None:
    """One sentence for a setting that another learner's alone is."""
    for owner, names in ONLY.items():
        for name in names if owner != learner else ():
            if settings[name] != DEFAULTS[name]:
                raise SettingsError(
                    f"{name} is {settings[name]}, which only learner {owner} does; this run is on '{learner}'. "
                    f"Leave it out, or use --learner {owner}."
                )
