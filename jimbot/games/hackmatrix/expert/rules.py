"""The rules of HackMatrix for one position of `layout`, as plain loops: what an action does, and the enemy turn.

They follow the game's own rules except in what the player cannot see: unseen cryptogs do not exist, what comes out of a
transmission is drawn when it comes, and UNDO and SHOW are never used. Luck is drawn from a generator of its own.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.expert.kernels import njit
from jimbot.games.hackmatrix.expert.layout import (
    ATTACK,
    ATTACK_USES,
    BLOCKS,
    BOARD,
    CALM,
    CELL,
    CLOCK,
    COUNT,
    CREDITS,
    CREDITS_SHIFT,
    ENERGY,
    ENERGY_SHIFT,
    EXIT,
    FOE,
    HP,
    HP_BITS,
    HP_SHIFT,
    INTERVAL,
    MOST_FOES,
    OUT,
    OWNED,
    PENDING,
    PICKUPS,
    PLACE_BITS,
    PLACES,
    PLAYER,
    POINTS_SHIFT,
    PROGRAM_SHIFT,
    QUESTION_SHIFT,
    SCORE,
    SIPHONED,
    SIPHONS,
    SIX,
    SKIP,
    SPAWN_SHIFT,
    STEPS,
    STRIDE,
    STUN_SHIFT,
    TURNS,
    TURNS_BITS,
    TURNS_SHIFT,
    TYPE_BITS,
    TYPE_SHIFT,
    UNKNOWN,
)  # fmt: skip

_CREDITS = np.array([program.credits for program in spec.PROGRAMS])
_ENERGY = np.array([program.energy for program in spec.PROGRAMS])
_SPAWN = np.array([program.spawn for program in spec.PROGRAMS])
_ENEMY_HP = np.array(spec.ENEMY_HP)
_SHORTEST_INTERVAL, _SIPHON_DELAY, _DELAY_TURNS, _EXCHANGED = 4, 5, 3, 4
_STUNNED = 1 << STUN_SHIFT
FIRST, SIDE = spec.FIRST_PROGRAM, spec.SIDE
PROGRAM_COUNT = len(spec.PROGRAMS)


@njit
def random(luck):
    """A number 0..2^31 − 1; `luck` is one uint64 that is never 0."""
    word = luck[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    luck[0] = word
    return np.int64(word >> np.uint64(33))


@njit
def below(luck, bound):
    return (random(luck) * bound) >> 31


@njit
def beside(cells):
    """All cells next to one of a set."""
    return ((cells << STRIDE) | (cells >> STRIDE) | (cells << 1) | (cells >> 1)) & BOARD


@njit
def around(cells):
    """The cells a king's move away from a single cell, and itself."""
    wide = (cells | (cells << 1) | (cells >> 1)) & BOARD
    return (wide | (wide << STRIDE) | (wide >> STRIDE)) & BOARD


@njit
def size(cells):
    count = 0
    while cells:
        cells &= cells - 1
        count += 1
    return count


@njit
def lowest(cells):
    """The place of the lowest member."""
    place = 0
    while not cells & 255:
        cells >>= 8
        place += 8
    while not cells & 1:
        cells >>= 1
        place += 1
    return place


@njit
def pick(cells, luck):
    """The place of a random member."""
    for _ in range(below(luck, size(cells))):
        cells &= cells - 1
    return lowest(cells)


@njit
def make_foe(place, kind, hp, turns):
    return place | (kind << TYPE_SHIFT) | (hp << HP_SHIFT) | (turns << TURNS_SHIFT)


@njit
def is_transmission(word):
    return (word >> TURNS_SHIFT) & TURNS_BITS > 0


@njit
def foes(s):
    """(cells of enemies, cells of transmissions)."""
    enemies, transmissions = np.int64(0), np.int64(0)
    for slot in range(FOE, FOE + s[COUNT]):
        here = np.int64(1) << (s[slot] & PLACE_BITS)
        if is_transmission(s[slot]):
            transmissions |= here
        else:
            enemies |= here
    return enemies, transmissions


@njit
def compact(s):
    """Closes the gaps (words of −1) in the list of opponents."""
    count = 0
    for slot in range(FOE, FOE + s[COUNT]):
        if s[slot] >= 0:
            s[FOE + count] = s[slot]
            count += 1
    s[COUNT] = count


@njit
def hit(s, slot, damage):
    """HP off an enemy: gone (−1) or stunned."""
    word = s[slot]
    left = ((word >> HP_SHIFT) & HP_BITS) - damage
    if left <= 0:
        s[slot] = -1
    else:
        s[slot] = (word & ~(HP_BITS << HP_SHIFT)) | (left << HP_SHIFT) | _STUNNED


@njit
def target(s, direction):
    """The slot that a shot would hit; −1 for none."""
    place = s[PLAYER]
    step = STEPS[direction]
    while True:
        place += step
        if place < 0 or place >= PLACES or not (BOARD >> place) & 1:
            return -1
        found = -1
        for slot in range(FOE, FOE + s[COUNT]):
            if s[slot] & PLACE_BITS == place:
                if is_transmission(s[slot]):
                    return slot
                if found < 0:
                    found = slot
        if found >= 0:
            return found
        if (s[BLOCKS] >> place) & 1:
            return -1


@njit
def can_step(s, direction):
    """Whether a direction is legal: the next cell is open, or an enemy stands on it."""
    place = s[PLAYER] + STEPS[direction]
    if place < 0 or place >= PLACES or not (BOARD >> place) & 1:
        return False
    if not (s[BLOCKS] >> place) & 1:
        return True
    for slot in range(FOE, FOE + s[COUNT]):
        if s[slot] & PLACE_BITS == place and not is_transmission(s[slot]):
            return True
    return False


@njit
def can_run(s, program):
    """Whether a program (by number) is owned, paid for and of any use."""
    if not (s[OWNED] >> program) & 1 or s[CREDITS] < _CREDITS[program] or s[ENERGY] < _ENERGY[program]:
        return False
    action = program + FIRST
    if action == spec.WAIT or action == spec.SIPH_PLUS or action == spec.EXCH:
        return True
    if action == spec.STEP:
        return s[SKIP] == 0
    if action == spec.RESET:
        return s[HP] < spec.MAX_HP
    if action == spec.CALM:
        return s[CALM] == 0
    if action == spec.ATK_PLUS:
        return s[ATTACK_USES] < spec.ATK_USES_PER_STAGE
    if action == spec.UNDO or action == spec.SHOW or action == spec.SCORE:
        return False
    if action == spec.REDUC:
        return s[BLOCKS] & ~s[SIPHONED] != 0
    enemies, transmissions = foes(s)
    if action == spec.PUSH or action == spec.PULL or action == spec.POLY:
        return enemies != 0
    if action == spec.CRASH:
        return around(np.int64(1) << s[PLAYER]) & (enemies | transmissions | s[BLOCKS]) != 0
    if action == spec.WARP:
        return enemies | transmissions != 0
    if action == spec.DEBUG:
        return enemies & s[BLOCKS] != 0
    if action == spec.HACK:
        return enemies & s[SIPHONED] != 0
    if action == spec.DELAY:
        return transmissions != 0
    row, col = s[PLAYER] // STRIDE, s[PLAYER] % STRIDE
    for slot in range(FOE, FOE + s[COUNT]):
        word = s[slot]
        if is_transmission(word):
            continue
        place, kind = word & PLACE_BITS, (word >> TYPE_SHIFT) & TYPE_BITS
        if (
            (action == spec.ROW and place // STRIDE == row)
            or (action == spec.COL and place % STRIDE == col)
            or (action == spec.D_BOM and kind == spec.DAEMON)
            or (action == spec.ANTI_V and kind == spec.VIRUS)
        ):
            return True
    return False


@njit
def shoot_or_walk(s, direction):
    slot = target(s, direction)
    if slot >= 0:
        if is_transmission(s[slot]):
            s[slot] = -1
        else:
            hit(s, slot, s[ATTACK])
        compact(s)
        return
    s[PLAYER] += STEPS[direction]
    here = np.int64(1) << s[PLAYER]
    if s[PICKUPS] & here:
        s[PICKUPS] &= ~here
        s[SIPHONS] += 1
    if s[PLAYER] == s[EXIT]:
        s[OUT] = 1


@njit
def siphon(s, luck):
    here = np.int64(1) << s[PLAYER]
    fresh = (here | beside(here)) & ~s[SIPHONED]
    s[SIPHONED] |= fresh
    while fresh:
        place = lowest(fresh)
        fresh &= fresh - 1
        word = s[CELL + place]
        if not (s[BLOCKS] >> place) & 1:
            s[CREDITS] += (word >> CREDITS_SHIFT) & SIX
            s[ENERGY] += (word >> ENERGY_SHIFT) & SIX
            s[CELL + place] = 0
            continue
        program, points = (word >> PROGRAM_SHIFT) & SIX, (word >> POINTS_SHIFT) & SIX
        spawn = (word >> SPAWN_SHIFT) & SIX
        if (word >> QUESTION_SHIFT) & 1:
            if below(luck, 2):
                program = 1 + below(luck, PROGRAM_COUNT)
                points, spawn = 0, _SPAWN[program - 1]
            else:
                points = 1 + below(luck, 9)
                program, spawn = 0, points
        if program:
            s[OWNED] |= np.int64(1) << (program - 1)
        s[SCORE] += points
        s[PENDING] += spawn
        s[CELL + place] = word & ~((SIX << SPAWN_SHIFT) | (1 << QUESTION_SHIFT))
    s[SIPHONS] -= 1
    s[INTERVAL] = max(_SHORTEST_INTERVAL, s[INTERVAL] - 1)
    s[CLOCK] += _SIPHON_DELAY


@njit
def shove(s, away):
    """PUSH (away = 1) and PULL (−1)."""
    row, col = s[PLAYER] // STRIDE, s[PLAYER] % STRIDE
    claimed = np.int64(0)
    for slot in range(FOE, FOE + s[COUNT]):
        word = s[slot]
        if is_transmission(word):
            continue
        place = word & PLACE_BITS
        rows, cols = place // STRIDE - row, place % STRIDE - col
        row_step, col_step = away * np.sign(rows), away * np.sign(cols)
        if away < 0:
            if abs(rows) + abs(cols) == 1:
                row_step = col_step = 0
            elif abs(rows) == 1 and abs(cols) == 1:
                col_step = 0
        new_row = min(max(place // STRIDE + row_step, 0), SIDE - 1)
        new_col = min(max(place % STRIDE + col_step, 0), SIDE - 1)
        new = STRIDE * new_row + new_col
        if new != place and not (claimed >> new) & 1:
            s[slot] = word - place + new
            claimed |= np.int64(1) << new


@njit
def run(s, program, luck):
    """A program's effect; it must be one that `can_run`."""
    action = program + FIRST
    s[CREDITS] -= _CREDITS[program]
    s[ENERGY] -= _ENERGY[program]
    if action == spec.STEP:
        s[SKIP] = 1
    elif action == spec.SIPH_PLUS:
        s[SIPHONS] += 1
    elif action == spec.EXCH:
        s[ENERGY] += _EXCHANGED
    elif action == spec.RESET:
        s[HP] = spec.MAX_HP
    elif action == spec.CALM:
        s[CALM] = 1
    elif action == spec.ATK_PLUS:
        s[ATTACK] += 1
        s[ATTACK_USES] += 1
    elif action == spec.PUSH:
        shove(s, 1)
    elif action == spec.PULL:
        shove(s, -1)
    elif action == spec.REDUC:
        fresh = s[BLOCKS] & ~s[SIPHONED]
        while fresh:
            place = lowest(fresh)
            fresh &= fresh - 1
            if (s[CELL + place] >> SPAWN_SHIFT) & SIX:
                s[CELL + place] -= 1 << SPAWN_SHIFT
    elif action != spec.WAIT:
        strike(s, action, luck)


@njit
def strike(s, action, luck):
    """Programs that hurt, destroy or change opponents."""
    row, col = s[PLAYER] // STRIDE, s[PLAYER] % STRIDE
    area = np.int64(0)
    damage = s[ATTACK]
    if action == spec.CRASH:
        area = around(np.int64(1) << s[PLAYER])
        s[BLOCKS] &= ~area
    elif action == spec.DEBUG:
        area = s[BLOCKS]
    elif action == spec.HACK:
        area = s[SIPHONED]
    elif action == spec.D_BOM:
        damage = 1
        best, nearest = -1, 99
        for slot in range(FOE, FOE + s[COUNT]):
            word = s[slot]
            if not is_transmission(word) and (word >> TYPE_SHIFT) & TYPE_BITS == spec.DAEMON:
                place = word & PLACE_BITS
                far = abs(place // STRIDE - row) + abs(place % STRIDE - col)
                if far < nearest:
                    best, nearest = slot, far
        here = np.int64(1) << (s[best] & PLACE_BITS)
        area = around(here) & ~here
        s[best] = -1
    elif action == spec.WARP:
        chosen = FOE + below(luck, s[COUNT])
        s[PLAYER] = s[chosen] & PLACE_BITS
        s[chosen] = -1
        if s[PLAYER] == s[EXIT]:
            s[OUT] = 1
    for slot in range(FOE, FOE + s[COUNT]):
        word = s[slot]
        if word < 0:
            continue
        place, kind = word & PLACE_BITS, (word >> TYPE_SHIFT) & TYPE_BITS
        inside = (area >> place) & 1
        if is_transmission(word):
            if action == spec.CRASH and inside:
                s[slot] = -1
            elif action == spec.DELAY:
                s[slot] = word + (_DELAY_TURNS << TURNS_SHIFT)
            continue
        if action == spec.CRASH and inside:
            s[slot] = -1
        elif action == spec.POLY:
            new = (kind + 1 + below(luck, 3)) & 3
            left = _ENEMY_HP[new] - _ENEMY_HP[kind] + ((word >> HP_SHIFT) & HP_BITS)
            if left <= 0:
                s[slot] = -1
            else:
                s[slot] = make_foe(place, new, left, 0) | (word & _STUNNED)
        elif action == spec.ANTI_V:
            if kind == spec.VIRUS:
                hit(s, slot, 1)
        elif (
            inside or (action == spec.ROW and place // STRIDE == row) or (action == spec.COL and place % STRIDE == col)
        ):
            hit(s, slot, damage)
    compact(s)


@njit
def act(s, action, luck):
    """One action; the enemy turn follows where it ends the turn."""
    if action < 4:
        shoot_or_walk(s, action)
    elif action == spec.SIPHON:
        siphon(s, luck)
    else:
        run(s, action - FIRST, luck)
    if s[OUT] == 0 and (action <= spec.SIPHON or action == spec.WAIT):
        enemy_turn(s, luck)


@njit
def step_of(place, glitch, s, occupied):
    """The place an enemy goes to; its own where it stays."""
    passable = BOARD if glitch else BOARD & ~s[BLOCKS]
    free = passable & ~occupied
    here = np.int64(1) << place
    player = np.int64(1) << s[PLAYER]
    near = beside(here)
    goal = near & free
    reached = player & passable
    while reached and not reached & goal:  # rule 1: around the others
        wider = reached | (beside(reached) & free)
        if wider == reached:
            break
        reached = wider
    found = reached & goal
    if not found:
        reached = player & passable
        goal = near & passable
        while reached and not reached & goal:  # rule 2: as if nobody were there
            wider = reached | (beside(reached) & passable)
            if wider == reached:
                break
            reached = wider
        wanted = reached & goal
        for direction in range(4):
            new = place + STEPS[direction]
            if 0 <= new < PLACES and (wanted >> new) & 1:
                found = (np.int64(1) << new) & free
                break
    if found:
        for direction in range(4):
            new = place + STEPS[direction]
            if 0 <= new < PLACES and (found >> new) & 1:
                return new
    best, nearest = place, 99
    for direction in range(4):  # rule 3: as the crow flies
        new = place + STEPS[direction]
        if 0 <= new < PLACES and (near & free & (np.int64(1) << new)):
            far = abs(new // STRIDE - s[PLAYER] // STRIDE) + abs(new % STRIDE - s[PLAYER] % STRIDE)
            if far < nearest:
                best, nearest = new, far
    return best


@njit
def enemy_turn(s, luck):
    if s[SKIP]:
        s[SKIP] = 0
        return
    s[CLOCK] -= 1
    s[TURNS] += 1
    count = s[COUNT]
    order = np.empty(MOST_FOES, np.int64)
    acting, viruses = 0, 0
    occupied = np.int64(0)
    for slot in range(FOE, FOE + count):
        word = s[slot]
        occupied |= np.int64(1) << (word & PLACE_BITS)
        turns = (word >> TURNS_SHIFT) & TURNS_BITS
        if turns > 1:
            s[slot] = word - (1 << TURNS_SHIFT)
        elif turns == 1:
            kind = (word >> TYPE_SHIFT) & TYPE_BITS
            if kind == UNKNOWN:
                kind = below(luck, 4)
            s[slot] = make_foe(word & PLACE_BITS, kind, _ENEMY_HP[kind], 0)
        elif not word & _STUNNED:
            order[acting] = slot
            acting += 1
            viruses += (word >> TYPE_SHIFT) & TYPE_BITS == spec.VIRUS
    for turn_round in range(2 if viruses else 1):
        if turn_round:  # only viruses that have not attacked
            kept = 0
            for index in range(acting):
                if order[index] >= 0 and (s[order[index]] >> TYPE_SHIFT) & TYPE_BITS == spec.VIRUS:
                    order[kept] = order[index]
                    kept += 1
            acting = kept
        for index in range(acting):
            other = index + below(luck, acting - index)
            slot = order[other]
            order[other] = order[index]
            order[index] = slot
            word = s[slot]
            place = word & PLACE_BITS
            away = abs(place // STRIDE - s[PLAYER] // STRIDE) + abs(place % STRIDE - s[PLAYER] % STRIDE)
            if away == 1:
                s[HP] = max(s[HP] - 1, 0)
                order[index] = -1
                continue
            here = np.int64(1) << place
            kind = (word >> TYPE_SHIFT) & TYPE_BITS
            new = step_of(place, kind == spec.GLITCH, s, occupied)
            if new != place:
                s[slot] = word - place + new
                occupied = (occupied & ~here) | (np.int64(1) << new)
    for slot in range(FOE, FOE + count):
        s[slot] &= ~_STUNNED
    spawns = s[PENDING]
    s[PENDING] = 0
    if s[CLOCK] <= 0 and not s[CALM]:
        spawns += 1
        s[CLOCK] = s[INTERVAL]
    if spawns:
        spawn(s, spawns, luck)


@njit
def line_of_fire(s, stops):
    """The cells the player could shoot at, up to and including the first stop in each direction."""
    seen = np.int64(1) << s[PLAYER]
    for direction in range(4):
        place = s[PLAYER] + STEPS[direction]
        while 0 <= place < PLACES and (BOARD >> place) & 1:
            seen |= np.int64(1) << place
            if (stops >> place) & 1:
                break
            place += STEPS[direction]
    return seen


@njit
def spawn(s, many, luck):
    enemies, transmissions = foes(s)
    hidden = ~line_of_fire(s, enemies | s[BLOCKS])
    empty = BOARD & ~(enemies | transmissions | s[BLOCKS] | (np.int64(1) << s[PLAYER]))
    for _ in range(many):
        choice = empty & hidden
        if not choice:
            choice = empty
        if not choice or s[COUNT] >= MOST_FOES:
            return
        place = pick(choice, luck)
        empty &= ~(np.int64(1) << place)
        s[FOE + s[COUNT]] = make_foe(place, UNKNOWN, 2, 1)
        s[COUNT] += 1
