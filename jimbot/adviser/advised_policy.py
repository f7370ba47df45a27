"""A player that takes advice: a policy, and an adviser who is asked where it is not sure.

Without an answer its move is the policy's, so with nobody to ask it plays the very same games.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.adviser.adviser import Adviser
from jimbot.adviser.question import question_in
from jimbot.adviser.reply import Advice
from jimbot.games.batch_game import BatchGame
from jimbot.games.contract import game_entry
from jimbot.policies.contract import Decision, GameRows, Policy, ask


class AdvisedPolicy:
    """A policy with an adviser; see the module."""

    looks_at_game = True

    def __init__(self, policy: Policy, adviser: Adviser, follow: bool = True) -> None:
        """Without `follow` advice is only listened to (`latest`), and the policy's own moves are played."""
        self.policy, self.adviser, self.follow = policy, adviser, follow
        self.name = f"{policy.name} advised"
        self.options: Mapping[str, Any] = getattr(policy, "options", {})
        self.latest: dict[int, Advice] = {}
        """By row: the advice of the last decision, where there was one."""
        self._plans: dict[
            int, tuple[int, list[str]]
        ] = {}  # row → (seed of its game, moves that shall follow, in words)

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
        at: GameRows | None = None,
    ) -> Decision:
        """What the policy does, with the adviser's moves in place of its own where it was asked and answered: advice
        needs the game."""
        decision = ask(self.policy, observation, legal_mask, deterministic, key, at)
        return decision if at is None else at.improved(decision, self._advised)

    def _advised(self, game: BatchGame, live: np.ndarray, decision: Decision) -> Decision:
        adviser, entry = self.adviser, game_entry(game.spec.id)
        deciding = live & game.acting
        adviser.when.note(int(deciding.sum()))
        self.latest = {}
        actions = decision.actions.copy()
        planned = self._follow_plans(game, deciding, actions)
        unsure = deciding & ~planned
        unsure &= adviser.when.unsure(entry, game.observation, game.legal_mask, decision.probabilities)
        rows = np.flatnonzero(unsure)
        rows = rows[np.argsort(decision.probabilities[rows].max(axis=1), kind="stable")]  # the least sure first
        rows = [int(row) for row in rows if adviser.when.claim()]
        copy = not adviser.source.used_llm
        asked = [question_in(entry, game, row, decision, adviser.hints, copy) for row in rows]
        for row, advice in zip(rows, adviser.ask_all(asked), strict=True):
            if advice is not None and game.legal_mask[row, advice.action]:
                self.latest[row] = advice
                if self.follow:
                    self._take(game, row, advice, actions)
        changed = int(((actions != decision.actions) & deciding).sum())
        adviser.metrics.add(changed=changed)
        return Decision(actions, decision.probabilities, decision.values)

    def close(self) -> None:
        self.adviser.close()

    def _take(self, game: BatchGame, row: int, advice: Advice, actions: np.ndarray) -> None:
        actions[row] = advice.action
        self.adviser.metrics.add(followed=1)
        if advice.then:
            self._plans[row] = (int(game.seeds[row]), list(advice.then))

    def _follow_plans(self, game: BatchGame, deciding: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """(N,) bool: rows whose next move was advised before. A step that is no longer legal, or that fits several
        moves by now, ends its plan."""
        planned = np.zeros(len(deciding), bool)
        for row in [row for row in self._plans if deciding[row]]:
            seed, steps = self._plans.pop(row)
            fitting = [
                int(action) for action in np.flatnonzero(game.legal_mask[row])
                if seed == int(game.seeds[row]) and game.describe_action(row, int(action)) == steps[0]
            ]  # fmt: skip
            if len(fitting) != 1:
                continue
            actions[row], planned[row] = fitting[0], True
            self.adviser.metrics.add(followed=1)
            if steps[1:]:
                self._plans[row] = (seed, steps[1:])
        return planned
