"""What other programs need: states by keys, the protocol of the bought game, installations, servers and replays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from jimbot.games.batch_game import BatchGame


@dataclass(frozen=True)
class InfoMetric:
    """One number about where a game stands."""

    read: Callable[[BatchGame, int], Any]
    """(game, row) → its value now."""
    stat: str | None = None
    """The episode statistic that has it when the game is over; None: then it is unknown."""


class Situation(NamedTuple):
    """A situation in words and parts, for readers (an adviser) that do not read observations."""

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
    table: Situation | None = None
    """The situation itself, where the caller asked for it."""


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


class Silence(Enum):
    """What a client gets instead of an answer."""

    HELD = "held"
    """None ever comes; the connection stays open until the client leaves."""
    BROKEN = "broken"
    """The connection breaks."""


class HostedGame(Protocol):
    """One game behind the protocol that programs drive its bought edition with, without any socket."""

    @property
    def seconds(self) -> float:
        """How long the last call takes the bought game, with its animations."""
        ...

    def answer(self, body: bytes) -> bytes | Silence:
        """A request → its answer."""
        ...

    def complaint(self, message: str) -> bytes:
        """The answer to something that is no request."""
        ...


class HostFiles(Protocol):
    """Where a hosted game's saves and pictures go; what fails is an OSError."""

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, data: bytes) -> None: ...

    def picture(self, drawing: Any) -> bytes:
        """A drawing of rich as PNG."""
        ...


class Standing(Enum):
    """What a state of a live game asks for."""

    IDLE = "no run is going on"
    PASSING = "the game is busy, or in an unknown state; wait and look again"
    ASKING = "a move"
    OVER = "nothing any more, the run is over"


class LiveCall(NamedTuple):
    """One call of the protocol."""

    method: str
    params: dict[str, Any]


class LiveResult(NamedTuple):
    """What a run came to, in the game's own measures."""

    total_return: float
    reward_terms: np.ndarray  # (K,)
    stats: np.ndarray  # (S,)


class LiveRun(Protocol):
    """One run of a live game, followed state by state."""

    @property
    def game(self) -> BatchGame:
        """A batch of one game that stands where the live one stands, with everything hidden dealt anew."""
        ...

    @property
    def assumed(self) -> list[str]:
        """What the states did not tell and had to be assumed, in words; empty where everything is known."""
        ...

    @property
    def happened(self) -> bool | None:
        """Whether the call the last state came after was made; None where that is unknown."""
        ...

    def expects(self, state: Any, after: LiveCall) -> bool:
        """Whether exactly this state must follow that call; what is not expected may be right all the same."""
        ...

    def see(self, state: Any, after: LiveCall | None = None) -> None:
        """The state as it is now, and the call that led to it; a UsageError where it cannot be read."""
        ...

    def playable_mask(self) -> np.ndarray:
        """(A,) bool: the legal actions that the protocol has a call for."""
        ...

    def request(self, action: int) -> LiveCall | None:
        """The call an action makes; None where it only prepares one, which is done here."""
        ...

    def result(self) -> LiveResult | None:
        """What the run came to, as far as it was seen; None where nothing of it could be read."""
        ...


@dataclass(frozen=True)
class LivePlay:
    """What playing a live game needs to know of it."""

    dialect_of: Callable[[Any], str]
    """The answer to `rpc.discover` → the dialect; a UsageError where it is another server's."""
    start: Callable[[str, Any, str], LiveCall]
    """(dialect, the game's options, a seed or nothing) → the call that starts a run."""
    follow: Callable[[str, Any], LiveRun]
    """(dialect, the game's options) → a follower of the run that begins."""
    standing: Callable[[Any], Standing]
    seed: Callable[[Any], str]
    """A state → the seed of its run, as the game writes it."""
    simple: Callable[[Any], LiveCall | None]
    """A state → a move that can be made without understanding it; None where there is none."""


@dataclass(frozen=True)
class LiveProtocol:
    """How programs talk to the bought game."""

    dialects: tuple[str, ...]
    """Its versions, the usual one first."""
    port: int
    host: Callable[[str, bool, Iterable[str], HostFiles], HostedGame]
    """(dialect, fair, traps by name, files) → our simulator in the place of the bought game."""
    play: LivePlay | None = None
    """How a policy plays it through the protocol."""


@dataclass(frozen=True)
class Installation:
    """What a game needs beside Python, installed once per machine."""

    name: str
    version: str
    how: str
    """With what it is installed and how long that takes, for the note before it."""
    is_installed: Callable[[], bool]
    install: Callable[[bool], Path]
    """(even if it is there) → where it is, checked to work."""


Decide = Callable[[np.ndarray, np.ndarray], int]
"""(observation (D,), legal_mask (A,)) → action"""


@dataclass(frozen=True)
class Visit:
    """Whom to play on a server, and how."""

    server: str
    challenge: str | None = None
    """Whom to challenge; None: the bot accepts any challenge."""
    name: str = "JimBot"
    team: Path | None = None
    battles: int = 1
    patience: float = 300.0
    """Seconds of silence before we give up."""


class PlayedOnline(Protocol):
    """One game that was finished on a server."""

    @property
    def opponent(self) -> str: ...

    @property
    def won(self) -> bool: ...

    @property
    def tied(self) -> bool: ...

    @property
    def turns(self) -> int: ...


@dataclass(frozen=True)
class Online:
    """Playing against others on a server."""

    example: str
    """An address, for complaints."""
    check: Callable[[str], None]
    """Refuses an address at which no server listens."""
    play: Callable[[Visit, Any, Decide, Callable[[PlayedOnline], None]], str]
    """(whom, the game's options, who decides, a callback after each game) → how it went, in a sentence."""


class ReplaySide(Protocol):
    """What one side of a public replay saw, and which of its actions agree with what everybody saw."""

    @property
    def observation(self) -> np.ndarray: ...  # (n, D) float32

    @property
    def legal_mask(self) -> np.ndarray: ...  # (n, A) bool

    @property
    def labels(self) -> np.ndarray: ...  # (n, A) bool, inside legal_mask, at least one each

    @property
    def result(self) -> int: ...  # 1 won, -1 lost, 0 neither

    @property
    def stats(self) -> np.ndarray: ...  # (S,) float32, the episode statistics


class PublicReplay(Protocol):
    """One game of other people."""

    @property
    def sides(self) -> tuple[ReplaySide, ReplaySide]: ...

    @property
    def over(self) -> bool: ...  # whether it goes on to the end of the game

    @property
    def unexplained(self) -> int: ...  # decisions left out because no legal action agrees with what was seen


class PublicReplays(NamedTuple):
    """Replay files being read."""

    count: int
    games: Iterable[tuple[Path, PublicReplay | Exception]]
    """Each file with what it holds, or why it is left out."""


class PlayedGame(NamedTuple):
    """A game played elsewhere, by one player, as it was reported."""

    observation: np.ndarray  # (n, D) float32
    legal_mask: np.ndarray  # (n, A) bool
    action: np.ndarray  # (n,) int32
    reward: np.ndarray  # (n,) float32
    stats: np.ndarray  # (S,) float32
    total_return: float
    terminated: bool
    seed: int
    reward_terms: np.ndarray | None = None  # (K,) float64, sums over the game; None: nobody told


ReadReplays = Callable[[Path, Any], AbstractContextManager[PublicReplays]]
"""(a file or folder, the game's options) → its replays."""
