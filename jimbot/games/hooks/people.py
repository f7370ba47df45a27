"""What people need: moves as they type them, what the words of a game mean, its recordings and its seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from jimbot.games.batch_game import BatchGame


class Offer(NamedTuple):
    """Something a person may type now."""

    text: str
    words: str
    zone: str = ""
    """The cards it is done to are named after it: by place in this zone of the scene."""
    group: str = ""
    """One offer of every group makes a move."""


class HumanInterface(Protocol):
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

    def messages(self, ended: bool) -> list[str]:
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

    def opened(self, options: Mapping[str, Any]) -> BatchGame:
        """A batch of one game at its first move, under its own options and `options`, which show more."""
        ...

    def moves(self) -> Iterator[list[int]]:
        """Every move, as the actions that make it."""
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


class LoggedGame(NamedTuple):
    """A game out of another program's log, as far as it could be followed."""

    recorded: RecordedGame
    player: str
    """Who played it, as the log says; empty where it does not."""
    note: str = ""
    """Why it ends where it ends, if the log went on."""


@dataclass(frozen=True)
class RecordingForm:
    """A game's own form of a recording, where a list of actions does not say enough."""

    begin: Callable[[BatchGame], Recorder]
    """A batch of one game at its first move → what writes it down."""
    read: Callable[[str, str], RecordedGame]
    """(the file's text, what a complaint calls it) → the game."""
    logs: Callable[[Path], list[LoggedGame]] | None = None
    """A log that other programs wrote → the games in it."""


@dataclass(frozen=True)
class SeedForm:
    """How the game itself writes its seeds."""

    example: str
    read: Callable[[str], int]
    """A text → the seed that means it here; refuses what is none in a sentence."""
    write: Callable[[int], str]
    """A seed → the game's text of it."""
    option: str = ""
    """The option of the game that gives every game one seed, if there is one."""


@dataclass(frozen=True)
class SeedPages:
    """What a seed holds is known without playing it, and seeds can be searched by it."""

    how: str
    """How a question is written, in a few sentences."""
    preview: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    """(seed as the game writes it, options of its own) → what it holds, ready for JSON."""
    search: Callable[[str, int, Mapping[str, Any]], Iterator[tuple[int, list[str]]]]
    """(question, seeds wanted, options of its own) → (seeds looked at so far, new ones found), again and again."""
    chapters: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    """(seed, options of its own) → the same to be drawn: {"title", "words", "chapters": [{"title", "zones"}]}, zones as
    in `scenes`."""
    choices: Callable[[], Mapping[str, Sequence[str]]]
    """Options of its own that have a list of values, by name."""
    things: Callable[[], Mapping[str, Sequence[str]]]
    """What can be asked for: kind, as a question writes it → names."""
    places: Callable[[str, str, Mapping[str, Any]], list[str]]
    """(question, a seed that answers it, options of its own) → where what was asked for lies, in words."""
