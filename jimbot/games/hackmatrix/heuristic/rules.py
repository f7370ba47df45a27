"""The rules of HackMatrix for one position of `layout`, as plain loops: what an action does, and the enemy turn.

They follow the game's own rules except in what the player cannot see: unseen cryptogs do not exist, what comes out of a
transmission is drawn when it comes, and UNDO and SHOW are never used. Luck is drawn from a generator of its own.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.heuristic import layout
from jimbot.games.hackmatrix.heuristic.kernels import njit

_CREDITS = np.array([program.credits for program in spec.PROGRAMS])
_ENERGY = np.array([program.energy for program in spec.PROGRAMS])
_SPAWN = np.array([program.spawn for program in spec.PROGRAMS])
_ENEMY_HP = np.array(spec.ENEMY_HP)
_SHORTEST_INTERVAL, _SIPHON_DELAY, _DELAY_TURNS, _EXCHANGED = 4, 5, 3, 4
_STUNNED = 1 << layout.STUN_SHIFT
FIRST, SIDE = spec.FIRST_PROGRAM, spec.SIDE
PROGRAM_COUNT = len(spec.PROGRAMS)


@njit
def random(rng):
    """A number 0..2^31 − 1; `rng` is one uint64 that is never 0."""
    word = rng[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    rng[0] = word
    return np.int64(word >> np.uint64(33))


@njit
def below(rng, bound):
    return (random(rng) * bound) >> 31


@njit
def beside(cells):
    """All cells next to one of a set."""
    return ((cells << layout.STRIDE) | (cells >> layout.STRIDE) | (cells << 1) | (cells >> 1)) & layout.BOARD


@njit
def around(cells):
    """The cells a king's move away from a single cell, and itself."""
    wide = (cells | (cells << 1) | (cells >> 1)) & layout.BOARD
    return (wide | (wide << layout.STRIDE) | (wide >> layout.STRIDE)) & layout.BOARD


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
def pick(cells, rng):
    """The place of a random member."""
    for _ in range(below(rng, size(cells))):
        cells &= cells - 1
    return lowest(cells)


@njit
def make_foe(place, kind, hp, turns):
    return place | (kind << layout.TYPE_SHIFT) | (hp << layout.HP_SHIFT) | (turns << layout.TURNS_SHIFT)


@njit
def is_transmission(word):
    return (word >> layout.TURNS_SHIFT) & layout.TURNS_BITS > 0


@njit
def foes(s):
    """(cells of enemies, cells of transmissions)."""
    enemies, transmissions = np.int64(0), np.int64(0)
    for slot in range(layout.FOE, layout.FOE + s[layout.COUNT]):
        here = np.int64(1) << (s[slot] & layout.PLACE_BITS)
        if is_transmission(s[slot]):
            transmissions |= here
        else:
            enemies |= here
    return enemies, transmissions


@njit
def compact(s):
    """Closes the gaps (words of −1) in the list of opponents."""
    count = 0
    for slot in range(layout.FOE, layout.FOE + s[layout.COUNT]):
        if s[slot] >= 0:
            s[layout.FOE + count] = s[slot]
            count += 1
    s[layout.COUNT] = count


@njit
def hit(s, slot, damage):
    """HP off an enemy: gone (−1) or stunned."""
    word = s[slot]
    left = ((word >> layout.HP_SHIFT) & layout.HP_BITS) - damage
    if left <= 0:
        s[slot] = -1
    else:
        s[slot] = (word & ~(layout.HP_BITS << layout.HP_SHIFT)) | (left << layout.HP_SHIFT) | _STUNNED


@njit
def target(s, direction):
    """The slot that a shot would hit; −1 for none."""
    place = s[layout.PLAYER]
    step = layout.STEPS[direction]
    while True:
        place += step
        if place < 0 or place >= layout.PLACES or not (layout.BOARD >> place) & 1:
            return -1
        found = -1
        for slot in range(layout.FOE, layout.FOE + s[layout.COUNT]):
            if s[slot] & layout.PLACE_BITS == place:
                if is_transmission(s[slot]):
                    return slot
                if found < 0:
                    found = slot
        if found >= 0:
            return found
        if (s[layout.BLOCKS] >> place) & 1:
            return -1


@njit
def can_step(s, direction):
    """Whether a direction is legal: the next cell is open, or an enemy stands on it."""
    place = s[layout.PLAYER] + layout.STEPS[direction]
    if place < 0 or place >= layout.PLACES or not (layout.BOARD >> place) & 1:
        return False
    if not (s[layout.BLOCKS] >> place) & 1:
        return True
    for slot in range(layout.FOE, layout.FOE + s[layout.COUNT]):
        if s[slot] & layout.PLACE_BITS == place and not is_transmission(s[slot]):
            return True
    return False


@njit
def can_run(s, program):
    """Whether a program (by number) is owned, paid for and of any use."""
    if (
        not (s[layout.OWNED] >> program) & 1
        or s[layout.CREDITS] < _CREDITS[program]
        or s[layout.ENERGY] < _ENERGY[program]
    ):
        return False
    action = program + FIRST
    if action == spec.WAIT or action == spec.SIPH_PLUS or action == spec.EXCH:
        return True
    if action == spec.STEP:
        return s[layout.SKIP] == 0
    if action == spec.RESET:
        return s[layout.HP] < spec.MAX_HP
    if action == spec.CALM:
        return s[layout.CALM] == 0
    if action == spec.ATK_PLUS:
        return s[layout.ATTACK_USES] < spec.ATK_USES_PER_STAGE
    if action == spec.UNDO or action == spec.SHOW or action == spec.SCORE:
        return False
    if action == spec.REDUC:
        return s[layout.BLOCKS] & ~s[layout.SIPHONED] != 0
    enemies, transmissions = foes(s)
    if action == spec.PUSH or action == spec.PULL or action == spec.POLY:
        return enemies != 0
    if action == spec.CRASH:
        return around(np.int64(1) << s[layout.PLAYER]) & (enemies | transmissions | s[layout.BLOCKS]) != 0
    if action == spec.WARP:
        return enemies | transmissions != 0
    if action == spec.DEBUG:
        return enemies & s[layout.BLOCKS] != 0
    if action == spec.HACK:
        return enemies & s[layout.SIPHONED] != 0
    if action == spec.DELAY:
        return transmissions != 0
    row, col = s[layout.PLAYER] // layout.STRIDE, s[layout.PLAYER] % layout.STRIDE
    for slot in range(layout.FOE, layout.FOE + s[layout.COUNT]):
        word = s[slot]
        if is_transmission(word):
            continue
        place, kind = word & layout.PLACE_BITS, (word >> layout.TYPE_SHIFT) & layout.TYPE_BITS
        if (
            (action == spec.ROW and place // layout.STRIDE == row)
            or (action == spec.COL and place % layout.STRIDE == col)
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
            hit(s, slot, s[layout.ATTACK])
        compact(s)
        return
    s[layout.PLAYER] += layout.STEPS[direction]
    here = np.int64(1) << s[layout.PLAYER]
    if s[layout.PICKUPS] & here:
        s[layout.PICKUPS] &= ~here
        s[layout.SIPHONS] += 1
    if s[layout.PLAYER] == s[layout.EXIT]:
        s[layout.OUT] = 1


@njit
def siphon(s, rng):
    here = np.int64(1) << s[layout.PLAYER]
    fresh = (here | beside(here)) & ~s[layout.SIPHONED]
    s[layout.SIPHONED] |= fresh
    while fresh:
        place = lowest(fresh)
        fresh &= fresh - 1
        word = s[layout.CELL + place]
        if not (s[layout.BLOCKS] >> place) & 1:
            s[layout.CREDITS] += (word >> layout.CREDITS_SHIFT) & layout.SIX
            s[layout.ENERGY] += (word >> layout.ENERGY_SHIFT) & layout.SIX
            s[layout.CELL + place] = 0
            continue
        program, points = (word >> layout.PROGRAM_SHIFT) & layout.SIX, (word >> layout.POINTS_SHIFT) & layout.SIX
        spawn = (word >> layout.SPAWN_SHIFT) & layout.SIX
        if (word >> layout.QUESTION_SHIFT) & 1:
            if below(rng, 2):
                program = 1 + below(rng, PROGRAM_COUNT)
                points, spawn = 0, _SPAWN[program - 1]
            else:
                points = 1 + below(rng, 9)
                program, spawn = 0, points
        if program:
            s[layout.OWNED] |= np.int64(1) << (program - 1)
        s[layout.SCORE] += points
        s[layout.PENDING] += spawn
        s[layout.CELL + place] = word & ~((layout.SIX << layout.SPAWN_SHIFT) | (1 << layout.QUESTION_SHIFT))
    s[layout.SIPHONS] -= 1
    s[layout.INTERVAL] = max(_SHORTEST_INTERVAL, s[layout.INTERVAL] - 1)
    s[layout.CLOCK] += _SIPHON_DELAY


@njit
def shove(s, away):
    """PUSH (away = 1) and PULL (−1)."""
    row, col = s[layout.PLAYER] // layout.STRIDE, s[layout.PLAYER] % layout.STRIDE
    claimed = np.int64(0)
    for slot in range(layout.FOE, layout.FOE + s[layout.COUNT]):
        word = s[slot]
        if is_transmission(word):
            continue
        place = word & layout.PLACE_BITS
        rows, cols = place // layout.STRIDE - row, place % layout.STRIDE - col
        row_step, col_step = away * np.sign(rows), away * np.sign(cols)
        if away < 0:
            if abs(rows) + abs(cols) == 1:
                row_step = col_step = 0
            elif abs(rows) == 1 and abs(cols) == 1:
                col_step = 0
        new_row = min(max(place // layout.STRIDE + row_step, 0), SIDE - 1)
        new_col = min(max(place % layout.STRIDE + col_step, 0), SIDE - 1)
        new = layout.STRIDE * new_row + new_col
        if new != place and not (claimed >> new) & 1:
            s[slot] = word - place + new
            claimed |= np.int64(1) << new


@njit
def run(s, program, rng):
    """A program's effect; it must be one that `can_run`."""
    action = program + FIRST
    s[layout.CREDITS] -= _CREDITS[program]
    s[layout.ENERGY] -= _ENERGY[program]
    if action == spec.STEP:
        s[layout.SKIP] = 1
    elif action == spec.SIPH_PLUS:
        s[layout.SIPHONS] += 1
    elif action == spec.EXCH:
        s[layout.ENERGY] += _EXCHANGED
    elif action == spec.RESET:
        s[layout.HP] = spec.MAX_HP
    elif action == spec.CALM:
        s[layout.CALM] = 1
    elif action == spec.ATK_PLUS:
        s[layout.ATTACK] += 1
        s[layout.ATTACK_USES] += 1
    elif action == spec.PUSH:
        shove(s, 1)
    elif action == spec.PULL:
        shove(s, -1)
    elif action == spec.REDUC:
        fresh = s[layout.BLOCKS] & ~s[layout.SIPHONED]
        while fresh:
            place = lowest(fresh)
            fresh &= fresh - 1
            if (s[layout.CELL + place] >> layout.SPAWN_SHIFT) & layout.SIX:
                s[layout.CELL + place] -= 1 << layout.SPAWN_SHIFT
    elif action != spec.WAIT:
        strike(s, action, rng)


@njit
def strike(s, action, rng):
    """Programs that hurt, destroy or change opponents."""
    row, col = s[layout.PLAYER] // layout.STRIDE, s[layout.PLAYER] % layout.STRIDE
    area = np.int64(0)
    damage = s[layout.ATTACK]
    if action == spec.CRASH:
        area = around(np.int64(1) << s[layout.PLAYER])
        s[layout.BLOCKS] &= ~area
    elif action == spec.DEBUG:
        area = s[layout.BLOCKS]
    elif action == spec.HACK:
        area = s[layout.SIPHONED]
    elif action == spec.D_BOM:
        damage = 1
        best, nearest = -1, 99
        for slot in range(layout.FOE, layout.FOE + s[layout.COUNT]):
            word = s[slot]
            if not is_transmission(word) and (word >> layout.TYPE_SHIFT) & layout.TYPE_BITS == spec.DAEMON:
                place = word & layout.PLACE_BITS
                far = abs(place // layout.STRIDE - row) + abs(place % layout.STRIDE - col)
                if far < nearest:
                    best, nearest = slot, far
        here = np.int64(1) << (s[best] & layout.PLACE_BITS)
        area = around(here) & ~here
        s[best] = -1
    elif action == spec.WARP:
        chosen = layout.FOE + below(rng, s[layout.COUNT])
        s[layout.PLAYER] = s[chosen] & layout.PLACE_BITS
        s[chosen] = -1
        if s[layout.PLAYER] == s[layout.EXIT]:
            s[layout.OUT] = 1
    for slot in range(layout.FOE, layout.FOE + s[layout.COUNT]):
        word = s[slot]
        if word < 0:
            continue
        place, kind = word & layout.PLACE_BITS, (word >> layout.TYPE_SHIFT) & layout.TYPE_BITS
        inside = (area >> place) & 1
        if is_transmission(word):
            if action == spec.CRASH and inside:
                s[slot] = -1
            elif action == spec.DELAY:
                s[slot] = word + (_DELAY_TURNS << layout.TURNS_SHIFT)
            continue
        if action == spec.CRASH and inside:
            s[slot] = -1
        elif action == spec.POLY:
            new = (kind + 1 + below(rng, 3)) & 3
            left = _ENEMY_HP[new] - _ENEMY_HP[kind] + ((word >> layout.HP_SHIFT) & layout.HP_BITS)
            if left <= 0:
                s[slot] = -1
            else:
                s[slot] = make_foe(place, new, left, 0) | (word & _STUNNED)
        elif action == spec.ANTI_V:
            if kind == spec.VIRUS:
                hit(s, slot, 1)
        elif (
            inside
            or (action == spec.ROW and place // layout.STRIDE == row)
            or (action == spec.COL and place % layout.STRIDE == col)
        ):
            hit(s, slot, damage)
    compact(s)


@njit
def act(s, action, rng):
    """One action; the enemy turn follows where it ends the turn."""
    if action < 4:
        shoot_or_walk(s, action)
    elif action == spec.SIPHON:
        siphon(s, rng)
    else:
        run(s, action - FIRST, rng)
    if s[layout.OUT] == 0 and (action <= spec.SIPHON or action == spec.WAIT):
        enemy_turn(s, rng)


@njit
def step_of(place, glitch, s, occupied):
    """The place an enemy goes to; its own where it stays."""
    passable = layout.BOARD if glitch else layout.BOARD & ~s[layout.BLOCKS]
    free = passable & ~occupied
    here = np.int64(1) << place
    player = np.int64(1) << s[layout.PLAYER]
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
        while reached and not reached & goal:  # rule 2: as if no enemy were there
            wider = reached | (beside(reached) & passable)
            if wider == reached:
                break
            reached = wider
        wanted = reached & goal
        for direction in range(4):
            new = place + layout.STEPS[direction]
            if 0 <= new < layout.PLACES and (wanted >> new) & 1:
                found = (np.int64(1) << new) & free
                break
    if found:
        for direction in range(4):
            new = place + layout.STEPS[direction]
            if 0 <= new < layout.PLACES and (found >> new) & 1:
                return new
    best, nearest = place, 99
    for direction in range(4):  # rule 3: as the crow flies
        new = place + layout.STEPS[direction]
        if 0 <= new < layout.PLACES and (near & free & (np.int64(1) << new)):
            far = abs(new // layout.STRIDE - s[layout.PLAYER] // layout.STRIDE) + abs(
                new % layout.STRIDE - s[layout.PLAYER] % layout.STRIDE
            )
            if far < nearest:
                best, nearest = new, far
    return best


@njit
def enemy_turn(s, rng):
    if s[layout.SKIP]:
        s[layout.SKIP] = 0
        return
    s[layout.CLOCK] -= 1
    s[layout.TURNS] += 1
    count = s[layout.COUNT]
    order = np.empty(layout.MOST_FOES, np.int64)
    acting, viruses = 0, 0
    occupied = np.int64(0)
    for slot in range(layout.FOE, layout.FOE + count):
        word = s[slot]
        occupied |= np.int64(1) << (word & layout.PLACE_BITS)
        turns = (word >> layout.TURNS_SHIFT) & layout.TURNS_BITS
        if turns > 1:
            s[slot] = word - (1 << layout.TURNS_SHIFT)
        elif turns == 1:
            kind = (word >> layout.TYPE_SHIFT) & layout.TYPE_BITS
            if kind == layout.UNKNOWN:
                kind = below(rng, 4)
            s[slot] = make_foe(word & layout.PLACE_BITS, kind, _ENEMY_HP[kind], 0)
        elif not word & _STUNNED:
            order[acting] = slot
            acting += 1
            viruses += (word >> layout.TYPE_SHIFT) & layout.TYPE_BITS == spec.VIRUS
    for turn_round in range(2 if viruses else 1):
        if turn_round:  # only viruses that have not attacked
            kept = 0
            for index in range(acting):
                if order[index] >= 0 and (s[order[index]] >> layout.TYPE_SHIFT) & layout.TYPE_BITS == spec.VIRUS:
                    order[kept] = order[index]
                    kept += 1
            acting = kept
        for index in range(acting):
            other = index + below(rng, acting - index)
            slot = order[other]
            order[other] = order[index]
            order[index] = slot
            word = s[slot]
            place = word & layout.PLACE_BITS
            away = abs(place // layout.STRIDE - s[layout.PLAYER] // layout.STRIDE) + abs(
                place % layout.STRIDE - s[layout.PLAYER] % layout.STRIDE
            )
            if away == 1:
                s[layout.HP] = max(s[layout.HP] - 1, 0)
                order[index] = -1
                continue
            here = np.int64(1) << place
            kind = (word >> layout.TYPE_SHIFT) & layout.TYPE_BITS
            new = step_of(place, kind == spec.GLITCH, s, occupied)
            if new != place:
                s[slot] = word - place + new
                occupied = (occupied & ~here) | (np.int64(1) << new)
    for slot in range(layout.FOE, layout.FOE + count):
        s[slot] &= ~_STUNNED
    spawns = s[layout.PENDING]
    s[layout.PENDING] = 0
    if s[layout.CLOCK] <= 0 and not s[layout.CALM]:
        spawns += 1
        s[layout.CLOCK] = s[layout.INTERVAL]
    if spawns:
        spawn(s, spawns, rng)


@njit
def line_of_fire(s, stops):
    """The cells the player could shoot at, up to and including the first stop in each direction."""
    seen = np.int64(1) << s[layout.PLAYER]
    for direction in range(4):
        place = s[layout.PLAYER] + layout.STEPS[direction]
        while 0 <= place < layout.PLACES and (layout.BOARD >> place) & 1:
            seen |= np.int64(1) << place
            if (stops >> place) & 1:
                break
            place += layout.STEPS[direction]
    return seen


@njit
def spawn(s, many, rng):
    enemies, transmissions = foes(s)
    hidden = ~line_of_fire(s, enemies | s[layout.BLOCKS])
    empty = layout.BOARD & ~(enemies | transmissions | s[layout.BLOCKS] | (np.int64(1) << s[layout.PLAYER]))
    for _ in range(many):
        choice = empty & hidden
        if not choice:
            choice = empty
        if not choice or s[layout.COUNT] >= layout.MOST_FOES:
            return
        place = pick(choice, rng)
        empty &= ~(np.int64(1) << place)
        s[layout.FOE + s[layout.COUNT]] = make_foe(place, layout.UNKNOWN, 2, 1)
        s[layout.COUNT] += 1
