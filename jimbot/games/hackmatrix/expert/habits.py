"""What the player does without thinking: the way tries are played on."""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.expert.kernels import njit
from jimbot.games.hackmatrix.expert.layout import (
    ATTACK,
    BLOCKS,
    COUNT,
    ENERGY,
    EXIT,
    FOE,
    HP,
    HP_BITS,
    HP_SHIFT,
    OWNED,
    PLACE_BITS,
    PLAYER,
    SIPHONED,
    SIPHONS,
    SKIP,
    STEPS,
    STRIDE,
    TYPE_BITS,
    TYPE_SHIFT,
)  # fmt: skip
from jimbot.games.hackmatrix.expert.rules import (
    around,
    below,
    beside,
    can_run,
    can_step,
    is_transmission,
    lowest,
    target,
)

_FIRST = spec.FIRST_PROGRAM


@njit
def reach(place, open_cells, out):
    """Steps from a place to all others, into `out` (64,)."""
    reached = np.int64(1) << place
    out[place] = 0
    far = 0
    while True:
        far += 1
        new = beside(reached) & open_cells & ~reached
        if not new:
            return
        reached |= new
        while new:
            out[lowest(new)] = far
            new &= new - 1


@njit
def danger(s, place, but):
    """How many could hit a player at a place in the coming enemy turn; `but` is the slot of one who cannot."""
    count = 0
    row, col = place // STRIDE, place % STRIDE
    for slot in range(FOE, FOE + s[COUNT]):
        word = s[slot]
        if slot == but or is_transmission(word):
            continue
        away = abs((word & PLACE_BITS) // STRIDE - row) + abs((word & PLACE_BITS) % STRIDE - col)
        if away == 1 or (away == 2 and (word >> TYPE_SHIFT) & TYPE_BITS == spec.VIRUS):
            count += 1
    return count


@njit
def program_habit(s, adjacent):
    """A program that pays now; −1 for none."""
    enemies, row, col, near, viruses, daemons, on_block, on_siphoned, waiting = 0, 0, 0, 0, 0, 0, 0, 0, 0
    close = around(np.int64(1) << s[PLAYER])
    for slot in range(FOE, FOE + s[COUNT]):
        word = s[slot]
        if is_transmission(word):
            waiting += 1
            continue
        place, kind = word & PLACE_BITS, (word >> TYPE_SHIFT) & TYPE_BITS
        enemies += 1
        row += place // STRIDE == s[PLAYER] // STRIDE
        col += place % STRIDE == s[PLAYER] % STRIDE
        near += (close >> place) & 1
        viruses += kind == spec.VIRUS
        daemons += kind == spec.DAEMON
        on_block += (s[BLOCKS] >> place) & 1
        on_siphoned += (s[SIPHONED] >> place) & 1
    if (s[HP] == 1 or (s[HP] == 2 and s[ENERGY] >= 8)) and can_run(s, spec.RESET - _FIRST):
        return spec.RESET
    if s[HP] == 1 and s[ENERGY] < 4 and (s[OWNED] >> (spec.RESET - _FIRST)) & 1 and can_run(s, spec.EXCH - _FIRST):
        return spec.EXCH
    if s[ATTACK] < 3 and can_run(s, spec.ATK_PLUS - _FIRST):
        return spec.ATK_PLUS
    if near >= 2 and can_run(s, spec.CRASH - _FIRST):
        return spec.CRASH
    if row >= 2 and can_run(s, spec.ROW - _FIRST):
        return spec.ROW
    if col >= 2 and can_run(s, spec.COL - _FIRST):
        return spec.COL
    if viruses >= 2 and can_run(s, spec.ANTI_V - _FIRST):
        return spec.ANTI_V
    if daemons and enemies >= 2 and can_run(s, spec.D_BOM - _FIRST):
        return spec.D_BOM
    if on_siphoned >= 2 and can_run(s, spec.HACK - _FIRST):
        return spec.HACK
    if on_block and can_run(s, spec.DEBUG - _FIRST):
        return spec.DEBUG
    if waiting >= 3 and can_run(s, spec.DELAY - _FIRST):
        return spec.DELAY
    if adjacent >= 2:
        if can_run(s, spec.STEP - _FIRST):
            return spec.STEP
        if not s[SKIP] and can_run(s, spec.PUSH - _FIRST):
            return spec.PUSH
    return -1


@njit
def habit(s, goal, siphons, far, shoots, luck):
    """The action of somebody on his way to `goal`, who siphons there if so planned."""
    adjacent = 0
    for slot in range(FOE, FOE + s[COUNT]):
        word = s[slot]
        if not is_transmission(word):
            place = word & PLACE_BITS
            adjacent += abs(place // STRIDE - s[PLAYER] // STRIDE) + abs(place % STRIDE - s[PLAYER] % STRIDE) == 1
    if s[OWNED]:
        program = program_habit(s, adjacent)
        if program >= 0:
            return program
    way, steps = -1, far[goal, s[PLAYER]] + 50
    shot, shot_value = -1, -1
    safest, safest_danger, safest_cost = -1, 99, 10_000
    way_danger = 0
    for direction in range(4):
        if not can_step(s, direction):
            continue
        place = s[PLAYER] + STEPS[direction]
        slot = target(s, direction)
        if slot < 0:
            threat = danger(s, place, -1)
            nearer = far[goal, place]
            if 100 * threat + nearer < safest_cost:
                safest, safest_danger, safest_cost = direction, threat, 100 * threat + nearer
            if nearer < steps:
                way, steps, way_danger = direction, nearer, threat
            continue
        word = s[slot]
        there = word & PLACE_BITS
        if far[goal, place] < steps:
            way, steps, way_danger = direction, far[goal, place], danger(s, s[PLAYER], slot)
        away = abs(there // STRIDE - s[PLAYER] // STRIDE) + abs(there % STRIDE - s[PLAYER] % STRIDE)
        if is_transmission(word):
            value = 300
        else:
            value = 1000 * (away == 1) + 10 * (6 - away)
            value += 200 * (((word >> HP_SHIFT) & HP_BITS) <= s[ATTACK])
            value += 50 * ((word >> TYPE_SHIFT) & TYPE_BITS == spec.VIRUS)
        if value > shot_value:
            shot, shot_value = direction, value
    if way >= 0 and s[PLAYER] + STEPS[way] == s[EXIT] and goal == s[EXIT] and target(s, way) < 0:
        return way
    if s[SKIP] and way >= 0:
        return spec.SIPHON if siphons and s[PLAYER] == goal and s[SIPHONS] else way
    if adjacent and shot_value >= 1000:
        left = danger(s, s[PLAYER], target(s, shot))
        if left >= s[HP] and safest >= 0 and safest_danger < left:
            return safest
        return shot
    if siphons and s[PLAYER] == goal and s[SIPHONS]:
        return spec.SIPHON
    if way_danger and shot >= 0:
        return shot
    if way_danger and safest >= 0 and safest_danger < way_danger:
        return safest
    if shot >= 0 and below(luck, 100) < shoots:
        return shot
    return way if way >= 0 else safest if safest >= 0 else shot
