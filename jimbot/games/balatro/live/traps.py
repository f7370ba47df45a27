"""Faults of the mod that a client has to survive, each a switch of our server; all are off unless asked for.

hang=N        every Nth call that changes something is done and never answered
drop=N        the connection of every Nth such call breaks, by turns before and after it was done
stale_id=N    every Nth answer carries the id of the request before
slow_reroll   `reroll` answers before the new cards lie there; so does the next look
slow_deal     `select` answers before all cards are dealt; so does the next look
tag_pack      `skip` onto a tag that opens a pack is never answered, nor is leaving that pack (1.x waits for a shop)
sell          selling an Invisible or an Eternal joker is never answered
clicks        `play` and `discard` of indices that cancel each other are never answered
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from jimbot.errors import UnknownNameError, UsageError


@dataclass(frozen=True)
class Traps:
    """Which faults are on."""

    hang: int = 0
    drop: int = 0
    stale_id: int = 0
    slow_reroll: bool = False
    slow_deal: bool = False
    tag_pack: bool = False
    sell: bool = False
    clicks: bool = False


def read_traps(words: Iterable[str]) -> Traps:
    """Switches as people write them.

    >>> read_traps(["hang=20", "slow-reroll"])
    Traps(hang=20, drop=0, stale_id=0, slow_reroll=True, slow_deal=False, tag_pack=False, sell=False, clicks=False)
    """
    kinds = {field.name: field.type for field in fields(Traps)}
    chosen: dict[str, int | bool] = {}
    for word in words:
        name, given, value = word.partition("=")
        name = name.replace("-", "_")
        if name not in kinds:
            raise UnknownNameError("trap", word, [known.replace("_", "-") for known in kinds])
        if kinds[name] == "bool":
            if given:
                raise UsageError(f"Trap '{word}' takes no number; write '{name.replace('_', '-')}'.")
            chosen[name] = True
        elif not value.isdigit() or int(value) < 1:
            raise UsageError(f"Trap '{word}' wants the number of calls between two, for instance {name}=20.")
        else:
            chosen[name] = int(value)
    return Traps(**chosen)  # ty: ignore[invalid-argument-type]
