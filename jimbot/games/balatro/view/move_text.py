"""Moves of the engine as short text and back: `play 1 3 5`, `use 1 on 2 3`, `move_joker 1 to 3`, `sort suit`.

Places count from 1, as on the table. The text of a move is all a recording keeps of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.games.balatro.rules import decisions
from jimbot.games.balatro.rules.state import MAX_HAND

_ALONE = (
    decisions.SELECT,
    decisions.SKIP,
    decisions.REROLL_BOSS,
    decisions.CASH_OUT,
    decisions.REROLL,
    decisions.SKIP_PACK,
    decisions.NEXT,
)
_CARDS = (decisions.PLAY, decisions.DISCARD)
_MOVES = (decisions.MOVE_JOKER, decisions.MOVE_CONSUMABLE, decisions.MOVE_HAND)
_ORDERS = ("rank", "suit")
_NUMBERED = re.compile(r"(\w+)((?: \d+)*)(?: (on|to)((?: \d+)+))?")


class Move(NamedTuple):
    """One engine move."""

    kind: int
    index: int = 0
    targets: int = 0

    @property
    def name(self) -> str:
        return decisions.ACTION_KINDS[self.kind]

    def encoded(self) -> tuple[int, int, np.uint64]:
        """As `decisions.apply` takes it."""
        return self.kind, self.index, np.uint64(self.targets)


def positions(targets: int) -> list[int]:
    """Hand positions of a bit set, from 0."""
    return [place for place in range(MAX_HAND) if int(targets) >> place & 1]


def _numbers(places: list[int]) -> str:
    return " ".join(str(place + 1) for place in places)


def write_move(kind: int, index: int, targets: int) -> str:
    """A move as text.

    >>> write_move(decisions.PLAY, 0, 0b10101), write_move(decisions.USE, 0, 0b110)
    ('play 1 3 5', 'use 1 on 2 3')
    >>> write_move(decisions.MOVE_JOKER, 0, 2)
    'move_joker 1 to 3'
    """
    name, targets = decisions.ACTION_KINDS[kind], int(targets)
    if kind in _ALONE:
        return name
    if kind in _CARDS:
        return f"{name} {_numbers(positions(targets))}".rstrip()
    if kind == decisions.SORT:
        return f"{name} {_ORDERS[index]}"
    if kind in _MOVES:
        return f"{name} {index + 1} to {targets + 1}"
    return f"{name} {index + 1}" + (f" on {_numbers(positions(targets))}" if targets else "")


def read_move(text: str) -> Move:
    """The move a text stands for; it need not be legal.

    >>> read_move("use 1 on 2 3") == Move(decisions.USE, 0, 0b110)
    True
    """
    words = " ".join(text.lower().split())
    name = words.split(" ")[0]
    if name not in decisions.ACTION_KINDS:
        raise UnknownNameError("move", name, decisions.ACTION_KINDS)
    kind = decisions.ACTION_KINDS.index(name)
    if kind == decisions.SORT:
        order = words.removeprefix("sort").strip().removeprefix("by ")
        if order not in _ORDERS:
            raise UsageError(f"'{text}' is no move; expected 'sort rank' or 'sort suit'.")
        return Move(kind, _ORDERS.index(order))
    match = _NUMBERED.fullmatch(words)
    first, second = _places(match, 2), _places(match, 4)
    fits = match is not None and _fits(kind, first, match[3], second)
    if not fits or any(not 0 <= place < MAX_HAND for place in (*first, *second)):
        raise UsageError(f"'{text}' is no move; expected one like {write_move(kind, 0, 0b11)}.")
    if kind in _CARDS:
        return Move(kind, 0, bits(first))
    if kind in _MOVES:
        return Move(kind, first[0], second[0])
    return Move(kind, first[0] if first else 0, bits(second))


def _places(match: re.Match[str] | None, group: int) -> list[int]:
    return [int(part) - 1 for part in ((match[group] if match else "") or "").split()]


def _fits(kind: int, first: list[int], word: str | None, second: list[int]) -> bool:
    if kind in _ALONE:
        return not first and word is None
    if kind in _CARDS:
        return len(first) > 0 and word is None
    if kind in _MOVES:
        return len(first) == 1 and word == "to" and len(second) == 1
    return len(first) == 1 and word in (None, "on")


def bits(places: Sequence[int]) -> int:
    """Hand positions as a bit set."""
    out = 0
    for place in places:
        out |= 1 << place
    return out
