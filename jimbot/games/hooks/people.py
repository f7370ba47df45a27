"""What people need: moves as they type them, and what the words of a game mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol


class Offer(NamedTuple):
    """Something a person may type now."""

    text: str
    words: str
    zone: str = ""
    """The cards it is done to are named after it: by place in this zone of the scene."""
    group: str = ""
    """One offer of every group makes a move."""


class Sitting(Protocol):
    """One person at one game whose table of actions is not what people would type."""

    @property
    def how(self) -> str:
        """How moves are typed, in a few sentences."""
        ...

    def choices(self) -> Any:
        """What can be typed now: something rich can print."""
        ...

    def offers(self) -> Iterator[Offer]:
        """The same as plain values, to be clicked."""
        ...

    def actions(self, text: str) -> list[int]:
        """The actions that make the move a text means now; a UsageError in a sentence where it means none."""
        ...

    def told(self, ended: bool) -> list[str]:
        """What happened since this was last asked, the last move included. `ended`: with it the game was over, and the
        batch shows the next one already."""
        ...


class Explanation(NamedTuple):
    """One thing of a game: a card, a program, an enemy."""

    kind: str
    key: str
    """The game's own key."""
    name: str
    effect: str
    facts: dict[str, Any]
    """What else is known of it, by name: price, rarity, …"""


@dataclass(frozen=True)
class Glossary:
    """The things of a game by name."""

    kinds: tuple[str, ...]
    explain: Callable[[str, str], list[Explanation]]
    """(name or key, one of the kinds or nothing) → all it may mean; an UnknownNameError with the nearest where it
    means none."""
