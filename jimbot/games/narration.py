"""A game in words: events worth counting, moves, and how it ended.

A batch begins the next game in the very step that ends one, so the last table has to be asked for (`final_board`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from jimbot.games.batch_game import BatchGame
    from jimbot.games.entry import GameEntry


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
    """Notices what happens in a batch of games while they are played, for reports."""

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
    """One move of a game in words."""

    chapter: str
    text: str
    effects: tuple[str, ...] = ()


def ended_in_words(entry: GameEntry, game: BatchGame, row: int = 0) -> str:
    """How the game of a row ended; call it right after the step that ended it."""
    stats = dict(zip(game.spec.episode_stats, map(float, game.final_stats[row]), strict=True))
    cut, board = bool(game.truncated[row]), game.final_board(row)
    if entry.ending is not None and board is not None:
        return entry.ending(board, row, stats, cut)
    return plain_ending(entry, stats, cut)


def plain_ending(entry: GameEntry, stats: Mapping[str, float], cut: bool) -> str:
    """For games without words of their own: won or lost, and how far on the game's ladder, or its first statistic."""
    ladder = entry.spec.ladder or next((name for name in stats if name != "won"), "")
    far = f", {ladder.replace('_', ' ')} {stats[ladder]:g}" if ladder in stats else ""
    return f"{beginning(stats, cut)}{far}"


def beginning(stats: Mapping[str, float], cut: bool) -> str:
    if stats.get("won"):
        return "Won"
    return "Cut off by the step limit" if cut else "Lost" if "won" in stats else "Over"
