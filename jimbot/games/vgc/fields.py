"""The observation's table: every field with its columns and scales. The simulator's workers are given this layout when
they start, so no offset is written twice.

Twelve Pokémon are shown as items: rows 0-5 are one's own in the order of the request (0 and 1 are the active slots
once the battle runs, so a switch code names a row), rows 6-11 the opponent's: active slots first, then the others in
the order of its team sheet. Columns are small integers on the wire; here each has the number it is divided by.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from jimbot.games.spec import Field, ObservationSpec
from jimbot.games.vgc.orders import MOVES, SLOTS, TEAM

VOCABULARY_FILE = Path(__file__).resolve().parent / "tables" / "vocabulary.json"


@cache
def vocabulary() -> dict[str, list[str]]:
    """The names behind the ids, by kind."""
    table = json.loads(VOCABULARY_FILE.read_text(encoding="utf-8"))
    return {kind: names for kind, names in table.items() if isinstance(names, list)}


def vocabulary_fingerprint() -> str:
    return hashlib.sha256(VOCABULARY_FILE.read_bytes()).hexdigest()[:16]


SIDE_ROWS, ROWS = TEAM, 2 * TEAM
FOE = SIDE_ROWS
"""The first row of the opponent's Pokémon."""

BOOSTS = ("atk", "def", "spa", "spd", "spe", "accuracy", "evasion")
STATS = ("hp", "atk", "def", "spa", "spd", "spe")
VOLATILES = (
    "substitute", "confusion", "leechseed", "taunt", "encore", "disable", "torment", "yawn", "saltcure",
    "partiallytrapped", "trapped", "healblock", "throatchop", "flashfire", "charge", "focusenergy", "magnetrise",
    "smackdown", "mustrecharge", "twoturnmove", "commanding", "commanded", "quarkdrive", "protosynthesis", "attract",
    "curse", "imprison", "tarshot", "glaiverush", "aquaring", "ingrain", "syrupbomb", "destinybond", "roost",
)  # fmt: skip
"""Lasting effects everybody at the table sees; nothing outside this list is ever shown."""

Columns = dict[str, float]
"""Column name → the number its integer is divided by."""


def _flags(*names: str) -> Columns:
    return dict.fromkeys(names, 1.0)


def _scaled(scale: float, *names: str) -> Columns:
    return dict.fromkeys(names, scale)


COLUMNS: dict[str, Columns] = {
    "phase": _flags("preview", "turn", "force_switch", "waiting"),
    "pokemon": {
        **_flags("present", "own", "active_a", "active_b", "fainted", "revealed", "terastallized", "item_lost"),
        **_scaled(1000.0, "hp"),
        **_scaled(100.0, "level"),
        **_scaled(200.0, *(f"stat_{stat}" for stat in STATS)),
        **_scaled(6.0, *(f"boost_{stat}" for stat in BOOSTS)),
        **_scaled(3.0, "stall", "sleep_turns", "perish"),
        **_scaled(6.0, "toxic_turns"),
        **_scaled(5.0, "turns_active"),
        **_flags(*VOLATILES),
    },
    "move": {
        **_flags("known", "usable", "used", "last_used"),
        **_scaled(100.0, "power", "accuracy", "effect_chance"),
        **_scaled(5.0, "priority"),
        **_scaled(1000.0, "pp"),
        **_flags("spread", "contact", "sound", "protects", "pivots", "hits_more"),
        **_scaled(100.0, "heals", "drains", "recoils"),
        **_scaled(6.0, "boosts_self", "lowers_target"),
        **_flags("inflicts_status", "redirects", "speed_control", "weather_or_terrain"),
    },
    "slot": _flags("chooses", "forced", "reviving", "trapped", "maybe_trapped", "locked", "gimmick"),
    "side": {
        **_scaled(4.0, "fainted", "statuses"),
        **_flags("gimmick_used"),
        **_scaled(
            5.0, "tailwind", "reflect", "lightscreen", "auroraveil", "safeguard", "mist", "spikes", "toxicspikes",
            "stealthrock", "stickyweb",
        ),
    },
    "field": _scaled(5.0, "weather_turns", "terrain_turns", "trickroom", "gravity", "wonderroom", "magicroom")
    | _scaled(20.0, "turn"),
}  # fmt: skip


def _ids(name: str, shape: tuple[int, ...], kind: str, meaning: str) -> Field:
    return Field(name, shape, meaning, ids=len(vocabulary()[kind]), vocabulary=kind)


def _numbers(name: str, shape: tuple[int, ...], columns: Columns, meaning: str) -> Field:
    return Field(name, (*shape, len(columns)), f"{meaning}: {', '.join(columns)}", columns=tuple(columns))


def _move_fields(number: int) -> tuple[Field, ...]:
    name, meaning = f"move_{number}", f"move {number} of every Pokémon"
    return (
        _ids(f"{name}_id", (ROWS,), "moves", meaning),
        _ids(f"{name}_type", (ROWS,), "types", f"type of {meaning}"),
        _ids(f"{name}_category", (ROWS,), "categories", f"category of {meaning}"),
        _ids(f"{name}_target", (ROWS,), "targets", f"what {meaning} aims at"),
        _numbers(name, (ROWS,), COLUMNS["move"], meaning),
    )


_POKEMON: tuple[Field, ...] = (
    _ids("species", (ROWS,), "species", "species or forme as it is seen"),
    _ids("item", (ROWS,), "items", "item held: 0 not known, 1 known to be none"),
    _ids("ability", (ROWS,), "abilities", "ability, 0 if not known"),
    _ids("type_1", (ROWS,), "types", "first type now"),
    _ids("type_2", (ROWS,), "types", "second type now"),
    _ids("tera_type", (ROWS,), "types", "tera type, 0 if not known"),
    _ids("status", (ROWS,), "statuses", "status condition"),
    _ids("last_move", (ROWS,), "moves", "the move last seen from it since it came in"),
    _numbers("pokemon", (ROWS,), COLUMNS["pokemon"], "state (opponent's stats are guesses from its species)"),
    *(field for number in range(1, MOVES + 1) for field in _move_fields(number)),
)

FIELDS: tuple[Field, ...] = (
    _numbers("phase", (), COLUMNS["phase"], "what is to be decided, one-hot"),
    *(replace(field, items="pokemon") for field in _POKEMON),
    _numbers("slot", (SLOTS,), COLUMNS["slot"], "own active slots"),
    _numbers(
        "side", (2,), COLUMNS["side"], "own and opponent's side; lasting effects in turns since they began, from 1"
    ),
    Field("weather", (1,), "weather", ids=len(vocabulary()["weathers"]), vocabulary="weathers"),
    Field("terrain", (1,), "terrain", ids=len(vocabulary()["terrains"]), vocabulary="terrains"),
    _numbers("field", (), COLUMNS["field"], "whole field; lasting effects in turns since they began, from 1"),
    Field(
        "damage",
        (SLOTS, MOVES, 3),
        "expected damage of own moves to opponent a, opponent b and the partner, share of full HP",
    ),
    Field("threat", (SLOTS, MOVES, 2), "expected damage of the opponents' known moves to own a and own b"),
    Field("matchup", (SIDE_ROWS, SIDE_ROWS), "best expected damage of each own Pokémon to each opponent's, unboosted"),
    Field("matchup_threat", (SIDE_ROWS, SIDE_ROWS), "best expected damage to each own Pokémon by each opponent's"),
    Field("outspeeds", (SLOTS, 2), "1 where an own slot is expected to be faster than an opponent's, -1 slower"),
)
OBSERVATION = ObservationSpec(FIELDS)

_SCALES: dict[str, tuple[float, ...]] = {
    **{name: tuple(columns.values()) for name, columns in COLUMNS.items() if name != "move"},
    **{f"move_{number}": tuple(COLUMNS["move"].values()) for number in range(1, MOVES + 1)},
    "damage": (100.0,),
    "threat": (100.0,),
    "matchup": (100.0,),
    "matchup_threat": (100.0,),
}


def scales() -> np.ndarray:
    """(D,) float32: what every integer of a row is multiplied with to become the observation."""
    found = np.ones(OBSERVATION.size, np.float32)
    for field in FIELDS:
        if field.name in _SCALES:
            scale = np.array(_SCALES[field.name], np.float32)
            found[OBSERVATION.span(field.name)] = 1.0 / np.resize(scale, field.size)
    return found


@cache
def column(field: str, name: str) -> int:
    """The place of a named column in the last axis of a field (`move` for each of the four)."""
    return list(COLUMNS[field]).index(name)


def layout() -> dict[str, object]:
    """What a worker needs to know to fill in a row."""
    return {
        "size": OBSERVATION.size,
        "offsets": OBSERVATION.offsets,
        "columns": {name: list(columns) for name, columns in COLUMNS.items()},
        "volatiles": list(VOLATILES),
    }
