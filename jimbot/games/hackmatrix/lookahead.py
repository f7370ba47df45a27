"""The search of the scripted player: all sequences of a few turns, against enemies that walk as the rules say.

The model leaves out luck: enemies act nearest first, nothing new spawns, and what comes out of a transmission is an
unknown enemy with one step a turn. Enemies step to the free neighbour nearest to the player; the real ones also walk
around each other.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.sight import (
    FAR,
    MANHATTAN,
    NEIGHBOURS,
    NOWHERE,
    RAYS,
    TRANSMISSION_KIND,
    UNKNOWN_KIND,
    Sight,
)


@dataclass(frozen=True)
class Weights:
    """What a position is worth."""

    hp: tuple[float, ...] = (-100.0, 0.0, 12.0, 20.0)
    """By HP, 0 first."""
    enemy: float = 3.0
    """Cost of an enemy alive, whatever its HP."""
    enemy_hp: float = 1.0
    """Cost of each HP of an enemy."""
    transmission: float = 2.5
    """Cost of a transmission (it dies by one shot)."""
    step: float = 0.5
    """Cost of each step to the exit by way of the goal."""
    exit: float = 6.0
    """Completing the stage, where the exit is the goal."""
    turn: float = 0.2
    """Cost of each turn of a plan, so that nothing good is put off for ever."""
    pickup: float = 3.0
    """Picking up a data siphon."""
    arrival: float = 0.5
    """Standing on the goal."""
    threat: float = 3.0
    """Cost of the first enemy that can attack next turn; it can still be shot."""
    more_threats: float = 7.0
    """Cost of each further one: only one can be stunned."""


@dataclass
class _Branches:
    """M positions of the search."""

    row: np.ndarray  # (M,) game
    first: np.ndarray  # (M,) the action it began with
    player: np.ndarray  # (M,) cell
    hp: np.ndarray  # (M,)
    gain: np.ndarray  # (M,) worth collected on the way
    taken: np.ndarray  # (M,) pickups and goals visited, as bits of their cells
    out: np.ndarray  # (M,) bool, through the exit
    cell: np.ndarray  # (M, E) of the opponents
    kind: np.ndarray  # (M, E)
    life: np.ndarray  # (M, E) their HP, 0 for none
    stunned: np.ndarray  # (M, E) bool
    turns: np.ndarray  # (M, E) of transmissions

    def pick(self, index: np.ndarray) -> _Branches:
        return replace(self, **{field.name: getattr(self, field.name)[index] for field in fields(self)})

    def __add__(self, other: _Branches) -> _Branches:
        names = [field.name for field in fields(self)]
        return _Branches(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))


class Search:
    """Values of the root actions of N games."""

    def __init__(self, sight: Sight, goal: np.ndarray, goal_is_exit: np.ndarray, weights: Weights) -> None:
        self.sight, self.goal, self.goal_is_exit, self.weights = sight, goal, goal_is_exit, weights
        count = len(goal)
        # One more column for NOWHERE: it stops shots and nobody walks there.
        self._blocked = np.concatenate([sight.blocks, np.ones((count, 1), bool)], axis=1)
        self._distance = np.full((count, spec.CELLS, spec.CELLS + 1), FAR, np.int64)
        self._distance[:, :, :NOWHERE] = sight.distance
        self._straight = np.full((spec.CELLS, spec.CELLS + 1), FAR, np.int64)
        self._straight[:, :NOWHERE] = MANHATTAN

    def root_values(self, legal: np.ndarray, siphon_gain: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """(N, 11) best value per action up to WAIT and (N, 11) the HP at the end of that plan; −inf if not tried."""
        count = len(legal)
        width = spec.WAIT + 1
        values, hp = np.full((count, width), -np.inf), np.zeros((count, width), np.int64)
        branches = self._first_turn(legal, siphon_gain)
        for _ in range(depth - 1):
            self._record(branches, branches.out | (branches.hp == 0), values, hp)
            branches = branches.pick(np.nonzero(~branches.out & (branches.hp > 0))[0])
            branches = self._enemy_turn(self._shoot_or_move(branches))
        self._record(branches, np.ones(len(branches.row), bool), values, hp)
        return values, hp

    def _record(self, branches: _Branches, which: np.ndarray, values: np.ndarray, hp: np.ndarray) -> None:
        ended = branches.pick(np.nonzero(which)[0])
        worth = self._worth(ended)
        order = np.argsort(worth, kind="stable")  # so that the best is written last
        row, first = ended.row[order], ended.first[order]
        better = worth[order] > values[row, first]
        row, first, order = row[better], first[better], order[better]
        values[row, first] = worth[order]
        hp[row, first] = ended.hp[order]

    def _first_turn(self, legal: np.ndarray, siphon_gain: np.ndarray) -> _Branches:
        count = len(legal)
        cell, kind, life, stunned, turns = self.sight.slots
        number = np.arange(count)
        zero = np.zeros(count, np.int64)
        root = _Branches(
            number, zero, self.sight.player, self.sight.hp, np.zeros(count), zero, zero > 0,
            cell, kind, life, stunned, turns,
        )  # fmt: skip
        branches = self._shoot_or_move(root, legal[:, : spec.SIPHON], is_first=True)
        for action in (spec.SIPHON, spec.WAIT):
            idle = root.pick(np.nonzero(legal[:, action])[0])
            idle.first = np.full(len(idle.row), action)
            idle.gain = idle.gain - self.weights.turn
            if action == spec.SIPHON:
                idle.gain = idle.gain + siphon_gain[idle.row]
                idle.taken = np.int64(1) << idle.player
            branches += idle
        return self._enemy_turn(branches)

    def _possible(self, branches: _Branches) -> np.ndarray:
        """(M, 4) bool: directions with a cell that is free to enter or holds somebody to shoot."""
        beside = NEIGHBOURS[branches.player]
        held = (beside[:, :, None] == branches.cell[:, None, :]).any(-1)
        return (beside != NOWHERE) & (~self._blocked[branches.row[:, None], beside] | held)

    def _shoot_or_move(self, branches: _Branches, legal: Any = True, is_first: bool = False) -> _Branches:
        """Every direction of every branch that is possible, and legal where that is known."""
        parent, direction = np.nonzero(self._possible(branches) & legal)
        after = branches.pick(parent)
        if is_first:
            after.first = direction
        number = np.arange(len(parent))
        slot_at = np.full((len(parent), spec.CELLS + 1), -1, np.int8)
        for slot in reversed(range(after.cell.shape[1])):
            slot_at[number, after.cell[:, slot]] = slot
        slot_at[:, NOWHERE] = -1
        ray = RAYS[after.player, direction]
        stop = (slot_at[number[:, None], ray] >= 0) | self._blocked[after.row[:, None], ray]
        target = slot_at[number, ray[number, stop.argmax(axis=1)]]
        shot = np.nonzero(target >= 0)[0]
        hit = target[shot].astype(np.int64)
        damage = np.where(after.kind[shot, hit] == TRANSMISSION_KIND, FAR, self.sight.attack[after.row[shot]])
        after.life[shot, hit] = np.maximum(after.life[shot, hit] - damage, 0)
        after.stunned[shot, hit] = True
        after.cell = np.where(after.life > 0, after.cell, NOWHERE)
        after.player = np.where(target < 0, ray[:, 0], after.player)
        after.out = (target < 0) & (after.player == self.sight.exit[after.row])
        bit = np.int64(1) << after.player
        found = self.sight.pickups[after.row, after.player] & (after.taken & bit == 0)
        at_goal = (after.player == self.goal[after.row]) & ~self.goal_is_exit[after.row] & (after.taken & bit == 0)
        after.gain = after.gain + self.weights.pickup * found + self.weights.arrival * at_goal - self.weights.turn
        after.taken = np.where(found | at_goal, after.taken | bit, after.taken)
        return after

    def _enemy_turn(self, branches: _Branches) -> _Branches:
        acting = ~branches.out
        alive = branches.life > 0
        waiting = alive & (branches.kind == TRANSMISSION_KIND)
        spawns = waiting & (branches.turns <= 1)
        idle = waiting | branches.stunned | ~alive | ~acting[:, None]
        branches.turns = np.where(waiting, branches.turns - 1, 0)
        branches.kind = np.where(spawns, UNKNOWN_KIND, branches.kind)
        branches.cell = branches.cell.copy()
        attacked = np.zeros(branches.cell.shape, bool)
        for turn_round in range(2):
            for slot in range(branches.cell.shape[1]):
                busy = ~idle[:, slot] & ~attacked[:, slot]
                if turn_round:
                    busy &= branches.kind[:, slot] == spec.VIRUS
                index = np.nonzero(busy)[0]
                if len(index):
                    attacked[index, slot] = self._enemy_acts(branches, index, slot)
        branches.stunned = np.where(acting[:, None], False, branches.stunned)
        return branches

    def _enemy_acts(self, branches: _Branches, index: np.ndarray, slot: int) -> np.ndarray:
        """One enemy of some branches attacks or steps; True where it attacked."""
        player, row = branches.player[index], branches.row[index]
        cell = branches.cell[index, slot]
        attacks = MANHATTAN[player, cell] == 1
        branches.hp[index[attacks]] = np.maximum(branches.hp[index[attacks]] - 1, 0)
        near = NEIGHBOURS[cell]  # (K, 4)
        glitch = (branches.kind[index, slot] == spec.GLITCH)[:, None]
        steps = np.where(
            glitch, self._straight[player[:, None], near], self._distance[row[:, None], player[:, None], near]
        )
        taken = (near[:, :, None] == branches.cell[index][:, None, :]).any(-1) | (near == player[:, None])
        steps = np.where(taken, FAR, steps)
        best = steps.argmin(axis=1)
        number = np.arange(len(index))
        moves = ~attacks & (steps[number, best] < FAR)
        branches.cell[index[moves], slot] = near[number, best][moves]
        return attacks

    def _worth(self, branches: _Branches) -> np.ndarray:
        """(M,) of positions after an enemy turn."""
        weights, row = self.weights, branches.row
        alive = branches.life > 0
        waiting = branches.kind == TRANSMISSION_KIND
        burden = np.where(waiting, weights.transmission, weights.enemy + weights.enemy_hp * branches.life)
        straight = self._straight[branches.player[:, None], branches.cell]
        walk = self._distance[row[:, None], branches.player[:, None], branches.cell]
        near = np.where(branches.kind == spec.GLITCH, straight, walk)
        reach = np.where(branches.kind == spec.VIRUS, 2, 1)
        threats = (alive & ~waiting & (near <= reach)).sum(axis=1)
        after_exit = np.minimum(branches.hp + branches.out, spec.MAX_HP)
        worth = np.asarray(weights.hp)[after_exit] - (burden * alive).sum(axis=1) + branches.gain
        danger = weights.threat * (threats > 0) + weights.more_threats * np.maximum(threats - 1, 0)
        goal, exit_ = self.goal[row], self.sight.exit[row]
        by_goal = self._distance[row, branches.player, goal] + self._distance[row, goal, exit_]
        been_there = (branches.taken >> goal) & 1 == 1
        way = weights.step * np.where(been_there, self._distance[row, branches.player, exit_], by_goal)
        leaving = np.where(self.goal_is_exit[row], weights.exit, 0.0)
        return worth - danger + np.where(branches.out, leaving, -way)
