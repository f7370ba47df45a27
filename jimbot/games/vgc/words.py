"""A row in words: what the player sees and what an action would do. Made from the observation's numbers alone, so what
is told is what is known."""

from __future__ import annotations

import numpy as np

from jimbot.games.vgc import fields, orders
from jimbot.games.vgc.fields import COLUMNS, FOE, OBSERVATION, SIDE_ROWS, column, vocabulary

PHASE_WORDS = {
    "preview": "team preview: choose two leads and two behind them",
    "turn": "choose for both slots",
    "force_switch": "send out replacements",
    "waiting": "the other side decides",
}
STATUS_WORDS = {
    "brn": "burned", "par": "paralysed", "slp": "asleep", "frz": "frozen", "psn": "poisoned", "tox": "badly poisoned",
    "fnt": "fainted",
}  # fmt: skip
LASTING = ("tailwind", "reflect", "lightscreen", "auroraveil", "safeguard", "mist", "spikes", "toxicspikes",
           "stealthrock", "stickyweb")  # fmt: skip


class Row:
    """Named access to the whole numbers of one row."""

    def __init__(self, features: np.ndarray) -> None:
        self.features = features

    def field(self, name: str) -> np.ndarray:
        return OBSERVATION.view(self.features, name)

    def named(self, field: str, kind: str, place: int) -> str:
        """The word behind an id; '' where there is none."""
        return vocabulary()[kind][int(self.field(field)[place])]

    def pokemon(self, place: int, name: str) -> int:
        return int(self.field("pokemon")[place, column("pokemon", name)])

    def move(self, place: int, number: int) -> str:
        return self.named(f"move_{number + 1}_id", "moves", place)

    def name(self, place: int) -> str:
        return self.named("species", "species", place)

    @property
    def phase(self) -> str:
        return list(COLUMNS["phase"])[int(self.field("phase").argmax())]

    @property
    def turn(self) -> int:
        return int(self.field("field")[column("field", "turn")])

    def lasting(self, side: int) -> list[str]:
        """What lasts on a side, with the turns it has."""
        values = self.field("side")[side]
        found = [(name, int(values[column("side", name)])) for name in LASTING]
        return [f"{name} {turns}" for name, turns in found if turns]

    def scenery(self) -> list[str]:
        """Weather, terrain and rooms."""
        found = [self.named("weather", "weathers", 0), self.named("terrain", "terrains", 0)]
        values = self.field("field")
        found += [name for name in ("trickroom", "gravity", "wonderroom", "magicroom") if values[column("field", name)]]
        return [name for name in found if name]

    def boosts(self, place: int) -> list[str]:
        values = [(stat, self.pokemon(place, f"boost_{stat}")) for stat in fields.BOOSTS]
        return [f"{stat} {value:+d}" for stat, value in values if value]

    def effects(self, place: int) -> list[str]:
        return [name for name in fields.VOLATILES if self.pokemon(place, name)]


def describe(features: np.ndarray) -> str:
    """The situation of a row in words."""
    row = Row(features)
    lines = [
        f"Turn {row.turn}: {PHASE_WORDS[row.phase]}." + (f" ({', '.join(row.scenery())})" if row.scenery() else "")
    ]
    for side, (title, first) in enumerate((("Own", 0), ("Opponent", FOE))):
        lasting = row.lasting(side)
        lines.append(f"{title} side{' (' + ', '.join(lasting) + ')' if lasting else ''}:")
        lines += [
            f"  {_pokemon(row, place)}" for place in range(first, first + SIDE_ROWS) if row.pokemon(place, "present")
        ]
    return "\n".join(lines)


def _pokemon(row: Row, place: int) -> str:
    where = "a: " if row.pokemon(place, "active_a") else "b: " if row.pokemon(place, "active_b") else ""
    parts = [f"{where}{row.name(place)} {row.pokemon(place, 'hp') / 10:.0f}%"]
    status = row.named("status", "statuses", place)
    parts += [STATUS_WORDS[status]] if status else []
    parts += row.boosts(place) + row.effects(place)
    held = row.named("item", "items", place)
    parts += [held] if held else []
    if row.pokemon(place, "terastallized"):
        parts.append(f"tera {row.named('tera_type', 'types', place)}")
    return ", ".join(parts)


def describe_action(features: np.ndarray, action: int) -> str:
    """An action in words, with the names of moves and Pokémon of this row."""
    row = Row(features)
    if action >= orders.FIRST_PREVIEW:
        a, b, c, d = (row.name(place) for place in orders.PREVIEW_ORDERS[action - orders.FIRST_PREVIEW])
        return f"lead {a} and {b}, then {c} and {d}"
    return "; ".join(_slot(row, slot, code) for slot, code in enumerate(orders.split(action)))


def _slot(row: Row, slot: int, code: int) -> str:
    return f"{row.name(slot) or 'slot ' + 'ab'[slot]}: {order_words(row, code, slot)}"


def order_words(row: Row, code: int, slot: int) -> str:
    """What one slot is told to do."""
    if code == orders.PASS:
        return "pass"
    if code >= orders.FIRST_SWITCH:
        place = code - orders.FIRST_SWITCH
        return f"switch to {row.name(place) or 'place ' + str(place + 1)}"
    move, rest = divmod(code, 10)
    gimmick, at = divmod(rest, len(orders.TARGETS))
    name = row.move(slot, move) or f"move {move + 1}"
    return f"{name}{_target(row, orders.TARGETS[at])}{' and terastallize' if gimmick else ''}"


def _target(row: Row, target: int) -> str:
    if target == 0:
        return ""
    place = FOE + target - 1 if target > 0 else -target - 1
    name = row.name(place)
    side = "" if target > 0 else "own "
    return f" → {side}{name}" if name else f" → {side}{'ab'[abs(target) - 1]}"
