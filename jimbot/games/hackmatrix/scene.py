"""HackMatrix as a scene (see `jimbot.games.scenes`): the board for the page in the browser, as the player sees it."""

from __future__ import annotations

from typing import Any, cast

from jimbot.games.batch_game import BatchGame
from jimbot.games.functional import FunctionalBatchGame
from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.build import to_dict
from jimbot.games.hackmatrix.render import Facts, block_name, visible_enemies
from jimbot.games.scenes import Cell, Figure, List, Scene, Thing, Tone

ENEMY_TONES: dict[str, Tone] = {"virus": "bad", "daemon": "c", "glitch": "d", "cryptog": "good"}


def scene(game: BatchGame, row: int) -> Scene:
    """The board of a row."""
    facts = to_dict(cast(FunctionalBatchGame, game).row_state(row))
    enemies = visible_enemies(facts)
    cells = [_cell(facts, enemies, row, col) for row in range(spec.SIDE) for col in range(spec.SIDE)]
    return {
        "kind": "board",
        "rows": spec.SIDE,
        "cols": spec.SIDE,
        "cells": cells,
        "figures": _figures(facts),
        "lists": _lists(facts),
    }


def _cell(facts: Facts, enemies: list[Facts], row: int, col: int) -> Cell:
    def here(items: Any) -> list[Facts]:
        return [item for item in items if (item["row"], item["col"]) == (row, col)]

    block = next(iter(here(facts["blocks"])), None)
    things = _people(facts, here(enemies), here(facts["transmissions"]), row, col)
    if block is not None:
        calls = block["spawn_count"] if block["type"] != "question" else 0  # as hidden as what it holds
        label = f"{block_name(block)} ×{calls}" if calls else block_name(block)
        ground = "siphoned" if block["siphoned"] else str(block["type"])
        return {"row": row, "col": col, "ground": ground, "label": label, "things": things}
    if facts["exit_tile"] == (row, col):
        return {"row": row, "col": col, "ground": "exit", "label": "exit", "things": things}
    things += _lying(facts, here(facts["resources"]), row, col)
    return {"row": row, "col": col, "ground": "", "things": things}


def _people(facts: Facts, enemies: list[Facts], coming: list[Facts], row: int, col: int) -> list[Thing]:
    found: list[Thing] = []
    if (facts["player"]["row"], facts["player"]["col"]) == (row, col):
        found.append({"label": "@", "tone": "strong", "title": "you"})
    found += [{"label": f"!{one['turns']}", "tone": "money", "title": f"arrives in {one['turns']}"} for one in coming]
    for enemy in enemies:
        stunned = enemy["stunned"]
        words = f"{enemy['type']} with {enemy['hp']} HP{', stunned' if stunned else ''}"
        label = f"{enemy['type'][0].upper()}{enemy['hp']}{'z' if stunned else ''}"
        found.append({"label": label, "tone": ENEMY_TONES[enemy["type"]], "title": words})
    return found


def _lying(facts: Facts, resources: list[Facts], row: int, col: int) -> list[Thing]:
    found: list[Thing] = []
    if (row, col) in facts["pickups"]:
        found.append({"label": "◆", "tone": "energy", "title": "data siphon"})
    for one in resources:
        if one["credits"]:
            found.append({"label": f"{one['credits']}c", "tone": "money", "title": f"{one['credits']} credits"})
        if one["energy"]:
            found.append({"label": f"{one['energy']}e", "tone": "energy", "title": f"{one['energy']} energy"})
    if (row, col) in facts["siphon_centres"]:
        found.append({"label": "○", "tone": "quiet", "title": "siphoned from here"})
    return found


def _figures(facts: Facts) -> list[Figure]:
    player = facts["player"]
    return [
        {"name": "stage", "value": str(facts["stage"]), "of": str(spec.STAGES)},
        {"name": "HP", "value": str(player["hp"]), "of": str(spec.MAX_HP), "tone": "bad"},
        {"name": "score", "value": str(player["score"]), "tone": "strong"},
        {"name": "credits", "value": str(player["credits"]), "tone": "money"},
        {"name": "energy", "value": str(player["energy"]), "tone": "energy"},
        {"name": "siphons", "value": str(player["data_siphons"])},
        {"name": "attack", "value": str(player["attack_damage"])},
        {"name": "turn", "value": str(facts["turn"]), "tone": "quiet"},
    ]


def _lists(facts: Facts) -> list[List]:
    costs = {
        program.name: (f" {program.credits}c" if program.credits else "")
        + (f" {program.energy}e" if program.energy else "")
        for program in spec.PROGRAMS
    }
    programs = [f"{name}{costs[name]}" for name in facts["owned_programs"]]
    active = [name for name, on in (("SHOW", "show"), ("CALM", "calm"), ("STEP", "step_active")) if facts[on]]
    found: list[List] = [{"title": "Programs", "items": programs}, {"title": "Active", "items": active}]
    return [one for one in found if one["items"]]
