"""The one shape of every policy: ONNX, heuristic, random or remote.

watch, evaluate, serve and compare know nothing else about what they run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from jimbot.games.batch_game import BatchGame


class Decision(NamedTuple):
    """Answers for N rows."""

    actions: np.ndarray  # (N,) int64, legal
    probabilities: np.ndarray  # (N, A) float32, zero where illegal
    values: np.ndarray  # (N,) float32, expected return; zeros where a policy has no opinion


class GameRows(NamedTuple):
    """Where a policy decides: `rows` of a game, in the order of its observations; only those that are `live` count."""

    game: BatchGame
    rows: np.ndarray  # (n,) int
    live: np.ndarray  # (n,) bool

    def improved(self, decision: Decision, improve: Callable[[BatchGame, np.ndarray, Decision], Decision]) -> Decision:
        """What `improve`, which sees all rows of the game, makes of a decision about these."""
        count = len(self.game.acting)
        if len(self.rows) == count:
            return improve(self.game, self.live, decision)
        whole = Decision(*(np.zeros((count, *part.shape[1:]), part.dtype) for part in decision))
        for part, answers in zip(whole, decision, strict=True):
            part[self.rows] = answers
        live = np.zeros(count, bool)
        live[self.rows] = self.live
        return Decision(*(part[self.rows] for part in improve(self.game, live, whole)))


class Policy(Protocol):
    """Anything that can play.

    One that looks at the game it plays, to try moves out or to put it in words, has `looks_at_game = True` and takes
    one more argument, `at: GameRows | None = None`; without it, it answers by what it sees alone.
    """

    name: str

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Decision:
        """Chooses for every row; `key` draws when not deterministic."""
        ...


def looks_at_game(policy: Policy) -> bool:
    return bool(getattr(policy, "looks_at_game", False))


def ask(
    policy: Policy,
    observation: np.ndarray,
    legal_mask: np.ndarray,
    deterministic: bool = True,
    key: np.random.Generator | None = None,
    at: GameRows | None = None,
) -> Decision:
    """`Policy.act`, with the game for a policy that looks at it."""
    shown: dict[str, Any] = {"at": at} if looks_at_game(policy) else {}
    return policy.act(observation, legal_mask, deterministic, key, **shown)


def decide(
    policy: Policy,
    game: BatchGame,
    live: np.ndarray | None = None,
    deterministic: bool = True,
    key: np.random.Generator | None = None,
    rows: np.ndarray | None = None,
) -> Decision:
    """What a policy does in the games of a batch, or in some `rows`, in their order: in games of two players each row
    has its own policy. Answers of rows that are not `live` mean nothing."""
    observation, legal = game.observation, game.legal_mask
    if rows is not None:
        observation, legal = observation[rows], legal[rows]
    rows = np.arange(len(legal)) if rows is None else rows
    at = GameRows(game, rows, np.ones(len(rows), bool) if live is None else live)
    return ask(policy, observation, legal, deterministic, key, at)
