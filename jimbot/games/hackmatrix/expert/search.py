"""The search of the scripted player: many short games played in the head, the promising beginnings more often.

A plan is a list of cells to visit before the exit (pickups to fetch, cells to siphon from). For every plan there is a
tree of actions; a try walks down the tree, then plays on by habit (`habits`) until the stage is left or the player is
dead, and leaves its worth (`worth`) on the way it took. Chance is drawn anew in every try.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.expert.habits import habit, reach
from jimbot.games.hackmatrix.expert.kernels import njit
from jimbot.games.hackmatrix.expert.layout import (
    BLOCKS,
    BOARD,
    CLOCK,
    EXIT,
    HP,
    INTERVAL,
    OUT,
    PICKUPS,
    PLACES,
    PLAYER,
    SIPHONS,
    SIZE,
    TURNS,
)  # fmt: skip
from jimbot.games.hackmatrix.expert.plans import MOST_PLANS, MOST_STOPS, make_plans
from jimbot.games.hackmatrix.expert.rules import act, below, can_run, can_step
from jimbot.games.hackmatrix.expert.worth import worth

ACTIONS = spec.SPEC.actions.size
_FIRST = spec.FIRST_PROGRAM
_ACTIONS_PER_TURN = 3  # at most, over a whole try
_UNTRIED = 0.1  # by which an action nobody tried looks worse than the average
_SIPHON_SHARE = 0.3  # of a siphon where none is planned, beside 1 for any other action


@njit
def distances(blocks):
    """(64, 64) steps around blocks; 99 where there is no way."""
    found = np.full((PLACES, PLACES), 99, np.int64)
    open_cells = BOARD & ~blocks
    for place in range(PLACES):
        if (BOARD >> place) & 1:
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
            possible = s[SIPHONS] > 0
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
    return plan[stop, 0] if stop < MOST_STOPS and plan[stop, 0] >= 0 else s[EXIT]


@njit
def next_stop(s, plan, stop, action):
    """The stop to go to after an action."""
    while stop < MOST_STOPS and plan[stop, 0] >= 0:
        if plan[stop, 1] == 1:
            done = action == spec.SIPHON and s[PLAYER] == plan[stop, 0]
        else:
            done = not (s[PICKUPS] >> plan[stop, 0]) & 1
        if not done:
            break
        stop += 1
        action = -1
    return stop


@njit
def choose_plan(number, many, visits, total, best_seen, how):
    """The plan of the next try (UCB1); every plan is tried once."""
    chosen, best = 0, -1e9
    for plan in range(many):
        mean = total[plan] / visits[plan] / best_seen if visits[plan] else 1.0
        score = mean + how.explore_plans * np.sqrt(np.log(number + 1.0) / (visits[plan] + 1.0))
        if score > best:
            chosen, best = plan, score
    return chosen


@njit
def choose_action(node, wanted, prior, child, visits, total, best_seen, how):
    """The action of a try at a node of the tree (PUCT); `wanted` where nothing is possible."""
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
def search(root, legal, guess, tries, how, weights, luck, visits_out):
    """Thinks about one position, `guess` (28,) or (0,) in mind; fills `visits_out` (28,) and returns (action, value).

    Values are taken as shares of the best one seen, whatever the stage: exploring needs a scale.
    """
    plans = np.full((MOST_PLANS, MOST_STOPS, 2), -1, np.int64)
    far = distances(root[BLOCKS])
    many = make_plans(root, far, weights, plans)
    nodes = tries + many + 2
    child = np.full((nodes, ACTIONS), -1, np.int32)
    visits = np.zeros(nodes, np.int64)
    total = np.zeros(nodes)
    used = many  # node i < many: the beginning under plan i
    prior = np.empty(ACTIONS)
    path = np.empty(_ACTIONS_PER_TURN * how.turns + 2, np.int64)
    s = np.empty(SIZE, np.int64)
    best_seen = 1e-6
    for number in range(tries):
        node, length = choose_plan(number, many, visits, total, best_seen, how), 1
        path[0] = node
        plan = plans[node]
        s[:] = root
        if s[CLOCK] < 0:
            s[CLOCK] = 1 + below(luck, s[INTERVAL])
        stop = next_stop(s, plan, 0, -1)
        inside, actions = True, 0
        while s[OUT] == 0 and s[HP] > 0 and s[TURNS] < how.turns and actions < _ACTIONS_PER_TURN * how.turns:
            wanted = habit(s, goal_of(s, plan, stop), stop < MOST_STOPS and plan[stop, 1] == 1, far, how.shoots, luck)
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
            act(s, action, luck)
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
def search_all(positions, legal, guesses, seeds, tries, how, weights, actions, visits, values):
    """Thinks about every position; fills `actions` (N,), `visits` (N, 28) and `values` (N,). No guesses: (0, 0)."""
    luck = np.empty(1, np.uint64)
    for row in range(len(positions)):
        luck[0] = seeds[row]
        options, last = 0, -1
        for action in range(ACTIONS):
            if legal[row, action]:
                options += 1
                last = action
        if options > 1:
            guess = guesses[row] if len(guesses) else guesses.ravel()
            actions[row], values[row] = search(
                positions[row], legal[row], guess, tries, how, weights, luck, visits[row]
            )  # fmt: skip
        if options == 1 or visits[row, actions[row]] == 0:  # no choice, or only actions it never uses
            actions[row] = last
            visits[row, last] = 1
