"""Where a game stands, by keys: for wrapped environments, for requests, and as other programs tell it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jimbot.games.batch_game import BatchGame


@dataclass(frozen=True)
class Figure:
    """One number about where a game stands."""

    read: Callable[[BatchGame, int], Any]
    """(game, row) → its value now."""
    stat: str | None = None
    """The episode statistic that has it when the game is over; None: then nobody knows."""


class Table(NamedTuple):
    """A situation told to somebody who does not read observations."""

    words: str
    parts: dict[str, Any] | None = None
    """By key, where the game knows its parts (`Knowledge.read_state`)."""
    snapshot: Mapping[str, np.ndarray] | None = None
    """Of the one game that stands there."""


class Sight(NamedTuple):
    """What the player of one state sees and may do."""

    observation: np.ndarray  # (D,) float32
    legal_mask: np.ndarray  # (A,) bool
    words: Callable[[int], str | None] | None = None
    """A legal action in the words of the situation."""
    game: BatchGame | None = None
    """A batch of one game that stands there, where reading the state made one; it may stand elsewhere afterwards."""
    table: Table | None = None
    """The situation itself, where whoever reads asked for it."""


@dataclass(frozen=True)
class PlainStates:
    """States as plain values by the game's own keys, for programs that know the game but not our observation of it."""

    write: Callable[[BatchGame, int], dict[str, Any]]
    """(game, row) → its state, ready for JSON."""
    read: Callable[[Mapping[str, Any], Any], Sight]
    """(the same values, the game's options) → what its player sees; a UsageError where they are no state."""
    guessed: tuple[str, ...] = ()
    """Observation fields that the values do not tell and reading has to assume."""
    tell: Callable[[Mapping[str, Any], Any], str] | None = None
    """(the same values, the game's options) → the situation in words, where `read` makes no game that could tell it."""


ReadForeign = Callable[[bytes, Any], Sight]
"""(a state as another program wrote it, the game's options) → what its player sees; a UsageError where it is none."""
