"""Presets: settings that suit one game, shipped as `presets/<game>.yaml`.

What a file says at its top holds for the game whoever learns it. `algorithms: {PPO: …}` adds what one algorithm wants,
and `learners: {ray: …}`, at the top or inside an algorithm, what is different on one learner. `expect: {steps: words}`
is no setting: it tells people what a PPO run with this preset had reached after so many steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jimbot.training.settings.record import read_yaml

PRESETS = Path(__file__).parent
ALGORITHMS, LEARNERS, EXPECT = "algorithms", "learners", "expect"


def preset(game: str, learner: str, algorithm: str = "PPO") -> dict[str, Any]:
    """The preset's values for an algorithm on a learner; nothing where there is none."""
    path = PRESETS / f"{game}.yaml"
    if not path.is_file():
        return {}
    whole = read_yaml(path)
    return _section(whole, learner) | _section(whole.get(ALGORITHMS, {}).get(algorithm, {}), learner)


def expected(game: str, steps: int) -> str:
    """What a run that learns a game from nothing has reached after so many steps, in a sentence; "" where unknown."""
    known = _expected(game)
    if not known:
        return ""
    reached = [words for at, words in sorted(known.items()) if at <= steps]
    return f"Expect about {reached[-1]}." if reached else f"Expect little: learning shows from {min(known):,} steps on."


@cache
def _expected(game: str) -> dict[int, str]:
    path = PRESETS / f"{game}.yaml"
    return read_yaml(path).get(EXPECT, {}) if path.is_file() else {}


def _section(section: Mapping[str, Any], learner: str) -> dict[str, Any]:
    own = {name: value for name, value in section.items() if name not in (ALGORITHMS, LEARNERS, EXPECT)}
    return own | section.get(LEARNERS, {}).get(learner, {})
