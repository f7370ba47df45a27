"""Finding content by what people type: its key, its display name, with or without the usual prefix and capitals.

    j_blueprint, Blueprint, blueprint        bl_hook, The Hook, hook        tag_negative, Negative Tag, negative

One display name can stand for several keys: the four Arcana Packs differ in their picture only.
"""

from __future__ import annotations

import re
from functools import cache

from jimbot.errors import UnknownNameError
from jimbot.games.balatro.rules.content import DECKS, STAKES, Table

_NOT_LETTERS = re.compile(r"[^a-z0-9]+")
_FILLERS = re.compile(r"^the | (tag|deck|stake)$")


def simplified(text: str) -> str:
    """Lower case without spaces and signs.

    >>> simplified("Oops! All 6s"), simplified("riff-raff")
    ('oopsall6s', 'riffraff')
    """
    return _NOT_LETTERS.sub("", text.lower())


@cache
def _spellings(table: Table) -> tuple[dict[str, tuple[int, ...]], ...]:
    """Ids by spelling, the surest spelling first: key, name, name without filler, key without prefix."""
    ways: tuple[dict[str, tuple[int, ...]], ...] = ({}, {}, {}, {})
    for number, (key, name) in enumerate(zip(table.keys, table.names, strict=True), start=table.first):
        bare = key.split("_", 1)[-1]
        for way, text in zip(ways, (key, name, _FILLERS.sub("", name.lower()), bare), strict=True):
            way[simplified(text)] = (*way.get(simplified(text), ()), number)
    return ways


def find_ids(table: Table, text: str, kind: str = "", only: range | None = None) -> tuple[int, ...]:
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


def find_id(table: Table, text: str) -> int:
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
