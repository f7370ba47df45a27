"""How calls fail: refusals (four names, each with its code, and a sentence) and the faults of the mod.

A client has to survive the faults; each is a switch of our server, and all are off unless asked for.

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

INTERNAL_ERROR, BAD_REQUEST, INVALID_STATE, NOT_ALLOWED = (
    "INTERNAL_ERROR",
    "BAD_REQUEST",
    "INVALID_STATE",
    "NOT_ALLOWED",
)
CODES = {INTERNAL_ERROR: -32000, BAD_REQUEST: -32001, INVALID_STATE: -32002, NOT_ALLOWED: -32003}


class RefusedError(Exception):
    """A call that is answered with an error; the connection is fine."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name, self.message = name, message


class NeverAnsweredError(Exception):
    """A call that is never answered: the mod waits for something that does not come. What it did has happened."""


def bad(message: str) -> RefusedError:
    return RefusedError(BAD_REQUEST, message)


def not_allowed(message: str) -> RefusedError:
    return RefusedError(NOT_ALLOWED, message)


def wrong_state(message: str) -> RefusedError:
    return RefusedError(INVALID_STATE, message)


def failed(message: str) -> RefusedError:
    return RefusedError(INTERNAL_ERROR, message)


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
