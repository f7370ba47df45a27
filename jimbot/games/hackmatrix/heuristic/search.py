"""The search of the heuristic player: many short games played in the head, the promising beginnings more often.

A plan is a list of cells to visit before the exit (pickups to fetch, cells to siphon from). For every plan there is a
tree of actions; a simulation walks down the tree, then plays on by habit (`habits`) until the stage is left or the
player is dead, and leaves its worth (`worth`) on the way it took. Chance is drawn anew in every simulation.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.heuristic import layout
from jimbot.games.hackmatrix.heuristic.habits import habit, reach
from jimbot.games.hackmatrix.heuristic.kernels import njit
from jimbot.games.hackmatrix.heuristic.rules import act, below, beside, can_run, can_step, is_transmission, lowest
from jimbot.games.hackmatrix.heuristic.settings import MOST_ATTACK, MOST_RESETS, MOST_SIPHONS, MOST_UNITS

ACTIONS = spec.SPEC.actions.size
_FIRST = spec.FIRST_PROGRAM
_ACTIONS_PER_TURN = 3  # at most, over a whole simulation
_UNTRIED = 0.1  # by which an untried action looks worse than the average
_SIPHON_SHARE = 0.3  # of a siphon where none is planned, beside 1 for any other action


@njit
def distances(blocks):
    """(64, 64) steps around blocks; 99 where there is no way."""
    found = np.full((layout.PLACES, layout.PLACES), 99, np.int64)
    open_cells = layout.BOARD & ~blocks
    for place in range(layout.PLACES):
        if (layout.BOARD >> place) & 1:
            reach(place, open_cells, found[place])
    return found


@njit
def priors(s, chosen, legal_at_root, guess, is_root, how, out):
    """Fills `out` with the prior of every action; 0 for what is not possible. At the root a guess counts, too."""
    total = 0.0
    for action in range(ACTIONS):
        out[action] = 0.0
        if is_root and not legal_at_root[action]:
            continue
        if action < 4:
            possible = can_step(s, action)
        elif action == spec.SIPHON:
            possible = s[layout.SIPHONS] > 0
        else:
            possible = can_run(s, action - _FIRST)
        if possible:
            out[action] = _SIPHON_SHARE if action == spec.SIPHON else 1.0
            total += out[action]
    for action in range(ACTIONS):
        out[action] *= (1.0 - how.habit) / max(total, 1e-9)
    if total > 0 and out[chosen] > 0:
        out[chosen] += how.habit
    if is_root and len(guess):
        for action in range(ACTIONS):
            if out[action] > 0:
                out[action] = (1.0 - how.guess) * out[action] + how.guess * guess[action]


@njit
def goal_of(s, plan, stop):
    return plan[stop, 0] if stop < MOST_STOPS and plan[stop, 0] >= 0 else s[layout.EXIT]


@njit
def next_stop(s, plan, stop, action):
    """The stop to go to after an action."""
    while stop < MOST_STOPS and plan[stop, 0] >= 0:
        if plan[stop, 1] == 1:
            done = action == spec.SIPHON and s[layout.PLAYER] == plan[stop, 0]
        else:
            done = not (s[layout.PICKUPS] >> plan[stop, 0]) & 1
        if not done:
            break
        stop += 1
        action = -1
    return stop


@njit
def choose_plan(number, many, visits, total, best_seen, how):
    """The plan of the next simulation (UCB1); every plan is tried once."""
    chosen, best = 0, -1e9
    for plan in range(many):
        mean = total[plan] / visits[plan] / best_seen if visits[plan] else 1.0
        score = mean + how.explore_plans * np.sqrt(np.log(number + 1.0) / (visits[plan] + 1.0))
        if score > best:
            chosen, best = plan, score
    return chosen


@njit
def choose_action(node, wanted, prior, child, visits, total, best_seen, how):
    """The action of a simulation at a node of the tree (PUCT); `wanted` where nothing is possible."""
    chosen, best = wanted, -1e9
    average = total[node] / visits[node] / best_seen if visits[node] else 0.5
    for action in range(ACTIONS):
        if prior[action] <= 0.0:
            continue
        after = child[node, action]
        tried = visits[after] if after >= 0 else 0
        mean = total[after] / tried / best_seen if tried else average - _UNTRIED
        score = mean + how.explore_actions * prior[action] * np.sqrt(visits[node] + 1.0) / (1.0 + tried)
        if score > best:
            chosen, best = action, score
    return chosen


@njit
def search(root, legal, guess, simulations, how, weights, rng, visits_out):
    """Thinks about one position, `guess` (28,) or (0,) in mind; fills `visits_out` (28,) and returns (action, value).

    Values are taken as shares of the best one seen, whatever the stage: exploring needs a scale.
    """
    plans = np.full((MOST_PLANS, MOST_STOPS, 2), -1, np.int64)
    far = distances(root[layout.BLOCKS])
    many = make_plans(root, far, weights, plans)
    nodes = simulations + many + 2
    child = np.full((nodes, ACTIONS), -1, np.int32)
    visits = np.zeros(nodes, np.int64)
    total = np.zeros(nodes)
    used = many  # node i < many: the beginning under plan i
    prior = np.empty(ACTIONS)
    path = np.empty(_ACTIONS_PER_TURN * how.turns + 2, np.int64)
    s = np.empty(layout.SIZE, np.int64)
    best_seen = 1e-6
    for number in range(simulations):
        node, length = choose_plan(number, many, visits, total, best_seen, how), 1
        path[0] = node
        plan = plans[node]
        s[:] = root
        if s[layout.CLOCK] < 0:
            s[layout.CLOCK] = 1 + below(rng, s[layout.INTERVAL])
        stop = next_stop(s, plan, 0, -1)
        inside, actions = True, 0
        while (
            s[layout.OUT] == 0
            and s[layout.HP] > 0
            and s[layout.TURNS] < how.turns
            and actions < _ACTIONS_PER_TURN * how.turns
        ):
            wanted = habit(s, goal_of(s, plan, stop), stop < MOST_STOPS and plan[stop, 1] == 1, far, how.shoots, rng)
            if inside:
                priors(s, wanted, legal, guess, length == 1, how, prior)
                action = choose_action(node, wanted, prior, child, visits, total, best_seen, how)
                if child[node, action] < 0:
                    child[node, action] = used
                    used += 1
                    inside = False
                node = child[node, action]
                path[length] = node
                length += 1
            else:
                action = wanted
            act(s, action, rng)
            actions += 1
            stop = next_stop(s, plan, stop, action)
        value = worth(s, weights)
        best_seen = max(best_seen, value)
        for index in range(length):
            visits[path[index]] += 1
            total[path[index]] += value
    best_plan = 0
    for index in range(many):
        if visits[index] > visits[best_plan]:
            best_plan = index
    action = 0
    for candidate in range(ACTIONS):
        after = child[best_plan, candidate]
        visits_out[candidate] = visits[after] if after >= 0 and legal[candidate] else 0
        if visits_out[candidate] > visits_out[action]:
            action = candidate
    return action, total[best_plan] / max(visits[best_plan], 1)


@njit
def search_all(positions, legal, guesses, seeds, simulations, how, weights, actions, visits, values):
    """Thinks about every position; fills `actions` (N,), `visits` (N, 28) and `values` (N,). No guesses: (0, 0)."""
    rng = np.empty(1, np.uint64)
    for row in range(len(positions)):
        rng[0] = seeds[row]
        options, last = 0, -1
        for action in range(ACTIONS):
            if legal[row, action]:
                options += 1
                last = action
        if options > 1:
            guess = guesses[row] if len(guesses) else guesses.ravel()
            actions[row], values[row] = search(
                positions[row], legal[row], guess, simulations, how, weights, rng, visits[row]
            )  # fmt: skip
        if options == 1 or visits[row, actions[row]] == 0:  # no choice, or only actions it never uses
            actions[row] = last
            visits[row, last] = 1


# --- what could be done in a stage before leaving it ---


MOST_PLANS, MOST_STOPS = 14, 3
_CENTRES = 6  # cells to siphon from that are looked at
_SPAWN_COST, _QUESTION_SPAWN, _UNIT_WORTH, _STEP_COST = 0.12, 4.5, 0.05, 0.04


@njit
def centre_worth(s, place, weights):
    """Roughly what a siphon at a cell is worth, in logits."""
    here = np.int64(1) << place
    cross = (here | beside(here)) & ~s[layout.SIPHONED]
    found = 0.0
    while cross:
        cell = lowest(cross)
        cross &= cross - 1
        word = s[layout.CELL + cell]
        if not (s[layout.BLOCKS] >> cell) & 1:
            found += _UNIT_WORTH * (
                ((word >> layout.CREDITS_SHIFT) & layout.SIX) + ((word >> layout.ENERGY_SHIFT) & layout.SIX)
            )
            continue
        program = (word >> layout.PROGRAM_SHIFT) & layout.SIX
        if program and not (s[layout.OWNED] >> (program - 1)) & 1:
            found += weights.program[program - 1]
        found -= _SPAWN_COST * (
            _QUESTION_SPAWN if (word >> layout.QUESTION_SHIFT) & 1 else (word >> layout.SPAWN_SHIFT) & layout.SIX
        )
    return found


@njit
def make_plans(s, far, weights, plans):
    """Fills (P, stops, (place, siphons there)); returns how many. The first is to leave at once."""
    many = 1
    start, way_out = s[layout.PLAYER], far[s[layout.EXIT]]
    best_places = np.full(_CENTRES, -1, np.int64)
    best_worths = np.full(_CENTRES, -1e9)
    fetch = s[layout.PICKUPS]
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
    if s[layout.SIPHONS] == 0 and nearest < 0:
        return many
    for place in range(layout.PLACES):
        if (
            not (layout.BOARD >> place) & 1
            or (s[layout.BLOCKS] >> place) & 1
            or place == s[layout.EXIT]
            or far[start, place] >= 99
        ):
            continue
        value = centre_worth(s, place, weights)
        if s[layout.SIPHONS]:
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
        if s[layout.SIPHONS] == 0:
            plans[many, 0, 0], plans[many, 0, 1] = nearest, 0
            stop = 1
        plans[many, stop, 0], plans[many, stop, 1] = best_places[slot], 1
        many += 1
    if s[layout.SIPHONS] and nearest >= 0 and best_places[0] >= 0 and many + 1 < MOST_PLANS:
        for order in range(2):
            plans[many, order, 0], plans[many, order, 1] = best_places[0], 1
            plans[many, 1 - order, 0], plans[many, 1 - order, 1] = nearest, 0
            many += 1
    return many


# --- what a position is worth at the end of a simulation ---


_PAYS_CREDITS = sum(1 << number for number, program in enumerate(spec.PROGRAMS) if program.credits)
_PAYS_ENERGY = sum(1 << number for number, program in enumerate(spec.PROGRAMS) if program.energy)
_RESET = spec.RESET - spec.FIRST_PROGRAM
_RESET_ENERGY = spec.PROGRAMS[_RESET].energy


@njit
def worth(s, weights):
    if s[layout.HP] <= 0:
        return 0.0
    if s[layout.OUT] and s[layout.STAGE] == spec.STAGES:
        return 1.0
    owned = s[layout.OWNED]
    credits, energy = min(s[layout.CREDITS], MOST_UNITS), min(s[layout.ENERGY], MOST_UNITS)
    logit = weights.stage[s[layout.STAGE] + s[layout.OUT]] + weights.hp[min(s[layout.HP] + s[layout.OUT], spec.MAX_HP)]
    logit += weights.attack * min(s[layout.ATTACK] - 1, MOST_ATTACK) + weights.siphon * min(
        s[layout.SIPHONS], MOST_SIPHONS
    )
    logit += weights.unit * (credits + energy)
    if owned & _PAYS_CREDITS:
        logit += weights.usable_unit * credits
    if owned & _PAYS_ENERGY:
        logit += weights.usable_unit * energy
    if (owned >> _RESET) & 1:
        logit += weights.healing * min(s[layout.ENERGY] // _RESET_ENERGY, MOST_RESETS)
    for program in range(len(weights.program)):
        if (owned >> program) & 1:
            logit += weights.program[program]
    for slot in range(layout.FOE, layout.FOE + s[layout.COUNT]):
        word = s[slot]
        if is_transmission(word):
            logit -= weights.transmission
        else:
            logit -= weights.foe + weights.foe_hp * ((word >> layout.HP_SHIFT) & layout.HP_BITS)
    chance = 1.0 / (1.0 + np.exp(-logit))
    return chance if s[layout.OUT] else weights.stuck * chance
