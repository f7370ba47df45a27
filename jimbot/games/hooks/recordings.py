"""Games written down: how one is recorded, read and shown again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from jimbot.games.batch_game import BatchGame


class Moment(NamedTuple):
    """One moment of a recorded game."""

    game: BatchGame
    """A batch of one game that stands there; valid until the next moment is asked for."""
    move: str | None
    """The move that follows, in words; None at the end."""
    effects: tuple[str, ...] = ()
    """What the move before it did."""
    over: bool = False
    """The move before it ended the game, so `game` shows something else."""
    ended: str = ""
    """How the game ended, in words, if it is over."""


class RecordedGame(Protocol):
    """One game written down, as `jimbot replay` shows it. Playing it again checks every move and the end."""

    @property
    def game(self) -> str: ...

    @property
    def count(self) -> int: ...  # moves

    def to_json(self) -> str:
        """The file's text."""
        ...

    def title(self) -> str:
        """Which game this is, in one line."""
        ...

    def lines(self) -> Iterator[str]:
        """Each move and what it did, in words; then how it ended."""
        ...

    def picture(self, step: int) -> Iterator[Any]:
        """The board after so many moves and the move that follows: things rich can print, text without markup."""
        ...

    def moments(self) -> Iterator[Moment]:
        """The game again, before every move and at its end."""
        ...

    def document(self, step: int | None) -> dict[str, Any]:
        """Everything as plain values, or one step only."""
        ...


class Recorder(Protocol):
    """One game on its way into a recording; made at the first move."""

    def note(self, action: int) -> None:
        """The action about to be taken."""
        ...

    def finish(self, total_return: float) -> RecordedGame:
        """The game as far as it was noted."""
        ...


@dataclass(frozen=True)
class RecordingForm:
    """A game's own form of a recording, where a list of actions does not say enough."""

    begin: Callable[[BatchGame], Recorder]
    """A batch of one game at its first move → what writes it down."""
    read: Callable[[str, str], RecordedGame]
    """(the file's text, what a complaint calls it) → the game."""
