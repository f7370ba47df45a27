"""Presets: settings that suit one game on one learner, shipped as `presets/<game>_<learner>.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jimbot.training.settings.record import read_yaml

PRESETS = Path(__file__).parent


def preset(game: str, learner: str) -> dict[str, Any]:
    """The preset's values; nothing where there is none."""
    path = PRESETS / f"{game}_{learner}.yaml"
    return read_yaml(path) if path.is_file() else {}
