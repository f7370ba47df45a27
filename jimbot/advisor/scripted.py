"""An adviser that needs no key and no network: the planner tries the policy's likeliest moves out in copies of the game
(`jimbot.planning`). It stands in where Claude cannot be asked, so that everything around an adviser can be tested and
measured for real."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import cast

import numpy as np

from jimbot.advisor.question import Position, Question
from jimbot.advisor.reply import Advice, NoAdviceError
from jimbot.advisor.settings import AdviserSettings
from jimbot.errors import UsageError
from jimbot.games.batch_game import BatchGame
from jimbot.games.contract import game_entry
from jimbot.planning.planner import Planner
from jimbot.planning.settings import PlanSettings
from jimbot.policies.contract import Decision, Policy
from jimbot.runs.manifest import Manifest

COPIES = 64
NAME = "planner"


class _Standing:
    """Positions as the planner looks at a game; it is the same object for all of them, so that the planner keeps its
    copies of the game."""

    def __init__(self, position: Position) -> None:
        self.spec, self.options = game_entry(position.game).spec, position.options

    def stand(self, positions: Sequence[Position]) -> None:
        first, *_ = (position.snapshot for position in positions)
        self._snapshot = {
            name: part if part.ndim == 0 else np.concatenate([position.snapshot[name] for position in positions])
            for name, part in first.items()
        }
        self.observation = np.stack([position.observation for position in positions])
        self.legal_mask = np.stack([position.legal_mask for position in positions])
        self.acting = np.ones(len(positions), bool)

    def snapshot(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        return {name: part if part.ndim == 0 else part[rows] for name, part in self._snapshot.items()}


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
        return self.ask_together([question])[0]

    def ask_together(self, questions: Sequence[Question]) -> list[Advice]:
        """The same for several positions of one game, whose tries are played together."""
        positions = [question.position for question in questions if question.position is not None]
        if len(positions) < len(questions):
            raise NoAdviceError("no_plan", "The question holds no position that moves could be tried out in.")
        own = Decision(*(np.concatenate(parts) for parts in zip(*(one.decision for one in positions), strict=True)))
        with self._lock:
            if self._standing is None or self._standing.options != positions[0].options:
                self._standing = _Standing(positions[0])
            self._standing.stand(positions)
            game = cast(BatchGame, self._standing)  # all of a game that a planner looks at
            try:
                decision = self._planner.act_in(game, self._standing.acting, own)
            except UsageError as problem:  # a game of two players, for instance
                raise NoAdviceError("no_plan", str(problem)) from problem
        return [
            self._advice(question, int(decision.actions[row]), int(own.actions[row]), float(decision.values[row]))
            for row, question in enumerate(questions)
        ]

    def _advice(self, question: Question, action: int, own: int, value: float) -> Advice:
        move = next(move for move in question.moves if move.action == action)
        tried = f"{self._settings.rollouts} tries in copies of the game"
        reason = f"{tried} found nothing better." if action == own else f"{tried} brought {value:+.2f}."
        return Advice(action, move.label, move.words, reason, self.name, False)

    def close(self) -> None:
        self._planner.close()
