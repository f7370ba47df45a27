"""What the things of the game do, from the tables the rules are made of."""

from __future__ import annotations

from typing import Any

from jimbot.errors import UnknownNameError
from jimbot.games.balatro.rules.content import (
    BLINDS,
    CHALLENGES,
    CONSUMABLES,
    DECKS,
    EDITIONS,
    ENHANCEMENTS,
    HANDS,
    JOKERS,
    PACKS,
    SEALS,
    STAKES,
    TAGS,
    VOUCHERS,
    Table,
)
from jimbot.games.balatro.view.names import find_ids
from jimbot.games.hooks import Explanation

TABLES: dict[str, Table] = {
    "joker": JOKERS, "consumable": CONSUMABLES, "voucher": VOUCHERS, "tag": TAGS, "blind": BLINDS, "deck": DECKS,
    "stake": STAKES, "pack": PACKS, "hand": HANDS, "enhancement": ENHANCEMENTS, "edition": EDITIONS, "seal": SEALS,
    "challenge": CHALLENGES,
}  # fmt: skip
RARITIES = ("", "common", "uncommon", "rare", "legendary")
_TOLD_APART = ("key", "id", "name", "effect", "adds")


def explain(name: str, kind: str) -> list[Explanation]:
    """Everything a name may mean, in one table or in all."""
    if kind and kind not in TABLES:
        raise UnknownNameError("kind of thing", kind, TABLES)
    tables = {kind: TABLES[kind]} if kind else TABLES
    found = [_explained(what, table, number) for what, table in tables.items() for number in _ids(table, name)]
    if not found:
        names = {known for table in tables.values() for known in table.names}
        raise UnknownNameError(kind or "thing of Balatro", name, names)
    return found


def _ids(table: Table, name: str) -> tuple[int, ...]:
    try:
        return find_ids(table, name)
    except UnknownNameError:
        return ()


def _explained(kind: str, table: Table, number: int) -> Explanation:
    key = table.key(number)
    row = table.row(key)
    facts = {name: _fact(name, value) for name, value in row.items() if name not in _TOLD_APART and value is not None}
    return Explanation(
        kind, key, table.name(number), row.get("effect") or row.get("adds") or _numbers(kind, row), facts
    )


def _fact(name: str, value: Any) -> Any:
    return RARITIES[value] if name == "rarity" else value


def _numbers(kind: str, row: dict[str, Any]) -> str:
    """Of things whose numbers say it all."""
    if kind == "pack":
        return f"Choose {row['picks']} of {row['cards']} cards."
    if kind == "hand":
        start = f"{row['base_chips']} chips and {row['base_mult']} Mult at level 1"
        return f"{start}, {row['level_chips']} chips and {row['level_mult']} Mult more with every level."
    return "Its rules are among the facts."
