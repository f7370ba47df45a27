"""A situation in words."""

from __future__ import annotations

from jimbot.games.hackmatrix.build import to_dict
from jimbot.games.hackmatrix.spec import ENEMY_HP, ENEMY_NAMES
from jimbot.games.hackmatrix.state import State


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
    enemies = [
        f"{enemy['type']} {enemy['hp']}/{ENEMY_HP[ENEMY_NAMES.index(enemy['type'])]} at {(enemy['row'], enemy['col'])}"
        + (" stunned" if enemy["stunned"] else "")
        for enemy in facts["enemies"]
        if enemy["type"] != "cryptog" or facts["show"] or enemy["row"] == place[0] or enemy["col"] == place[1]
    ]
    if enemies:
        parts.append("Enemies: " + ", ".join(enemies) + ".")
    if facts["transmissions"]:
        arrivals = [f"{(item['row'], item['col'])} in {item['turns']}" for item in facts["transmissions"]]
        parts.append("Transmissions: " + ", ".join(arrivals) + ".")
    return " ".join(parts)
