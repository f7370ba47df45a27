"""Presets: settings that suit one game, shipped as `presets/<game>.yaml`.

What a file says at its top holds for the game on every learner. `algorithms: {PPO: …}` adds what one algorithm wants,
and `learners: {ray: …}`, at the top or inside an algorithm, what is different on one learner. `guided` is how a run
from nothing begins with a teacher, on the learner that has teachers, unless nobody is wanted (`--teacher none`).
`expect: {steps: words}`, at the top or inside `guided`, is no setting: it tells people what a PPO run with this preset
had reached after so many steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jimbot.training.settings.record import read_yaml

PRESETS = Path(__file__).parent
ALGORITHMS, LEARNERS, GUIDED, EXPECT = "algorithms", "learners", "guided", "expect"


def preset(game: str, learner: str, algorithm: str = "PPO") -> dict[str, Any]:
    """The preset's values for an algorithm on a learner; nothing where there is none."""
    whole = _whole(game)
    return _section(whole, learner) | _section(whole.get(ALGORITHMS, {}).get(algorithm, {}), learner)


def guided(game: str) -> dict[str, Any]:
    """The values of a start with a teacher; nothing where there is none."""
    return {name: value for name, value in _whole(game).get(GUIDED, {}).items() if name != EXPECT}


def expected(game: str, steps: int, taught: bool = False) -> str:
    """What a run that learns a game from nothing (or from a teacher) has reached after so many steps, in a sentence; ""
    where unknown."""
    whole = _whole(game)
    known = (whole.get(GUIDED, {}) if taught else whole).get(EXPECT, {})
    if not known:
        return ""
    reached = [words for at, words in sorted(known.items()) if at <= steps]
    return f"Expect about {reached[-1]}." if reached else f"Expect little: learning shows from {min(known):,} steps on."


def _whole(game: str) -> dict[str, Any]:
    return _read(PRESETS / f"{game}.yaml")


@cache
def _read(path: Path) -> dict[str, Any]:
    return read_yaml(path) if path.is_file() else {}


def _section(section: Mapping[str, Any], learner: str) -> dict[str, Any]:
    own = {name: value for name, value in section.items() if name not in (ALGORITHMS, LEARNERS, GUIDED, EXPECT)}
    return own | section.get(LEARNERS, {}).get(learner, {})
