"""What a game tells reports about itself while it is played: events worth counting, and moves in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np


class Event(NamedTuple):
    """Something worth counting that happened in a game."""

    row: int
    topic: str
    """A key of the diary's topics."""
    name: str
    standing: float = float("nan")
    """How far the game had come on the game's ladder, if that is known."""
    success: bool | None = None
    """Whether it went well, where that is the question."""


class Diary(Protocol):
    """Notices what happens in a batch of games while somebody plays them, for reports."""

    topics: Mapping[str, str]
    """Topic → its title, in the order to show them."""

    def begin(self) -> None:
        """All games have just been reset."""
        ...

    def before(self, actions: np.ndarray, live: np.ndarray) -> list[Event]:
        """Called before every step with the actions (N,); rows where `live` is False do not count."""
        ...

    def ended(self, rows: np.ndarray) -> list[Event]:
        """Called after a step that ended the games of these rows."""
        ...


class Line(NamedTuple):
    """One move of a game told in words."""

    chapter: str
    text: str
    effects: tuple[str, ...] = ()
