"""The two shapes a game can have, and the list of games.

`BatchGame` is what everything outside a game uses: N rows stepped by one call into preallocated arrays.
`FunctionalGame` is what a game written in JAX implements: pure functions a learner can compile into its own program;
`jimbot.games.functional` turns it into a BatchGame.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from jimbot.errors import IllegalActionError, MissingExtraError, UnknownNameError, UsageError
from jimbot.games.spec import ActionBlock, ActionSpec, Field, GameSpec, ObservationSpec

__all__ = [
    "ActionBlock", "ActionSpec", "BatchGame", "Diary", "Event", "Field", "FunctionalGame", "GameEntry", "GameSpec",
    "Line", "ObservationSpec", "Transition", "TwoSides", "available_games", "functional_game", "game_entry", "make",
    "register_game",
]  # fmt: skip


class BatchGame(ABC):
    """N rows of a game stepped together. A row is one (game, player).

    The arrays below are overwritten by the next `reset` or `step`; copy what must outlive it. A game that ends
    restarts by itself with a fresh seed of the train bank: `observation` is then the new game's first, and
    `final_observation` and `final_stats` of that row describe the one that ended.
    """

    observation: np.ndarray  # (N, D) float32
    legal_mask: np.ndarray  # (N, A) bool, at least one True per row
    acting: np.ndarray  # (N,) bool; rows not acting ignore their action and have only action 0 legal
    reward: np.ndarray  # (N,) float32
    reward_terms: np.ndarray  # (N, K) float32, sums to reward
    terminated: np.ndarray  # (N,) bool, the rules ended the game
    truncated: np.ndarray  # (N,) bool, something outside the rules did
    final_observation: np.ndarray  # (N, D) float32, valid where a game just ended
    final_stats: np.ndarray  # (N, S) float32, valid where a game just ended
    seeds: np.ndarray  # (N,) uint64, the seed each row is playing now
    illegal_actions: int  # illegal actions seen so far (fast mode); must stay 0
    refused: np.ndarray  # (N,) bool, see `may_refuse`
    may_refuse: bool = False
    """Whether hidden information can make a legal choice impossible: then no step is taken, `refused` marks the row, it
    is asked again, and the new decision takes the place of the refused one."""

    def __init__(self, spec: GameSpec, num_envs: int, seed: int = 0, checked: bool = False) -> None:
        if num_envs < 1:
            raise UsageError(f"num_envs is {num_envs}; expected at least 1 game. Give a positive number.")
        self.spec = spec
        self.num_envs = num_envs
        self.seed = seed
        self.checked = checked
        self.illegal_actions = 0
        rows = num_envs * spec.players
        self.num_rows = rows
        self.observation = np.zeros((rows, spec.observation.size), np.float32)
        self.legal_mask = np.zeros((rows, spec.actions.size), bool)
        self.acting = np.ones(rows, bool)
        self.reward = np.zeros(rows, np.float32)
        self.reward_terms = np.zeros((rows, len(spec.reward_terms)), np.float32)
        self.refused = np.zeros(rows, bool)
        self.terminated = np.zeros(rows, bool)
        self.truncated = np.zeros(rows, bool)
        self.final_observation = np.zeros_like(self.observation)
        self.final_stats = np.zeros((rows, len(spec.episode_stats)), np.float32)
        self.seeds = np.zeros(rows, np.uint64)

    @abstractmethod
    def reset(self, seeds: np.ndarray | None = None) -> None:
        """Starts every game: from `seeds` (num_envs,) uint64, or from fresh train seeds."""

    @abstractmethod
    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        """Plays `actions` (N,) int; rows where `hold` is True are left untouched (reward 0, not ended)."""

    @abstractmethod
    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """All that `restore` needs to continue exactly from here, as named arrays."""

    @abstractmethod
    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        """Continues exactly from a snapshot of this game and version."""

    @abstractmethod
    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        """Re-deals everything the player of each row cannot know, future luck included."""

    @abstractmethod
    def describe(self, row: int) -> str:
        """The situation of a row in words."""

    def describe_action(self, row: int, action: int) -> str:
        """An action in words, in the situation of a row."""
        return self.spec.actions.label(action)

    def health(self) -> dict[str, float]:
        """Figures about whatever the game runs on (processes of its own), for the log of a training run."""
        return {}

    def check_actions(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        """Counts illegal actions; raises in checked mode. Implementations call this first in `step`."""
        actions = np.asarray(actions)
        if actions.shape != (self.num_rows,):
            raise UsageError(f"step got actions of shape {actions.shape}; expected ({self.num_rows},), one per row.")
        inside = (actions >= 0) & (actions < self.spec.actions.size)
        legal = self.legal_mask[np.arange(self.num_rows), np.where(inside, actions, 0)] & inside
        wrong = ~legal & self.acting
        if hold is not None:
            wrong &= ~np.asarray(hold, bool)
        if not wrong.any():
            return
        row = int(np.flatnonzero(wrong)[0])
        action = int(actions[row])
        name = self.spec.actions.label(action) if inside[row] else "outside the action table"
        if self.checked or not inside[row]:
            raise IllegalActionError(
                f"Illegal action {action} ({name}) in game '{self.spec.id}', row {row}, seed {int(self.seeds[row])}; "
                f"legal are {np.flatnonzero(self.legal_mask[row]).tolist()}. Choose inside legal_mask."
            )
        self.illegal_actions += int(wrong.sum())

    def close(self) -> None:  # noqa: B027 - most games hold nothing that needs closing
        """Releases processes and files, if any."""


State = TypeVar("State")


class Transition(NamedTuple):
    """What one step of one functional game produced (JAX arrays; under vmap all with a leading batch axis)."""

    reward_terms: Any  # (K,) float32
    terminated: Any  # () bool
    truncated: Any  # () bool
    stats: Any  # (S,) float32, the episode statistics as they stand now


class FunctionalGame(ABC, Generic[State]):
    """A game as pure JAX functions of one game; the random generator lives inside the state.

    `*_batch` are the whole-batch forms that learners call. The defaults are plain vmap; a game overrides them where
    that is wasteful (under vmap every branch runs for every game).
    """

    spec: GameSpec
    options: Any

    @abstractmethod
    def init(self, seed: Any) -> State:
        """A new game from a seed given as (2,) uint32 halves (high, low)."""

    @abstractmethod
    def step(self, state: State, action: Any) -> tuple[State, Transition]:
        """One legal action; does not restart. What an illegal action does is the game's own affair."""

    @abstractmethod
    def observe(self, state: State) -> Any:
        """(D,) float32: what the player may know."""

    @abstractmethod
    def legal_mask(self, state: State) -> Any:
        """(A,) bool."""

    @abstractmethod
    def redraw_hidden(self, state: State, seed: Any) -> State:
        """The same situation with everything the player cannot know re-dealt from a (2,) uint32 seed."""

    @abstractmethod
    def describe(self, state: State) -> str:
        """One concrete state in words."""

    def init_batch(self, seeds: Any) -> State:
        """New games from (N, 2) uint32 seeds."""
        import jax

        return jax.vmap(self.init)(seeds)

    def play_batch(self, state: State, actions: Any, restart_seeds: Any) -> tuple[State, Transition, State]:
        """Steps every game and restarts the ended ones from `restart_seeds` (N, 2) uint32.

        Returns (state to act from next, transition, state at the end of the step before any restart). The last one
        is only for `final_observation`: where a game did not end it may be anything.
        """
        import jax
        import jax.numpy as jnp

        after, transition = jax.vmap(self.step)(state, actions)
        ended = transition.terminated | transition.truncated
        fresh = self.init_batch(restart_seeds)

        def choose(new: Any, old: Any) -> Any:
            return jnp.where(ended.reshape(ended.shape + (1,) * (old.ndim - 1)), new, old)

        return jax.tree.map(choose, fresh, after), transition, after

    def observe_batch(self, state: State) -> Any:
        """(N, D) float32."""
        import jax

        return jax.vmap(self.observe)(state)

    def legal_mask_batch(self, state: State) -> Any:
        """(N, A) bool."""
        import jax

        return jax.vmap(self.legal_mask)(state)


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
    """Notices what happens in a batch of games while somebody plays them, for reports."""

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
    """One move of a game told in words."""

    chapter: str
    text: str
    effects: tuple[str, ...] = ()


@dataclass(frozen=True)
class TwoSides:
    """How a game of two players is judged: both sides are rows, each played by a policy."""

    options: Mapping[str, Any]
    """With these every game has two rows, one per side."""
    agreed: tuple[str, ...] = ()
    """Options that belong to the rules a policy was trained for; rivals must agree on them."""


@dataclass(frozen=True)
class GameEntry:
    """How to build one game. Each game package exposes one as `GAME`."""

    spec: GameSpec
    make: Callable[..., BatchGame]
    """make(num_envs, seed=0, options=None, checked=False)"""
    functional: Callable[[Any], FunctionalGame] | None = None
    """options → the pure-function form, for games written in JAX."""
    scripted: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    """Scripted players by name; each factory returns a policy (see jimbot.policies)."""
    render: Callable[[BatchGame, int], Any] | None = None
    """(game, row) → a rich renderable of what the player sees."""
    diary: Callable[[BatchGame], Diary] | None = None
    """game → what is worth counting while it is played."""
    narrate: Callable[[BatchGame, Sequence[int]], list[Line]] | None = None
    """(a batch of one game at its first move, the actions) → the game in words."""
    two_sides: TwoSides | None = None
    """For games of two players; None for the others."""


_GAMES: dict[str, str] = {
    "probe": "jimbot.games.probe",
    "hackmatrix": "jimbot.games.hackmatrix",
    "balatro": "jimbot.games.balatro.game",
    "vgc": "jimbot.games.vgc.game",
}


def register_game(game_id: str, module: str) -> None:
    """Adds a game of your own: `module` is imported when first used and must expose `GAME`, a GameEntry."""
    _GAMES[game_id] = module


def available_games() -> list[str]:
    return sorted(_GAMES)


def game_entry(game_id: str) -> GameEntry:
    """The entry of a game by id; imports its engine."""
    if game_id not in _GAMES:
        raise UnknownNameError("game", game_id, _GAMES)
    try:
        return importlib.import_module(_GAMES[game_id]).GAME
    except ModuleNotFoundError as problem:
        if problem.name and problem.name.startswith("jimbot"):
            raise
        raise MissingExtraError(f"'{problem.name}', which game '{game_id}' needs,", "all") from problem


def make(
    game_id: str, num_envs: int = 1, seed: int = 0, options: Mapping[str, Any] | None = None, checked: bool = False
) -> BatchGame:
    """A batch of games, ready for `reset`.

    >>> game = make("probe", num_envs=4)
    >>> game.reset()
    >>> game.legal_mask.any(axis=1).all()
    np.True_
    """
    entry = game_entry(game_id)
    return entry.make(num_envs, seed=seed, options=entry.spec.parse_options(dict(options or {})), checked=checked)


def functional_game(game_id: str, options: Mapping[str, Any] | None = None) -> FunctionalGame | None:
    """The pure-function form of a game, or None if it has none."""
    entry = game_entry(game_id)
    return entry.functional(entry.spec.parse_options(dict(options or {}))) if entry.functional else None
