"""`GameEntry`: one game as everything outside sees it: how to build it, and what else it offers (see `hooks`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jimbot.games.batch_game import BatchGame
from jimbot.games.hooks.learners import Knowledge, Milestones, Plans, RareEvent, Variety
from jimbot.games.hooks.people import Glossary, HumanInterface, RecordingForm, SeedForm, SeedPages
from jimbot.games.hooks.programs import (
    InfoMetric,
    Installation,
    LiveProtocol,
    Online,
    PlainStates,
    ReadForeign,
    ReadReplays,
)
from jimbot.games.pure_game import FunctionalGame
from jimbot.games.spec import GameSpec

if TYPE_CHECKING:  # each with the rest of what reads or draws it
    from jimbot.games.narration import Diary, Line
    from jimbot.games.scenes import Scene
    from jimbot.games.verification import FileReport


@dataclass(frozen=True)
class TwoSides:
    """How a game of two players is judged: both sides are rows, each played by a policy."""

    options: Mapping[str, Any]
    """With these every game has two rows, one per side."""
    agreed: tuple[str, ...] = ()
    """Options that belong to the rules a policy was trained for; opponents must agree on them."""
    shows: tuple[str, ...] = ()
    """Options that only show more, behind all else; who was trained without them goes on seeing the first fields."""


@dataclass(frozen=True)
class GameEntry:
    """How to build one game, and what it offers. Each game package exposes one as `GAME`."""

    spec: GameSpec
    make: Callable[..., BatchGame]
    """make(num_envs, seed=0, options=None, checked=False)"""
    functional: Callable[[Any], FunctionalGame] | None = None
    """options → the pure-function form, for games written in JAX."""
    heuristics: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    """Heuristic players by name; each factory returns a policy (see jimbot.policies)."""
    two_sides: TwoSides | None = None
    """For games of two players; None for the others."""

    # --- for people: boards, words, files ---
    scene: Callable[[BatchGame, int], Scene] | None = None
    """(game, row) → what the player sees as plain values, drawn by terminal and page; without it the words of
    `describe`."""
    canvas: tuple[int, int] = (80, 24)
    """Columns and rows that hold every large drawing: the size of pictures and videos of the game."""
    about: str = ""
    """What the game is about, in a few sentences, for a reader who never saw it."""
    human_interface: Callable[[BatchGame], HumanInterface] | None = None
    """A batch of one game at its first move → how a person plays it, where labels of actions will not do."""
    diary: Callable[[BatchGame], Diary] | None = None
    """game → what is worth counting while it is played."""
    ending: Callable[[BatchGame, int, Mapping[str, float], bool], str] | None = None
    """(the board after the last move, row, statistics, whether it was cut off) → how the game ended, in a sentence
    without its full stop."""
    narrate: Callable[[BatchGame, Sequence[int]], list[Line]] | None = None
    """(a batch of one game at its first move, the actions) → the game in words."""
    recording: RecordingForm | None = None
    """Its own form of a recorded game; without it a list of actions."""
    seed_form: SeedForm | None = None
    """Its own way to write seeds; without it they are numbers."""
    seed_pages: SeedPages | None = None
    """What seeds hold, without playing them."""
    glossary: Glossary | None = None
    """What its things do."""
    knowledge: Knowledge | None = None
    """What its builds are made of, and what works together."""

    # --- for learning ---
    milestones: Milestones | None = None
    """Where a curriculum can stop a game."""
    rare_events: Callable[[], tuple[RareEvent, ...]] | None = None
    """What replay should remember longer than other steps."""
    decision_levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The levels it decides on, the finest first → the blocks of actions by which one knows a position of that level:
    they are legal nowhere else."""
    varieties: Callable[[], tuple[Variety, ...]] | None = None
    """What tells ways to play apart."""
    plans: Plans | None = None
    """What looking ahead spends on which decisions; without it the same on all."""
    legal_masks: Callable[[np.ndarray], np.ndarray] | None = None
    """(B, D) observations → (B, A) bool: what was legal in them, exactly; for games whose observation tells it all, so
    that stored experience need not hold it."""
    decision_importance: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """((N, D) observations, (N, A) legal masks) → (N,) how much depends on each decision, 0 to 1: which are worth an
    adviser's time. Without it all are."""
    info_metrics: Mapping[str, InfoMetric] = field(default_factory=dict)
    """Where a game stands, by name, for `info` of wrapped environments."""

    scores: Callable[[Mapping[str, np.ndarray]], dict[str, float]] | None = None
    """Statistics of games, (n,) each → what tables of other people would say of them, by the name of the formula."""

    # --- for its keepers ---
    verify: Callable[[Path], Iterable[FileReport]] | None = None
    """A file or folder of recordings → what agrees with this game and what does not."""
    benchmark: Callable[[int | None, float, bool], dict[str, Any]] | None = None
    """(games at once or its own choice, seconds, whether to time a first start) → metrics of random play."""
    installation: Installation | None = None
    """What it needs beside Python."""

    # --- for meeting others ---
    online: Online | None = None
    """Servers it can be played on."""
    public_replays: ReadReplays | None = None
    """Reads games of other people, to be learned from."""
    states: PlainStates | None = None
    """Its states as plain values, for programs that ask for a decision."""
    foreign_states: Mapping[str, ReadForeign] = field(default_factory=dict)
    """Its states in the words of other programs, by the name of the dialect ("my-mod/1"): requests for a decision may
    carry them as `foreign`, with that name as `form`."""
    warm_states: Callable[[Any], None] | None = None
    """(its options) → reads a state in the words of other programs, where the first takes seconds: a service does so
    before it is ready, as it does with all other forms."""
    live: LiveProtocol | None = None
    """The protocol that programs drive its bought edition with."""

    def metrics(self, game: BatchGame, final: Mapping[str, float] | None = None) -> dict[str, Any]:
        """Where a game of one row stands, by name; of one that is over what its `final` statistics say of that."""
        if final is None:
            return {name: metric.read(game, 0) for name, metric in self.info_metrics.items()}
        values = {name: final.get(metric.stat or "") for name, metric in self.info_metrics.items()}
        found = {name: value for name, value in values.items() if value is not None}
        return {name: value if value % 1 else int(value) for name, value in found.items()}
