"""The protocol of the bought game: hosting it in its place, and playing it through it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

import numpy as np

from jimbot.games.batch_game import BatchGame


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
    PASSING = "the game is busy, or in a state that nobody knows; wait and look again"
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
    def unknown(self) -> list[str]:
        """What the states did not tell and had to be assumed, in words; empty where everything is known."""
        ...

    @property
    def happened(self) -> bool | None:
        """Whether the call the last state came after was made; None where that cannot be told."""
        ...

    def expects(self, state: Any, after: LiveCall) -> bool:
        """Whether exactly this state must follow that call; what is not expected may be right all the same."""
        ...

    def see(self, state: Any, after: LiveCall | None = None) -> None:
        """The state as it is now, and the call that led to it; a UsageError where it cannot be read."""
        ...

    def playable(self) -> np.ndarray:
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
