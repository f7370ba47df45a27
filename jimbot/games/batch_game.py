"""`BatchGame`: what everything outside a game uses, N rows stepped by one call into preallocated arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from jimbot.errors import IllegalActionError, UsageError
from jimbot.games.spec import GameSpec


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
    options: Any  # the game's option record it was made with
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
        """Re-deals everything the player of each row cannot know, future draws included."""

    @abstractmethod
    def describe(self, row: int) -> str:
        """The situation of a row in words."""

    def describe_action(self, row: int, action: int) -> str:
        """An action in words, in the situation of a row."""
        return self.spec.actions.label(action)

    def _repr_html_(self) -> str:
        """In a notebook: the first row in words."""
        begun = self.legal_mask.any()  # no game has a moment without a legal action
        words = self.describe(0) if begun else "not begun: call reset()"
        head = f"<b>{escape(self.spec.id)}</b> v{self.spec.version}, {self.num_rows} rows; the first:"
        return f"{head}<pre>{escape(words)}</pre>"

    def health(self) -> dict[str, float]:
        """Metrics of whatever the game runs on (processes of its own), for the log of a training run."""
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

    def final_board(self, row: int) -> BatchGame | None:
        """Right after a step that ended the game of a row: a game whose row stands where that one ended, to be drawn
        and described only; None from games that do not keep it."""
        return None

    def close(self) -> None:  # noqa: B027 - most games hold nothing that needs closing
        """Releases processes and files, if any."""
