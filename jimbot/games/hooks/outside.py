"""What lies outside Python: installations, servers where people play, and the replays they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np


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
    """Whom to challenge; None: whoever challenges us."""
    name: str = "JimBot"
    team: Path | None = None
    battles: int = 1
    patience: float = 300.0
    """Seconds of silence before we give up."""


class PlayedOnline(Protocol):
    """One game that was finished on a server."""

    @property
    def rival(self) -> str: ...

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
    """Refuses an address nobody listens at."""
    play: Callable[[Visit, Any, Decide, Callable[[PlayedOnline], None]], str]
    """(whom, the game's options, who decides, told after each game) → how it went, in a sentence."""


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
    """A game played elsewhere, by one player, as it was told."""

    observation: np.ndarray  # (n, D) float32
    legal_mask: np.ndarray  # (n, A) bool
    action: np.ndarray  # (n,) int32
    reward: np.ndarray  # (n,) float32
    stats: np.ndarray  # (S,) float32
    total_return: float
    terminated: bool
    seed: int


ReadReplays = Callable[[Path, Any], AbstractContextManager[PublicReplays]]
"""(a file or folder, the game's options) → its replays."""
