"""What a position is worth at the end of a try: roughly the chance to win the game from there."""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.expert.kernels import njit
from jimbot.games.hackmatrix.expert.layout import (
    ATTACK,
    COUNT,
    CREDITS,
    ENERGY,
    FOE,
    HP,
    HP_BITS,
    HP_SHIFT,
    OUT,
    OWNED,
    SIPHONS,
    STAGE,
)  # fmt: skip
from jimbot.games.hackmatrix.expert.rules import is_transmission
from jimbot.games.hackmatrix.expert.settings import MOST_ATTACK, MOST_RESETS, MOST_SIPHONS, MOST_UNITS

_PAYS_CREDITS = sum(1 << number for number, program in enumerate(spec.PROGRAMS) if program.credits)
_PAYS_ENERGY = sum(1 << number for number, program in enumerate(spec.PROGRAMS) if program.energy)
_RESET = spec.RESET - spec.FIRST_PROGRAM
_RESET_ENERGY = spec.PROGRAMS[_RESET].energy


@njit
def worth(s, weights):
    if s[HP] <= 0:
        return 0.0
    if s[OUT] and s[STAGE] == spec.STAGES:
        return 1.0
    owned = s[OWNED]
    credits, energy = min(s[CREDITS], MOST_UNITS), min(s[ENERGY], MOST_UNITS)
    logit = weights.stage[s[STAGE] + s[OUT]] + weights.hp[min(s[HP] + s[OUT], spec.MAX_HP)]
    logit += weights.attack * min(s[ATTACK] - 1, MOST_ATTACK) + weights.siphon * min(s[SIPHONS], MOST_SIPHONS)
    logit += weights.unit * (credits + energy)
    if owned & _PAYS_CREDITS:
        logit += weights.usable_unit * credits
    if owned & _PAYS_ENERGY:
        logit += weights.usable_unit * energy
    if (owned >> _RESET) & 1:
        logit += weights.healing * min(s[ENERGY] // _RESET_ENERGY, MOST_RESETS)
    for program in range(len(weights.program)):
        if (owned >> program) & 1:
            logit += weights.program[program]
    for slot in range(FOE, FOE + s[COUNT]):
        word = s[slot]
        if is_transmission(word):
            logit -= weights.transmission
        else:
            logit -= weights.foe + weights.foe_hp * ((word >> HP_SHIFT) & HP_BITS)
    chance = 1.0 / (1.0 + np.exp(-logit))
    return chance if s[OUT] else weights.stuck * chance
