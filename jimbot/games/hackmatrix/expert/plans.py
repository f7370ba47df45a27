"""What could be done in a stage before leaving it: a few lists of stops, the best looking ones."""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix.expert.kernels import njit
from jimbot.games.hackmatrix.expert.layout import (
    BLOCKS,
    BOARD,
    CELL,
    CREDITS_SHIFT,
    ENERGY_SHIFT,
    EXIT,
    OWNED,
    PICKUPS,
    PLACES,
    PLAYER,
    PROGRAM_SHIFT,
    QUESTION_SHIFT,
    SIPHONED,
    SIPHONS,
    SIX,
    SPAWN_SHIFT,
)  # fmt: skip
from jimbot.games.hackmatrix.expert.rules import beside, lowest

MOST_PLANS, MOST_STOPS = 14, 3
_CENTRES = 6  # cells to siphon from that are looked at
_SPAWN_COST, _QUESTION_SPAWN, _UNIT_WORTH, _STEP_COST = 0.12, 4.5, 0.05, 0.04


@njit
def centre_worth(s, place, weights):
    """Roughly what a siphon at a cell is worth, in logits."""
    here = np.int64(1) << place
    cross = (here | beside(here)) & ~s[SIPHONED]
    found = 0.0
    while cross:
        cell = lowest(cross)
        cross &= cross - 1
        word = s[CELL + cell]
        if not (s[BLOCKS] >> cell) & 1:
            found += _UNIT_WORTH * (((word >> CREDITS_SHIFT) & SIX) + ((word >> ENERGY_SHIFT) & SIX))
            continue
        program = (word >> PROGRAM_SHIFT) & SIX
        if program and not (s[OWNED] >> (program - 1)) & 1:
            found += weights.program[program - 1]
        found -= _SPAWN_COST * (_QUESTION_SPAWN if (word >> QUESTION_SHIFT) & 1 else (word >> SPAWN_SHIFT) & SIX)
    return found


@njit
def make_plans(s, far, weights, plans):
    """Fills (P, stops, (place, siphons there)); returns how many. The first is to leave at once."""
    many = 1
    start, way_out = s[PLAYER], far[s[EXIT]]
    best_places = np.full(_CENTRES, -1, np.int64)
    best_worths = np.full(_CENTRES, -1e9)
    fetch = s[PICKUPS]
    nearest, nearest_far = -1, 99
    while fetch:
        place = lowest(fetch)
        fetch &= fetch - 1
        if far[start, place] >= 99:
            continue
        plans[many, 0, 0], plans[many, 0, 1] = place, 0
        many += 1
        detour = far[start, place] + way_out[place]
        if detour < nearest_far:
            nearest, nearest_far = place, detour
    if many == 3:  # both pickups, the nearer one first
        first = 1 if far[start, plans[1, 0, 0]] <= far[start, plans[2, 0, 0]] else 2
        plans[3, 0, 0], plans[3, 0, 1] = plans[first, 0, 0], 0
        plans[3, 1, 0], plans[3, 1, 1] = plans[3 - first, 0, 0], 0
        many += 1
    if s[SIPHONS] == 0 and nearest < 0:
        return many
    for place in range(PLACES):
        if not (BOARD >> place) & 1 or (s[BLOCKS] >> place) & 1 or place == s[EXIT] or far[start, place] >= 99:
            continue
        value = centre_worth(s, place, weights)
        if s[SIPHONS]:
            value -= _STEP_COST * (far[start, place] + way_out[place] - way_out[start])
        else:
            value -= _STEP_COST * (far[start, nearest] + far[nearest, place] + way_out[place] - way_out[start])
        slot = _CENTRES
        while slot > 0 and value > best_worths[slot - 1]:
            slot -= 1
        if slot < _CENTRES:
            for later in range(_CENTRES - 1, slot, -1):
                best_places[later], best_worths[later] = best_places[later - 1], best_worths[later - 1]
            best_places[slot], best_worths[slot] = place, value
    for slot in range(_CENTRES):
        if best_places[slot] < 0 or many >= MOST_PLANS:
            break
        stop = 0
        if s[SIPHONS] == 0:
            plans[many, 0, 0], plans[many, 0, 1] = nearest, 0
            stop = 1
        plans[many, stop, 0], plans[many, stop, 1] = best_places[slot], 1
        many += 1
    if s[SIPHONS] and nearest >= 0 and best_places[0] >= 0 and many + 1 < MOST_PLANS:
        for order in range(2):
            plans[many, order, 0], plans[many, order, 1] = best_places[0], 1
            plans[many, 1 - order, 0], plans[many, 1 - order, 1] = nearest, 0
            many += 1
    return many
