"""An adviser that needs no key and no network: the planner tries the policy's likeliest moves out in copies of the game
(`jimbot.planning`). It stands in where Claude cannot be asked, so that everything around an adviser can be tested and
measured for real."""

from __future__ import annotations

import threading
from typing import Any, cast

import numpy as np

from jimbot.advisor.question import Position, Question
from jimbot.advisor.reply import Advice, NoAdviceError
from jimbot.advisor.settings import AdviserSettings
from jimbot.errors import UsageError
from jimbot.games.batch_game import BatchGame
from jimbot.games.contract import game_entry
from jimbot.planning.planner import Planner
from jimbot.planning.settings import PlanSettings
from jimbot.policies.contract import Policy
from jimbot.runs.manifest import Manifest

COPIES = 64
NAME = "planner"


class _Standing:
    """One position as the planner looks at a game; it is the same object for all of them, so that the planner keeps
    its copies of the game."""

    acting = np.ones(1, bool)

    def __init__(self, position: Position) -> None:
        self.spec, self.options = game_entry(position.game).spec, position.options
        self.stand(position)

    def stand(self, position: Position) -> None:
        self._snapshot = position.snapshot
        self.observation, self.legal_mask = position.observation[None], position.legal_mask[None]

    def snapshot(self, rows: Any = None) -> Any:
        return self._snapshot


class PlannerAdviser:
    """The planner behind the same door as Claude. `policy` plays on in the tries."""

    name = NAME
    edition = NAME
    used_llm = False

    def __init__(self, settings: AdviserSettings, policy: Policy, manifest: Manifest | None = None) -> None:
        self._settings = settings
        self._planner = Planner(policy, manifest, PlanSettings(rollouts=settings.rollouts, certain=1.0), copies=COPIES)
        self._standing: _Standing | None = None
        self._lock = threading.Lock()

    def ask(self, question: Question, seconds: float) -> Advice:
        position = question.position
        if position is None:
            raise NoAdviceError("no_plan", "The question holds no position that moves could be tried out in.")
        with self._lock:
            if self._standing is None or self._standing.options != position.options:
                self._standing = _Standing(position)
            self._standing.stand(position)
            game = cast(BatchGame, self._standing)  # all of a game that a planner looks at
            try:
                decision = self._planner.act_in(game, np.ones(1, bool), position.decision)
            except UsageError as problem:  # a game of two players, for instance
                raise NoAdviceError("no_plan", str(problem)) from problem
        action = int(decision.actions[0])
        move = next(move for move in question.moves if move.action == action)
        own = action == int(position.decision.actions[0])
        tried = f"{self._settings.rollouts} tries in copies of the game"
        reason = f"{tried} found nothing better." if own else f"{tried} brought {float(decision.values[0]):+.2f}."
        return Advice(action, move.label, move.words, reason, self.name, False)

    def close(self) -> None:
        self._planner.close()
