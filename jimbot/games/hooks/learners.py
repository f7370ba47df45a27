"""What learners and planners ask of a game: how far it is played, what is worth remembering, what is worth a try."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jimbot.games.batch_game import BatchGame


@dataclass(frozen=True)
class Milestones:
    """Numbered points of a game of one player at which playing may stop, as a success: antes, stages, rounds.

    A game that is won by its own rules says so by the episode statistic `won`.
    """

    name: str
    """One of them in a word: ante, stage."""
    last: int
    """The one whose end wins the game."""
    reached: Callable[[BatchGame], np.ndarray]
    """game → (N,) int: the milestone each row is working on, from 1."""
    cut_off: Callable[[BatchGame, np.ndarray], None]
    """(game, rows): right after a step, these rows end here and their next games begin. Sets `truncated`,
    `final_observation` and `final_stats` of the rows; the reward of the step stays."""
    seen: Callable[[np.ndarray], np.ndarray] | None = None
    """observation (N, D) → (N,) int: the same, for those who have nothing else."""
    streams: tuple[str, ...] = ()
    """Parts of a snapshot that say which games a row begins next: they stay with their row when a game is put into
    another one."""


Found = tuple[np.ndarray, np.ndarray]
"""(rows (M,), keys (M,)): in which rows it happened, and to what (for instance which joker)."""


@dataclass(frozen=True)
class RareEvent:
    """One kind of event that is worth more than it is frequent, seen in two observations: that before a step and that
    after it."""

    name: str
    boost: float
    """How many times an ordinary step it is worth."""
    first: int | None
    """So many times per key; None: every time."""
    keys: int
    """Keys are below this."""
    find: Callable[[np.ndarray, np.ndarray], Found]
    """(observation before (N, D), after (N, D)) → where it happened."""


@dataclass(frozen=True)
class Variety:
    """A kind of thing that games are played with and that tells ways to play apart."""

    name: str
    title: str
    """In a few words, for reports."""
    keys: int
    """Keys are below this."""
    find: Callable[[np.ndarray], Found]
    """observation (N, D) → which rows have which keys."""
    name_of: Callable[[int], str]
    """A key in words."""


@dataclass(frozen=True)
class Plans:
    """Kinds of decisions, and what looking ahead should spend on each."""

    kinds: tuple[str, ...]
    """Each in a word."""
    find: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """((N, D) observations, (N, A) legal masks) → (N,) int: which of the kinds each decision is."""
    settings: tuple[Mapping[str, Any], ...]
    """Per kind, what differs from the usual settings of a plan, by their names (`jimbot.planning.PlanSettings`)."""
    player: str | None = None
    """The scripted player who plays tries out best; None: the policy itself does."""
    settled: Callable[[np.ndarray], np.ndarray] | None = None
    """(N, D) observations → (N,) bool: positions where that player can tell how likely it is to win; None: everywhere.
    It matters where it has such an opinion at all (`appraise`)."""
    searcher: str | None = None
    """The scripted player whose own search plans for every policy; None: moves are tried in copies of the game."""
    rival: str | None = None
    """In games of two players: the scripted player who sits opposite in tries. Without one there are no plans."""
