"""What learners and planners ask of a game: how far it is played, what is worth remembering or trying, what works
together as its rules measure it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    """The heuristic player who plays tries out best; None: the policy itself does."""
    settled: Callable[[np.ndarray], np.ndarray] | None = None
    """(N, D) observations → (N,) bool: positions where that player can tell how likely it is to win; None: everywhere.
    It matters where it has such an opinion at all (`appraise`)."""
    searcher: str | None = None
    """The heuristic player whose own search plans for every policy; None: moves are tried in copies of the game."""
    opponent: str | None = None
    """In games of two players: the heuristic player who sits opposite in tries. Without one there are no plans."""


@dataclass(frozen=True)
class Part:
    """Something a build is made of or meets."""

    kind: str
    """joker, consumable, voucher, hand, boss, deck: one of a few words of the game."""
    key: str
    """The game's own key."""
    name: str
    words: str
    """What it does."""
    features: tuple[float, ...] = ()
    """What a small network may know of it; as many numbers for all parts of a kind."""


@dataclass(frozen=True)
class Interaction:
    """One thing that was measured about two or more parts."""

    relation: str
    """synergizes, counters or favours."""
    a: str
    b: str
    """Keys. Of two that synergize, a comes first in the alphabet."""
    channel: str
    """Through what they act on each other, as the game calls it: score, money, growth, …"""
    strength: float
    """In the channel's unit; positive where they help each other."""
    low: float
    high: float
    """Ends of its interval of 95 %."""
    samples: int
    order: str = ""
    """"a_left" or "b_left" where it matters which of them lies left of the other."""
    others: tuple[str, ...] = ()
    """The third and further parts of a group."""
    details: Mapping[str, float] = field(default_factory=dict)
    """What else the measurement found, by name."""


@dataclass(frozen=True)
class Held:
    """Which parts tell a run's strategy: what it holds and what it plays most."""

    keys: Callable[[], tuple[str, ...]]
    find: Callable[[np.ndarray], Found]
    """observation (N, D) → which rows have which of the keys, by their place; nothing of rows that tell too little."""


@dataclass(frozen=True)
class Offers:
    """Which moves take which parts, for who wants to know what taking them is worth."""

    keys: Callable[[], tuple[str, ...]]
    find: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
    """((N, D) observations, (N, A) legal masks) → (rows, moves, which of the keys each takes)."""
    held: Callable[[np.ndarray], Found]
    """observation (N, D) → which rows hold which of the keys."""
    milestone: Callable[[np.ndarray], np.ndarray]
    """observation (N, D) → (N,) int."""


Measure = Callable[..., Iterator[Interaction]]


@dataclass(frozen=True)
class Knowledge:
    """What there is to know about a game, as far as its rules can tell."""

    parts: Callable[[], tuple[Part, ...]]
    read_state: Callable[[BatchGame, int], dict[str, Any]]
    """(game, row) → which parts it has, by key, ready for JSON."""
    measure: Measure | None = None
    """(pairs=None, seed=0, effort=1.0, channels=None, progress=None) → what the simulator says about pairs, as it is
    found. `pairs`: keys, or None for all; `progress`: called with (done, of) now and then."""
    measure_group: Callable[..., Interaction] | None = None
    """(keys, seed=0, effort=1.0) → what three or more do together beyond their pairs."""
    measure_top: Callable[..., Iterator[Interaction]] | None = None
    """({(a, b): strength}, seed=0, effort=1.0) → groups around the strongest pairs, what a whole measurement ends
    with."""
    read_observation: Callable[[np.ndarray], dict[str, Any]] | None = None
    """(D,) observation → which parts it shows, by key, as `read_state` names them."""
    vocabulary: Callable[[], Mapping[str, tuple[str, ...]]] | None = None
    """For each vocabulary of the observation's ids (`Field.vocabulary`): the key of every id, or nothing."""
    give: Callable[[BatchGame, int, Sequence[str]], None] | None = None
    """(game, row, keys): hands parts over to a run."""
    held: Held | None = None
    """What many observations show, at once."""
    offers: Offers | None = None
    """Which moves take parts."""
    profiles: Callable[..., Mapping[str, tuple[float, ...]]] | None = None
    """(seed=0, effort=1.0) → what every part of the first kind does by itself, in one situation after the other: what
    it takes to say how two that were never measured together might do."""
