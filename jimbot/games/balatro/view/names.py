"""What the things of the game do, and finding them by what people type: the key, the display name, with or without the
usual prefix and capitals.

    j_blueprint, Blueprint, blueprint        bl_hook, The Hook, hook        tag_negative, Negative Tag, negative

One display name can stand for several keys: the four Arcana Packs differ in their picture only.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jimbot.errors import UnknownNameError
from jimbot.games.balatro.rules import content
from jimbot.games.balatro.rules.content import DECKS, STAKES, ContentTable
from jimbot.games.hooks.people import Explanation

_NOT_LETTERS = re.compile(r"[^a-z0-9]+")
_FILLERS = re.compile(r"^the | (tag|deck|stake)$")


def simplified(text: str) -> str:
    """Lower case without spaces and signs.

    >>> simplified("Oops! All 6s"), simplified("riff-raff")
    ('oopsall6s', 'riffraff')
    """
    return _NOT_LETTERS.sub("", text.lower())


@cache
def _spellings(table: ContentTable) -> tuple[dict[str, tuple[int, ...]], ...]:
    """Ids by spelling, the surest spelling first: key, name, name without filler, key without prefix."""
    ways: tuple[dict[str, tuple[int, ...]], ...] = ({}, {}, {}, {})
    for number, (key, name) in enumerate(zip(table.keys, table.names, strict=True), start=table.first):
        bare = key.split("_", 1)[-1]
        for way, text in zip(ways, (key, name, _FILLERS.sub("", name.lower()), bare), strict=True):
            way[simplified(text)] = (*way.get(simplified(text), ()), number)
    return ways


def find_ids(table: ContentTable, text: str, kind: str = "", only: range | None = None) -> tuple[int, ...]:
    """All ids a text stands for: several where a display name is shared.

    `only` narrows the table to a range of ids (the Tarots among the consumables); `kind` is its name in the sentence.

    >>> from jimbot.games.balatro.rules.content import JOKERS
    >>> find_ids(JOKERS, "Blueprint") == find_ids(JOKERS, "j_blueprint")
    True
    """
    bare = _FILLERS.sub("", text.lower())  # "Skip Tag", as the game's files call the Speed Tag
    for wanted in dict.fromkeys((simplified(text), simplified(bare))):
        for way in _spellings(table):
            found = tuple(number for number in way.get(wanted, ()) if only is None or number in only)
            if found:
                return found
    numbers = only or range(table.first, table.size)
    known = {name for number in numbers for name in (table.key(number), table.name(number))}
    raise UnknownNameError(kind or table.kind, text, known)


def find_id(table: ContentTable, text: str) -> int:
    """The one id a text stands for (the first where a name is shared)."""
    return find_ids(table, text)[0]


def find_deck(text: str) -> str:
    """The key of a deck.

    >>> find_deck("Red"), find_deck("b_plasma"), find_deck("GHOST")
    ('b_red', 'b_plasma', 'b_ghost')
    """
    return DECKS.key(find_id(DECKS, text))


def find_stake(text: str | int) -> str:
    """The key of a stake, by key, name or level.

    >>> find_stake("gold"), find_stake(8), find_stake("1")
    ('stake_gold', 'stake_gold', 'stake_white')
    """
    level = str(text)
    if level.isdecimal() and 1 <= int(level) <= len(STAKES):
        return STAKES.key(int(level))
    return STAKES.key(find_id(STAKES, level))


TABLES: dict[str, content.ContentTable] = {
    "joker": content.JOKERS, "consumable": content.CONSUMABLES, "voucher": content.VOUCHERS, "tag": content.TAGS,
    "blind": content.BLINDS, "deck": content.DECKS, "stake": content.STAKES, "pack": content.PACKS,
    "hand": content.HANDS, "enhancement": content.ENHANCEMENTS, "edition": content.EDITIONS, "seal": content.SEALS,
    "challenge": content.CHALLENGES,
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


def _ids(table: content.ContentTable, name: str) -> tuple[int, ...]:
    try:
        return find_ids(table, name)
    except UnknownNameError:
        return ()


def _explained(kind: str, table: content.ContentTable, number: int) -> Explanation:
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
