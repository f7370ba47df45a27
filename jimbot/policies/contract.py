"""The one shape of every policy: ONNX, scripted, random or remote.

watch, evaluate, serve and compare know nothing else about what they run.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from jimbot.games.batch_game import BatchGame


class Decision(NamedTuple):
    """Answers for N rows."""

    actions: np.ndarray  # (N,) int64, legal
    probabilities: np.ndarray  # (N, A) float32, zero where illegal
    values: np.ndarray  # (N,) float32, expected return; zeros where a policy has no opinion


class Policy(Protocol):
    """Anything that can play."""

    name: str

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Decision:
        """Chooses for every row; `key` is the luck used when not deterministic."""
        ...


class FirstFields:
    """A policy in a game that shows more than it was trained on, behind all that it knows: it goes on seeing that."""

    def __init__(self, policy: Policy, size: int) -> None:
        self.policy, self.size, self.name = policy, size, policy.name

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Decision:
        return self.policy.act(observation[:, : self.size], legal_mask, deterministic, key)


@runtime_checkable
class LooksAhead(Protocol):
    """A policy that tries moves out in the game it plays before it decides."""

    def act_in(self, game: BatchGame, live: np.ndarray, decision: Decision) -> Decision:
        """A decision for the rows of `game`, improved where `live` (N,) is True."""
        ...


def decide(
    policy: Policy,
    game: BatchGame,
    live: np.ndarray,
    deterministic: bool = True,
    key: np.random.Generator | None = None,
) -> Decision:
    """What a policy does in the games of a batch; answers of rows that are not `live` mean nothing."""
    decision = policy.act(game.observation, game.legal_mask, deterministic, key)
    return policy.act_in(game, live, decision) if isinstance(policy, LooksAhead) else decision


def decide_rows(
    policy: Policy,
    game: BatchGame,
    rows: np.ndarray,
    deterministic: bool = True,
    key: np.random.Generator | None = None,
) -> Decision:
    """The same for some rows: an answer for each of `rows`, in their order. In games of two players each row has its
    own policy."""
    decision = policy.act(game.observation[rows], game.legal_mask[rows], deterministic, key)
    if not isinstance(policy, LooksAhead):
        return decision
    count = len(game.acting)
    whole = Decision(*(np.zeros((count, *part.shape[1:]), part.dtype) for part in decision))
    for part, answers in zip(whole, decision, strict=True):
        part[rows] = answers
    live = np.zeros(count, bool)
    live[rows] = True
    return Decision(*(part[rows] for part in policy.act_in(game, live, whole)))
