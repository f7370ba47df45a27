"""What the player does without thinking: the way simulations are played on."""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.heuristic import layout, rules
from jimbot.games.hackmatrix.heuristic.kernels import njit

_FIRST = spec.FIRST_PROGRAM


@njit
def reach(place, open_cells, out):
    """Steps from a place to all others, into `out` (64,)."""
    reached = np.int64(1) << place
    out[place] = 0
    far = 0
    while True:
        far += 1
        new = rules.beside(reached) & open_cells & ~reached
        if not new:
            return
        reached |= new
        while new:
            out[rules.lowest(new)] = far
            new &= new - 1


@njit
def danger(s, place, but):
    """How many could hit a player at a place in the coming enemy turn; `but` is the slot of one who cannot."""
    count = 0
    row, col = place // layout.STRIDE, place % layout.STRIDE
    for slot in range(layout.FOE, layout.FOE + s[layout.COUNT]):
        word = s[slot]
        if slot == but or rules.is_transmission(word):
            continue
        away = abs((word & layout.PLACE_BITS) // layout.STRIDE - row) + abs(
            (word & layout.PLACE_BITS) % layout.STRIDE - col
        )
        if away == 1 or (away == 2 and (word >> layout.TYPE_SHIFT) & layout.TYPE_BITS == spec.VIRUS):
            count += 1
    return count


@njit
def program_habit(s, adjacent):
    """A program that pays now; −1 for none."""
    enemies, row, col, near, viruses, daemons, on_block, on_siphoned, waiting = 0, 0, 0, 0, 0, 0, 0, 0, 0
    close = rules.around(np.int64(1) << s[layout.PLAYER])
    for slot in range(layout.FOE, layout.FOE + s[layout.COUNT]):
        word = s[slot]
        if rules.is_transmission(word):
            waiting += 1
            continue
        place, kind = word & layout.PLACE_BITS, (word >> layout.TYPE_SHIFT) & layout.TYPE_BITS
        enemies += 1
        row += place // layout.STRIDE == s[layout.PLAYER] // layout.STRIDE
        col += place % layout.STRIDE == s[layout.PLAYER] % layout.STRIDE
        near += (close >> place) & 1
        viruses += kind == spec.VIRUS
        daemons += kind == spec.DAEMON
        on_block += (s[layout.BLOCKS] >> place) & 1
        on_siphoned += (s[layout.SIPHONED] >> place) & 1
    if (s[layout.HP] == 1 or (s[layout.HP] == 2 and s[layout.ENERGY] >= 8)) and rules.can_run(s, spec.RESET - _FIRST):
        return spec.RESET
    if (
        s[layout.HP] == 1
        and s[layout.ENERGY] < 4
        and (s[layout.OWNED] >> (spec.RESET - _FIRST)) & 1
        and rules.can_run(s, spec.EXCH - _FIRST)
    ):
        return spec.EXCH
    if s[layout.ATTACK] < 3 and rules.can_run(s, spec.ATK_PLUS - _FIRST):
        return spec.ATK_PLUS
    if near >= 2 and rules.can_run(s, spec.CRASH - _FIRST):
        return spec.CRASH
    if row >= 2 and rules.can_run(s, spec.ROW - _FIRST):
        return spec.ROW
    if col >= 2 and rules.can_run(s, spec.COL - _FIRST):
        return spec.COL
    if viruses >= 2 and rules.can_run(s, spec.ANTI_V - _FIRST):
        return spec.ANTI_V
    if daemons and enemies >= 2 and rules.can_run(s, spec.D_BOM - _FIRST):
        return spec.D_BOM
    if on_siphoned >= 2 and rules.can_run(s, spec.HACK - _FIRST):
        return spec.HACK
    if on_block and rules.can_run(s, spec.DEBUG - _FIRST):
        return spec.DEBUG
    if waiting >= 3 and rules.can_run(s, spec.DELAY - _FIRST):
        return spec.DELAY
    if adjacent >= 2:
        if rules.can_run(s, spec.STEP - _FIRST):
            return spec.STEP
        if not s[layout.SKIP] and rules.can_run(s, spec.PUSH - _FIRST):
            return spec.PUSH
    return -1


@njit
def habit(s, goal, siphons, far, shoots, rng):
    """The action of a player on the way to `goal`, who siphons there if so planned."""
    adjacent = 0
    for slot in range(layout.FOE, layout.FOE + s[layout.COUNT]):
        word = s[slot]
        if not rules.is_transmission(word):
            place = word & layout.PLACE_BITS
            adjacent += (
                abs(place // layout.STRIDE - s[layout.PLAYER] // layout.STRIDE)
                + abs(place % layout.STRIDE - s[layout.PLAYER] % layout.STRIDE)
                == 1
            )
    if s[layout.OWNED]:
        program = program_habit(s, adjacent)
        if program >= 0:
            return program
    way, steps = -1, far[goal, s[layout.PLAYER]] + 50
    shot, shot_value = -1, -1
    safest, safest_danger, safest_cost = -1, 99, 10_000
    way_danger = 0
    for direction in range(4):
        if not rules.can_step(s, direction):
            continue
        place = s[layout.PLAYER] + layout.STEPS[direction]
        slot = rules.target(s, direction)
        if slot < 0:
            threat = danger(s, place, -1)
            nearer = far[goal, place]
            if 100 * threat + nearer < safest_cost:
                safest, safest_danger, safest_cost = direction, threat, 100 * threat + nearer
            if nearer < steps:
                way, steps, way_danger = direction, nearer, threat
            continue
        word = s[slot]
        there = word & layout.PLACE_BITS
        if far[goal, place] < steps:
            way, steps, way_danger = direction, far[goal, place], danger(s, s[layout.PLAYER], slot)
        away = abs(there // layout.STRIDE - s[layout.PLAYER] // layout.STRIDE) + abs(
            there % layout.STRIDE - s[layout.PLAYER] % layout.STRIDE
        )
        if rules.is_transmission(word):
            value = 300
        else:
            value = 1000 * (away == 1) + 10 * (6 - away)
            value += 200 * (((word >> layout.HP_SHIFT) & layout.HP_BITS) <= s[layout.ATTACK])
            value += 50 * ((word >> layout.TYPE_SHIFT) & layout.TYPE_BITS == spec.VIRUS)
        if value > shot_value:
            shot, shot_value = direction, value
    if (
        way >= 0
        and s[layout.PLAYER] + layout.STEPS[way] == s[layout.EXIT]
        and goal == s[layout.EXIT]
        and rules.target(s, way) < 0
    ):
        return way
    if s[layout.SKIP] and way >= 0:
        return spec.SIPHON if siphons and s[layout.PLAYER] == goal and s[layout.SIPHONS] else way
    if adjacent and shot_value >= 1000:
        left = danger(s, s[layout.PLAYER], rules.target(s, shot))
        if left >= s[layout.HP] and safest >= 0 and safest_danger < left:
            return safest
        return shot
    if siphons and s[layout.PLAYER] == goal and s[layout.SIPHONS]:
        return spec.SIPHON
    if way_danger and shot >= 0:
        return shot
    if way_danger and safest >= 0 and safest_danger < way_danger:
        return safest
    if shot >= 0 and rules.below(rng, 100) < shoots:
        return shot
    return way if way >= 0 else safest if safest >= 0 else shot
