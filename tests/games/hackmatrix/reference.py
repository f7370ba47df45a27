"""HackMatrix once more, in plain Python, straight from the written rules: what the JAX code is compared with.

Works on the dictionaries of `to_dict`; slow and simple on purpose. Luck comes in as a `Luck` record that gives the
same answers as the words the JAX code was handed. Only stage generation is left out (see `layout_is_acceptable`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cache
from typing import Any

SIDE = 6
EVERY_CELL = [(row, col) for row in range(SIDE) for col in range(SIDE)]
STEPS = [(1, 0), (-1, 0), (0, -1), (0, 1)]  # Up, Down, Left, Right
FULL_HP = {"virus": 2, "daemon": 3, "glitch": 2, "cryptog": 2}
TYPES = ["virus", "daemon", "glitch", "cryptog"]
COSTS = {  # credits, energy
    "PUSH": (0, 2), "PULL": (0, 2), "CRASH": (3, 2), "WARP": (2, 2), "POLY": (1, 1), "WAIT": (0, 1), "DEBUG": (3, 0),
    "ROW": (3, 1), "COL": (3, 1), "UNDO": (1, 0), "STEP": (0, 3), "SIPH+": (5, 0), "EXCH": (4, 0), "SHOW": (2, 0),
    "RESET": (0, 4), "CALM": (2, 4), "D_BOM": (3, 0), "DELAY": (1, 2), "ANTI-V": (3, 0), "SCORE": (0, 5),
    "REDUC": (2, 1), "ATK+": (4, 4), "HACK": (2, 2),
}  # fmt: skip
PROGRAMS = list(COSTS)
STAGE_REWARDS = [1, 2, 4, 8, 16, 32, 64, 100]


@dataclass
class Luck:
    """The draws of one step: a number per slot for each round, a word per spawn, a word for WARP."""

    order: list[int]
    spawn: list[int]
    pick: int


def choose(word: int, size: int) -> int:
    """A number below `size` from the high 24 bits of a word."""
    return ((word >> 8) * size) >> 24


def copied(value: Any) -> Any:
    """A copy of nested dicts, lists and sets of plain values."""
    if isinstance(value, dict):
        return {name: copied(item) for name, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return set(value) if isinstance(value, set) else value


def place(thing: dict) -> tuple[int, int]:
    return thing["row"], thing["col"]


def on_board(cell: tuple[int, int]) -> bool:
    return 0 <= cell[0] < SIDE and 0 <= cell[1] < SIDE


@cache
def neighbours(cell: tuple[int, int]) -> list[tuple[int, int]]:
    """In the order Up, Down, Left, Right; only cells on the board."""
    return [there for step in STEPS if on_board(there := (cell[0] + step[0], cell[1] + step[1]))]


def manhattan(a: tuple[int, int], b: tuple[int, int]) -> int:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


@cache
def surrounding(cell: tuple[int, int]) -> list[tuple[int, int]]:
    return [
        there for there in EVERY_CELL if there != cell and max(abs(there[0] - cell[0]), abs(there[1] - cell[1])) == 1
    ]


def distances(source: tuple[int, int], passable) -> dict[tuple[int, int], int]:
    """Breadth-first distances from a source; empty if the source is not passable."""
    if not passable(source):
        return {}
    found = {source: 0}
    queue = deque([source])
    while queue:
        cell = queue.popleft()
        for there in neighbours(cell):
            if there not in found and passable(there):
                found[there] = found[cell] + 1
                queue.append(there)
    return found


def layout_is_acceptable(blocks: set[tuple[int, int]], exit_cell: tuple[int, int]) -> bool:
    """Stage acceptance: open cells connected (never through the exit, unless it is the start), no walled-in block."""
    seen, queue = {(0, 0)}, deque([(0, 0)])
    while queue:
        cell = queue.popleft()
        if cell == exit_cell and cell != (0, 0):
            continue
        for there in neighbours(cell):
            if there not in seen and there not in blocks:
                seen.add(there)
                queue.append(there)
    connected = all(cell in seen for cell in EVERY_CELL if cell not in blocks)
    return connected and all(any(there not in blocks for there in neighbours(block)) for block in blocks)


class Reference:
    """One game, mutable. `slots` gives every enemy and transmission the slot number its luck belongs to."""

    def __init__(
        self, facts: dict, enemy_slots: list[int], transmission_slots: list[int], training: bool, history: list
    ) -> None:
        self.facts = copied(facts)
        self.training = training
        self.history = history  # shared with the caller, who keeps it from step to step
        for thing, slot in zip(self.facts["enemies"], enemy_slots, strict=True):
            thing["slot"] = slot
        for thing, slot in zip(self.facts["transmissions"], transmission_slots, strict=True):
            thing["slot"] = slot
        self.player = self.facts["player"]
        self.blocks = {place(block): block for block in self.facts["blocks"]}
        self.credits = {place(item): item["credits"] for item in self.facts["resources"] if item["credits"]}
        self.energy = {place(item): item["energy"] for item in self.facts["resources"] if item["energy"]}
        self.siphoned = {tuple(cell) for cell in self.facts["siphoned"]}
        self.centres = {tuple(cell) for cell in self.facts["siphon_centres"]}
        self.pickups = {tuple(cell) for cell in self.facts["pickups"]}

    # The mask

    def legal(self, action: int) -> bool:
        here = place(self.player)
        if action < 4:
            there = (here[0] + STEPS[action][0], here[1] + STEPS[action][1])
            return on_board(there) and (there not in self.blocks or bool(self.enemies_at(there)))
        if action == 4:
            return self.player["data_siphons"] >= 1
        name = PROGRAMS[action - 5]
        credits, energy = COSTS[name]
        affordable = self.player["credits"] >= credits and self.player["energy"] >= energy
        return name in self.facts["owned_programs"] and affordable and self.needs_met(name)

    def needs_met(self, name: str) -> bool:
        here = place(self.player)
        enemies, transmissions = self.facts["enemies"], self.facts["transmissions"]
        near = surrounding(here)
        needs = {
            "PUSH": bool(enemies),
            "PULL": bool(enemies),
            "CRASH": any(place(thing) in near for thing in [*enemies, *transmissions, *self.blocks.values()]),
            "WARP": bool(enemies or transmissions),
            "POLY": bool(enemies),
            "DEBUG": any(place(enemy) in self.blocks for enemy in enemies),
            "ROW": any(enemy["row"] == here[0] for enemy in enemies),
            "COL": any(enemy["col"] == here[1] for enemy in enemies),
            "UNDO": self.facts["history_size"] > 0,
            "SHOW": not self.facts["show"],
            "RESET": self.player["hp"] < 3,
            "CALM": not self.facts["calm"],
            "D_BOM": any(enemy["type"] == "daemon" for enemy in enemies),
            "DELAY": bool(transmissions),
            "ANTI-V": any(enemy["type"] == "virus" for enemy in enemies),
            "SCORE": self.facts["stage"] < 8,
            "REDUC": any(not block["siphoned"] and block["spawn_count"] > 0 for block in self.blocks.values()),
            "ATK+": self.facts["attack_uses"] < 2,
            "HACK": bool(self.siphoned),
        }
        return needs.get(name, True)

    # One step

    def step(self, action: int, luck: Luck) -> dict[str, float]:
        """Plays a legal action; returns the reward terms. A completed stage is only flagged, its board not made."""
        before = copied(self.player)
        old_distance = self.exit_distance()
        self.kills = 0
        self.completed = False
        picked_up, missed = False, 0
        if action < 4:
            picked_up = self.direct(action)
        elif action == 4:
            missed = sum(self.missed())
            self.siphon()
        else:
            self.run_program(PROGRAMS[action - 5], luck)
        stage = self.facts["stage"]
        if self.completed:
            self.player["hp"] = min(3, self.player["hp"] + 1)
        elif action <= 4 or PROGRAMS[action - 5] == "WAIT":
            self.enemy_turn(luck)
        died = self.player["hp"] == 0
        won = self.completed and stage == 8
        purse = self.player["credits"] + self.player["energy"]
        rewards: dict[str, float] = dict.fromkeys(
            ("step_penalty", "victory", "stage_completion", "resource_holding", "death_penalty"), 0.0
        )
        rewards["step_penalty"] = -0.01 if self.training else 0.0
        rewards["score_gain"] = 0.5 * (self.player["score"] - before["score"])
        rewards["kills"] = 0.3 * self.kills
        rewards["data_siphon"] = 1.0 * picked_up
        rewards["resource_gain"] = 0.05 * (purse - before["credits"] - before["energy"])
        rewards["damage_penalty"] = -1.0 * max(0, before["hp"] - self.player["hp"])
        rewards["hp_recovery"] = 1.0 * max(0, self.player["hp"] - before["hp"])
        rewards["siphon_quality"] = (-1 if self.training else 1) * 0.5 * 0.05 * missed
        rewards["program_waste"] = -0.3 if action == 5 + PROGRAMS.index("RESET") and before["hp"] == 2 else 0.0
        new_distance = 0 if self.completed else self.exit_distance()
        closer = old_distance - new_distance
        rewards["distance_shaping"] = 0.0 if died else 0.05 * (max(0, closer) if self.training else closer)
        if self.completed:
            rewards["stage_completion"] = STAGE_REWARDS[stage - 1] if stage < 8 or self.training else 64.0
            rewards["resource_holding"] = 0.01 * purse
        if won:
            rewards["victory"] = 500.0 + 100.0 * self.player["score"]
        siphon_enemy_near = any(
            enemy["from_siphon"] and manhattan(place(enemy), place(self.player)) == 1 for enemy in self.facts["enemies"]
        )
        if died:
            rewards["death_penalty"] = -0.5 * sum(STAGE_REWARDS[: stage - 1])
        rewards["siphon_death_penalty"] = -10.0 if died and siphon_enemy_near else 0.0
        return rewards

    def exit_distance(self) -> int:
        here, goal = place(self.player), tuple(self.facts["exit"])
        found = distances(here, lambda cell: cell == here or cell not in self.blocks)
        return found.get(goal, 0)

    def enemies_at(self, cell: tuple[int, int]) -> list[dict]:
        return [enemy for enemy in self.facts["enemies"] if place(enemy) == cell]

    def transmissions_at(self, cell: tuple[int, int]) -> list[dict]:
        return [thing for thing in self.facts["transmissions"] if place(thing) == cell]

    def hit(self, enemy: dict, damage: int) -> None:
        enemy["hp"] -= damage
        if enemy["hp"] <= 0:
            self.facts["enemies"] = [other for other in self.facts["enemies"] if other is not enemy]
            self.kills += not enemy["scheduled"]
        else:
            enemy["stunned"] = True

    def remove_transmission(self, thing: dict) -> None:
        self.facts["transmissions"] = [other for other in self.facts["transmissions"] if other is not thing]
        self.kills += not thing["scheduled"]

    def direct(self, action: int) -> bool:
        """Shoot, else walk; tells whether a pickup was collected."""
        row, col = place(self.player)
        cell = (row + STEPS[action][0], col + STEPS[action][1])
        first = cell
        while on_board(cell):
            if self.transmissions_at(cell):
                self.remove_transmission(self.transmissions_at(cell)[0])
                return False
            if self.enemies_at(cell):
                self.hit(self.enemies_at(cell)[0], self.player["attack_damage"])
                return False
            if cell in self.blocks:
                break
            cell = (cell[0] + STEPS[action][0], cell[1] + STEPS[action][1])
        self.player["row"], self.player["col"] = first
        if first == self.facts["exit_tile"]:
            self.completed = True
        if first in self.pickups:
            self.pickups.discard(first)
            self.player["data_siphons"] += 1
            return True
        return False

    # Siphon

    def siphon(self) -> None:
        here = place(self.player)
        self.centres.add(here)
        for cell in [here, *neighbours(here)]:
            if cell in self.siphoned:
                continue
            if cell in self.blocks:
                block = self.blocks[cell]
                if "points" in block:
                    self.player["score"] += block["points"]
                    block["type"] = "data"
                else:
                    block["type"] = "program"
                    if block["program"] not in self.facts["owned_programs"]:
                        self.facts["owned_programs"].append(block["program"])
                self.facts["pending_spawns"] += block["spawn_count"]
                block["spawn_count"] = 0
                block["siphoned"] = True
            else:
                self.player["credits"] += self.credits.pop(cell, 0)
                self.player["energy"] += self.energy.pop(cell, 0)
            self.siphoned.add(cell)
        self.player["data_siphons"] -= 1
        self.facts["interval"] = max(4, self.facts["interval"] - 1)
        self.facts["next_turn"] += 5

    def yield_of(self, centre: tuple[int, int]) -> tuple[int, int, list[int], set[str]]:
        if centre in self.blocks:
            return 0, 0, [], set()
        cross = [cell for cell in [centre, *neighbours(centre)] if cell not in self.siphoned]
        blocks = [self.blocks[cell] for cell in cross if cell in self.blocks]
        loose = [cell for cell in cross if cell not in self.blocks]
        return (
            sum(self.credits.get(cell, 0) for cell in loose),
            sum(self.energy.get(cell, 0) for cell in loose),
            sorted(block["points"] for block in blocks if "points" in block),
            {block["program"] for block in blocks if "program" in block} - set(self.facts["owned_programs"]),
        )

    def missed(self) -> tuple[int, int]:
        """Credits and energy that the better candidate centres would have given beyond the player's own."""
        here = place(self.player)
        credits, energy, points, programs = self.yield_of(here)
        candidates = [cell for cell in EVERY_CELL if cell not in self.blocks]
        if points or programs:
            required = {cell for cell in [here, *neighbours(here)] if cell in self.blocks and cell not in self.siphoned}
            candidates = [cell for cell in candidates if required <= {cell, *neighbours(cell)}]
        most_credits, most_energy = credits, energy
        for cell in candidates:
            other = self.yield_of(cell)
            same = other[2] == points and other[3] == programs
            if same and other[0] >= credits and other[1] >= energy and (other[0] > credits or other[1] > energy):
                most_credits, most_energy = max(most_credits, other[0]), max(most_energy, other[1])
        return most_credits - credits, most_energy - energy

    # Programs

    def run_program(self, name: str, luck: Luck) -> None:
        if name == "UNDO":
            self.restore(self.history.pop())
            return
        credits, energy = COSTS[name]
        self.player["credits"] -= credits
        self.player["energy"] -= energy
        here = place(self.player)
        enemies = list(self.facts["enemies"])
        attack = self.player["attack_damage"]
        if name in ("PUSH", "PULL"):
            self.shove(name)
        elif name == "CRASH":
            for cell in surrounding(here):
                self.blocks.pop(cell, None)
                self.clear_enemies(cell)
                for thing in self.transmissions_at(cell):
                    self.remove_transmission(thing)
        elif name == "WARP":
            targets = [*enemies, *self.facts["transmissions"]]
            target = targets[choose(luck.pick, len(targets))]
            if target in enemies and any(target is enemy for enemy in enemies):
                self.clear_enemies(place(target))
            else:
                self.remove_transmission(target)
            self.player["row"], self.player["col"] = place(target)
            self.completed = place(target) == tuple(self.facts["exit"])
        elif name == "POLY":
            for enemy in enemies:
                damage = FULL_HP[enemy["type"]] - enemy["hp"]
                number = (TYPES.index(enemy["type"]) + 1 + choose(luck.order[enemy["slot"]], 3)) % 4
                enemy["type"] = TYPES[number]
                enemy["hp"] = FULL_HP[enemy["type"]] - damage
                if enemy["hp"] <= 0:
                    self.hit(enemy, 0)
        elif name == "D_BOM":
            daemon = min(
                (enemy for enemy in enemies if enemy["type"] == "daemon"),
                key=lambda enemy: manhattan(place(enemy), here),
            )
            self.hit(daemon, daemon["hp"])
            for enemy in enemies:
                if place(enemy) in surrounding(place(daemon)):
                    self.hit(enemy, 1)
        elif name in ("DEBUG", "ROW", "COL", "HACK", "ANTI-V"):
            for enemy in enemies:
                struck = {
                    "DEBUG": place(enemy) in self.blocks,
                    "ROW": enemy["row"] == here[0],
                    "COL": enemy["col"] == here[1],
                    "HACK": place(enemy) in self.siphoned,
                    "ANTI-V": enemy["type"] == "virus",
                }[name]
                if struck:
                    self.hit(enemy, 1 if name == "ANTI-V" else attack)
        elif name == "STEP":
            self.facts["step_active"] = True
        elif name == "SIPH+":
            self.player["data_siphons"] += 1
        elif name == "EXCH":
            self.player["energy"] += 4
        elif name == "SHOW":
            self.facts["show"] = True
        elif name == "RESET":
            self.player["hp"] = 3
        elif name == "CALM":
            self.facts["calm"] = True
        elif name == "DELAY":
            for thing in self.facts["transmissions"]:
                thing["turns"] += 3
        elif name == "SCORE":
            self.player["score"] += 8 - self.facts["stage"]
        elif name == "REDUC":
            for block in self.blocks.values():
                if not block["siphoned"]:
                    block["spawn_count"] = max(0, block["spawn_count"] - 1)
        elif name == "ATK+":
            self.player["attack_damage"] += 1
            self.facts["attack_uses"] += 1

    def clear_enemies(self, cell: tuple[int, int]) -> None:
        """Removes all enemies of a cell; one kill at most, by the first in the list."""
        there = self.enemies_at(cell)
        if there:
            self.kills += not there[0]["scheduled"]
            self.facts["enemies"] = [enemy for enemy in self.facts["enemies"] if place(enemy) != cell]

    def shove(self, name: str) -> None:
        row, col = place(self.player)
        reserved = set()
        for enemy in self.facts["enemies"]:
            rows, cols = enemy["row"] - row, enemy["col"] - col
            step = ((rows > 0) - (rows < 0), (cols > 0) - (cols < 0))
            if name == "PULL":
                step = (-step[0], -step[1])
                if abs(rows) + abs(cols) == 1:
                    continue
                if abs(rows) == 1 and abs(cols) == 1:
                    step = (step[0], 0)
            wanted = (min(5, max(0, enemy["row"] + step[0])), min(5, max(0, enemy["col"] + step[1])))
            if wanted != place(enemy) and wanted not in reserved:
                reserved.add(wanted)
                enemy["row"], enemy["col"] = wanted

    # Enemy turn

    def enemy_turn(self, luck: Luck) -> None:
        facts = self.facts
        if facts["step_active"]:
            facts["step_active"] = False
            return
        facts["turn"] += 1
        fresh = self.tick()
        attacked: set[int] = set()
        rounds = 2 if any(enemy["type"] == "virus" for enemy in facts["enemies"]) else 1
        for number in range(rounds):
            half = [(word >> 16) if number == 0 else (word & 0xFFFF) for word in luck.order]
            for enemy in sorted(facts["enemies"], key=lambda enemy: (half[enemy["slot"]], enemy["slot"])):
                idle = enemy["stunned"] or id(enemy) in fresh or id(enemy) in attacked
                if idle or (number == 1 and enemy["type"] != "virus"):
                    continue
                if manhattan(place(enemy), place(self.player)) == 1:
                    self.player["hp"] = max(0, self.player["hp"] - 1)
                    attacked.add(id(enemy))
                else:
                    self.move(enemy)
        words = list(luck.spawn)
        if not facts["calm"] and facts["turn"] >= facts["next_turn"]:
            self.spawn(words.pop(0), scheduled=True)
            facts["next_turn"] = facts["turn"] + facts["interval"]
        while facts["pending_spawns"] and words:
            self.spawn(words.pop(0), from_siphon=True)
            facts["pending_spawns"] -= 1
        facts["pending_spawns"] = 0
        for enemy in facts["enemies"]:
            enemy["stunned"] = False
        self.history.append(self.snapshot())
        del self.history[: -4 if self.training else -8]

    def snapshot(self) -> dict:
        names = (
            "player",
            "turn",
            "owned_programs",
            "enemies",
            "transmissions",
            "show",
            "calm",
            "attack_uses",
            "exit_tile",
        )
        kept = {name: self.facts[name] for name in names}
        cells = ("blocks", "credits", "energy", "siphoned", "centres", "pickups")
        return copied({"facts": kept, "cells": {name: getattr(self, name) for name in cells}})

    def restore(self, snapshot: dict) -> None:
        self.facts.update(snapshot["facts"])
        self.player = self.facts["player"]
        for thing in [*self.facts["enemies"], *self.facts["transmissions"]]:
            thing["scheduled"] = thing["from_siphon"] = False
        for name, value in snapshot["cells"].items():
            setattr(self, name, value)

    def tick(self) -> set[int]:
        """Transmissions due become enemies; returns their identities. Slots follow the list where order demands it."""
        facts = self.facts
        due = [thing for thing in facts["transmissions"] if thing["turns"] <= 1]
        for thing in facts["transmissions"]:
            thing["turns"] -= thing["turns"] > 1
        facts["transmissions"] = [thing for thing in facts["transmissions"] if all(thing is not other for other in due)]
        last_enemy = max((enemy["slot"] for enemy in facts["enemies"]), default=-1)
        born = [
            {
                "type": thing["type"],
                "row": thing["row"],
                "col": thing["col"],
                "hp": FULL_HP[thing["type"]],
                "stunned": False,
                "scheduled": thing["scheduled"],
                "from_siphon": thing["from_siphon"],
                "slot": thing["slot"],
            }
            for thing in due
        ]
        if any(thing["slot"] < last_enemy for thing in due):
            staying = sorted([*facts["enemies"], *facts["transmissions"]], key=lambda thing: thing["slot"])
            for slot, thing in enumerate([*staying, *born]):
                thing["slot"] = slot
        facts["enemies"] += born
        return {id(enemy) for enemy in born}

    def move(self, enemy: dict) -> None:
        here, player = place(enemy), place(self.player)
        occupied = {place(other) for other in self.facts["enemies"] if other is not enemy}
        occupied |= {place(thing) for thing in self.facts["transmissions"]}

        def passable(cell: tuple[int, int]) -> bool:
            return enemy["type"] == "glitch" or cell not in self.blocks

        def free(cell: tuple[int, int]) -> bool:
            return passable(cell) and cell not in occupied

        around = distances(player, lambda cell: free(cell) or (cell == player and passable(cell)))
        ways = [cell for cell in neighbours(here) if free(cell) and cell in around]
        if ways:
            enemy["row"], enemy["col"] = min(ways, key=lambda cell: around[cell])
            return
        through = distances(player, passable)
        ways = [cell for cell in neighbours(here) if passable(cell) and cell in through]
        if ways:
            best = min(ways, key=lambda cell: through[cell])
            if free(best):
                enemy["row"], enemy["col"] = best
                return
        ways = [cell for cell in neighbours(here) if free(cell)]
        if ways:
            enemy["row"], enemy["col"] = min(ways, key=lambda cell: manhattan(cell, player))

    def in_line_of_fire(self, cell: tuple[int, int]) -> bool:
        row, col = place(self.player)
        if cell[0] == row:
            between = [(row, other) for other in range(min(col, cell[1]) + 1, max(col, cell[1]))]
        elif cell[1] == col:
            between = [(other, col) for other in range(min(row, cell[0]) + 1, max(row, cell[0]))]
        else:
            return False
        return not any(other in self.blocks or self.enemies_at(other) for other in between)

    def spawn(self, word: int, scheduled: bool = False, from_siphon: bool = False) -> None:
        taken = {place(thing) for thing in [*self.facts["enemies"], *self.facts["transmissions"]]}
        taken |= {place(self.player), *self.blocks}
        empty = [cell for cell in EVERY_CELL if cell not in taken]
        choice = [cell for cell in empty if not self.in_line_of_fire(cell)] or empty
        if choice:
            row, col = choice[choose(word, len(choice))]
            new = {"row": row, "col": col, "turns": 1, "type": TYPES[word & 3], "scheduled": scheduled}
            self.facts["transmissions"].append({**new, "from_siphon": from_siphon, "slot": -1})

    # Read-out in the form of `to_dict`

    def read(self) -> dict:
        facts = dict(self.facts)
        for name in ("enemies", "transmissions"):
            facts[name] = [{key: value for key, value in thing.items() if key != "slot"} for thing in facts[name]]
        facts["blocks"] = [self.blocks[cell] for cell in sorted(self.blocks)]
        facts["resources"] = [
            {"row": cell[0], "col": cell[1], "credits": self.credits.get(cell, 0), "energy": self.energy.get(cell, 0)}
            for cell in sorted({*self.credits, *self.energy})
        ]
        facts["siphoned"] = sorted(self.siphoned)
        facts["siphon_centres"] = sorted(self.centres)
        facts["pickups"] = sorted(self.pickups)
        facts["owned_programs"] = [name for name in PROGRAMS if name in facts["owned_programs"]]
        facts["history_size"] = len(self.history)
        facts["steps"] += 1
        return facts


def observation(facts: dict) -> list[float]:
    """What the player may know of a situation, in the written order."""
    player = facts["player"]
    here = place(player)
    seen = [
        here[0] / 5, here[1] / 5, player["hp"] / 3, min(player["credits"] / 50, 1), min(player["energy"] / 50, 1),
        (facts["stage"] - 1) / 7, player["data_siphons"] / 10, (player["attack_damage"] - 1) / 2, facts["show"],
        facts["calm"],
    ]  # fmt: skip
    seen += [name in facts["owned_programs"] for name in PROGRAMS]
    blocks = {place(block): block for block in facts["blocks"]}
    resources = {place(item): item for item in facts["resources"]}
    for cell in EVERY_CELL:
        features = [0.0] * 42
        enemy = next((enemy for enemy in facts["enemies"] if place(enemy) == cell), None)
        aligned = cell[0] == here[0] or cell[1] == here[1]
        if enemy and (enemy["type"] != "cryptog" or aligned or facts["show"]):
            features[TYPES.index(enemy["type"])] = 1
            features[4:7] = [enemy["hp"] / 3, enemy["stunned"], enemy["from_siphon"]]
        block = blocks.get(cell)
        if block:
            features[7 + ["data", "program", "question"].index(block["type"])] = 1
            features[11] = block["siphoned"]
            if block["type"] == "data":
                features[10] = block["points"] / 9
            if block["type"] == "program":
                features[12 + PROGRAMS.index(block["program"])] = 1
            if block["type"] != "question":
                features[35] = block["spawn_count"] / 9
        for thing in facts["transmissions"]:
            if place(thing) == cell:
                features[36] = min(thing["turns"] / 4, 1)
        if cell in resources and (not block or block["siphoned"]):
            features[37:39] = [resources[cell]["credits"] / 3, resources[cell]["energy"] / 3]
        features[39] = cell in facts["pickups"]
        features[40] = cell == facts["exit_tile"]
        features[41] = cell in facts["siphon_centres"]
        seen += features
    return [float(value) for value in seen]
