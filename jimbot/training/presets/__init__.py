"""Presets: settings that suit one game, shipped as `presets/<game>.yaml`.

What a file says at its top holds for the game whoever learns it. `algorithms: {PPO: …}` adds what one algorithm wants,
and `learners: {ray: …}`, at the top or inside an algorithm, what is different on one learner.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jimbot.training.settings.record import read_yaml

PRESETS = Path(__file__).parent
ALGORITHMS, LEARNERS = "algorithms", "learners"


def preset(game: str, learner: str, algorithm: str = "PPO") -> dict[str, Any]:
    """The preset's values for an algorithm on a learner; nothing where there is none."""
    path = PRESETS / f"{game}.yaml"
    if not path.is_file():
        return {}
    whole = read_yaml(path)
    return _section(whole, learner) | _section(whole.get(ALGORITHMS, {}).get(algorithm, {}), learner)


def _section(section: Mapping[str, Any], learner: str) -> dict[str, Any]:
    own = {name: value for name, value in section.items() if name not in (ALGORITHMS, LEARNERS)}
    return own | section.get(LEARNERS, {}).get(learner, {})
