"""The numbers of the heuristic player: what things are worth to it, and how it thinks.

Most weights were fitted: a logistic regression of games won on what their player had when a stage began (some 700
games of the same player with earlier weights), rounded, and less where few games tell (docs/learners/training-log.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jimbot.games.hackmatrix import spec

_OWNED = {
    "CRASH": 2.0, "STEP": 1.0, "PUSH": 0.7, "ATK+": 0.5, "WARP": 0.4, "CALM": 0.4, "ROW": 0.35, "COL": 0.3, "EXCH": 0.2,
    "D_BOM": 0.2, "RESET": 0.1, "POLY": 0.1, "DEBUG": 0.1, "SHOW": 0.1, "ANTI-V": 0.1,
}  # fmt: skip
_STAGE = (0.0, 0.0, -2.5, -3.4, -3.9, -4.1, -4.0, -3.7, -2.8, 0.0)  # by number

MOST_UNITS, MOST_RESETS, MOST_SIPHONS, MOST_ATTACK = 20, 4, 4, 2  # more of it is worth no more


class Weights(NamedTuple):
    """All in logits of the chance to win."""

    program: np.ndarray = np.array([_OWNED.get(name, 0.0) for name in spec.PROGRAM_NAMES])
    """Owning it."""
    stage: np.ndarray = np.array(_STAGE)
    """Entering it with nothing."""
    hp: np.ndarray = np.array([0.0, 0.0, 0.6, 1.2])
    attack: float = 1.3
    """Each point of damage beyond the first."""
    siphon: float = 0.1
    unit: float = 0.033
    """A credit or energy in store."""
    usable_unit: float = 0.025
    """The same on top, where a program is owned that costs it."""
    healing: float = 0.3
    """A RESET in store."""
    foe: float = 0.15
    foe_hp: float = 0.03
    transmission: float = 0.2
    stuck: float = 0.6
    """Factor of a stage that was not left in time."""


class Thinking(NamedTuple):
    """How simulations are chosen."""

    explore_plans: float = 0.5
    explore_actions: float = 1.0
    habit: float = 0.4
    """The share of the prior that the habit's action gets."""
    guess: float = 0.5
    """The share of the prior at the root that the guess of another policy gets, where there is one."""
    shoots: int = 60
    """Percent: how often a habit shoots at what is in line rather than walk on."""
    turns: int = 45
    """After so many a simulation is over."""
