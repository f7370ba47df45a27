"""HackMatrix as a scene (see `jimbot.games.scenes`) and in words: the board as the player sees it, and no more: no
cryptog out of sight, no content of question blocks, no type of a transmission."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from jimbot.games.batch_game import BatchGame
from jimbot.games.functional import FunctionalBatchGame
from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.build import to_dict
from jimbot.games.hackmatrix.state import State
from jimbot.games.scenes import BoardScene, Cell, List, Scene, Stat, Thing, Tone

Facts = Mapping[str, Any]
ENEMY_TONES: dict[str, Tone] = {"virus": "bad", "daemon": "c", "glitch": "d", "cryptog": "good"}


KEY = (
    "@ you", "◆ data siphon", "!n arrives in n", *(f"{name[0].upper()} {name}" for name in spec.ENEMY_NAMES),
    "z stunned", "▒ block", "×n calls n enemies",
)  # fmt: skip


def scene(game: BatchGame, row: int) -> Scene:
    """The board of a row."""
    return scene_of(cast(FunctionalBatchGame, game).row_state(row))


def scene_of(state: State) -> BoardScene:
    """The board of a state."""
    facts = to_dict(state)
    enemies = visible_enemies(facts)
    cells = [_cell(facts, enemies, row, col) for row in range(spec.SIDE) for col in range(spec.SIDE)]
    return {
        "kind": "board",
        "rows": spec.SIDE,
        "cols": spec.SIDE,
        "cells": cells,
        "stats": _stats(facts),
        "lists": _lists(facts),
    }


def describe(state: State) -> str:
    """One state in a few sentences: what the player sees, cells as (row, col) from the bottom left."""
    facts = to_dict(state)
    player = facts["player"]
    place = (player["row"], player["col"])
    parts = [
        f"Stage {facts['stage']}, turn {facts['turn']}. Player at {place} with {player['hp']} HP, "
        f"{player['credits']} credits, {player['energy']} energy, {player['data_siphons']} data siphons, "
        f"attack {player['attack_damage']}, score {player['score']}. Exit at {facts['exit']}."
    ]
    if facts["owned_programs"]:
        parts.append("Programs: " + ", ".join(facts["owned_programs"]) + ".")
    healthy = dict(zip(spec.ENEMY_NAMES, spec.ENEMY_HP, strict=True))
    enemies = [
        f"{enemy['type']} {enemy['hp']}/{healthy[enemy['type']]} at {(enemy['row'], enemy['col'])}"
        + (" stunned" if enemy["stunned"] else "")
        for enemy in visible_enemies(facts)
    ]
    if enemies:
        parts.append("Enemies: " + ", ".join(enemies) + ".")
    if facts["transmissions"]:
        arrivals = [f"{(item['row'], item['col'])} in {item['turns']}" for item in facts["transmissions"]]
        parts.append("Transmissions: " + ", ".join(arrivals) + ".")
    return " ".join(parts)


def visible_enemies(facts: Facts) -> list[Facts]:
    """The enemies the player sees, in list order: cryptogs only in their row or column, or under SHOW."""
    player = facts["player"]
    hides = spec.ENEMY_NAMES[spec.CRYPTOG]
    if facts["show"]:
        return list(facts["enemies"])
    return [
        enemy
        for enemy in facts["enemies"]
        if enemy["type"] != hides or enemy["row"] == player["row"] or enemy["col"] == player["col"]
    ]


def _block_name(block: Facts) -> str:
    if block["type"] == "question":
        return "?"
    return f"{block['points']}p" if block["type"] == "data" else str(block["program"])


def _cell(facts: Facts, enemies: list[Facts], row: int, col: int) -> Cell:
    def here(items: Any) -> list[Facts]:
        return [item for item in items if (item["row"], item["col"]) == (row, col)]

    block = next(iter(here(facts["blocks"])), None)
    things = _people(facts, here(enemies), here(facts["transmissions"]), row, col)
    if block is not None:
        calls = block["spawn_count"] if block["type"] != "question" else 0  # as hidden as what it holds
        label = f"{_block_name(block)} ×{min(calls, 99)}" if calls else _block_name(block)
        ground = "siphoned" if block["siphoned"] else str(block["type"])
        return {"row": row, "col": col, "ground": ground, "label": label, "things": things}
    if facts["exit_tile"] == (row, col):
        return {"row": row, "col": col, "ground": "exit", "label": "EXIT", "things": things}
    things += _lying(facts, here(facts["resources"]), row, col)
    return {"row": row, "col": col, "ground": "", "things": things}


def _people(facts: Facts, enemies: list[Facts], coming: list[Facts], row: int, col: int) -> list[Thing]:
    found: list[Thing] = []
    if (facts["player"]["row"], facts["player"]["col"]) == (row, col):
        found.append({"label": "@", "tone": "strong", "title": "you"})
    for one in coming:
        turns = one["turns"]
        found.append({"label": f"!{turns if turns <= 9 else '*'}", "tone": "money", "title": f"arrives in {turns}"})
    for enemy in enemies:
        stunned = enemy["stunned"]
        words = f"{enemy['type']} with {enemy['hp']} HP{', stunned' if stunned else ''}"
        label = f"{enemy['type'][0].upper()}{enemy['hp']}{'z' if stunned else ''}"
        found.append({"label": label, "tone": ENEMY_TONES[enemy["type"]], "title": words})
    return found


def _lying(facts: Facts, resources: list[Facts], row: int, col: int) -> list[Thing]:
    found: list[tuple[str, Tone, str]] = []
    if (row, col) in facts["pickups"]:
        found.append(("◆", "energy", "data siphon"))
    for one in resources:
        if one["credits"]:
            found.append((f"{one['credits']}c", "money", f"{one['credits']} credits"))
        if one["energy"]:
            found.append((f"{one['energy']}e", "energy", f"{one['energy']} energy"))
    if (row, col) in facts["siphon_centres"]:
        found.append(("○", "quiet", "siphoned from here"))
    return [{"label": label, "tone": tone, "title": title, "lies": True} for label, tone, title in found]


def _stats(facts: Facts) -> list[Stat]:
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
    purse, payable, dear = facts["player"], [], []
    for program in spec.PROGRAMS:
        if program.name in facts["owned_programs"]:
            cost = (f"{program.credits}c" if program.credits else "") + (f"{program.energy}e" if program.energy else "")
            afforded = purse["credits"] >= program.credits and purse["energy"] >= program.energy
            (payable if afforded else dear).append(f"{program.name} {cost}")
    active = [name for name, on in (("SHOW", "show"), ("CALM", "calm"), ("STEP", "step_active")) if facts[on]]
    found: list[List] = [
        {"title": "active", "items": active},
        {"title": "programs", "items": payable or ([] if dear else ["none"])},
        {"title": "programs too dear now", "items": dear},
        {"title": "key", "items": list(KEY)},
    ]
    return [one for one in found if one["items"]]
