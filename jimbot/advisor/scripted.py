"""An adviser that needs no key and no network: the planner tries the policy's likeliest moves out in copies of the game
(`jimbot.planning`). It stands in where Claude cannot be asked, so that everything around an adviser can be tested and
measured for real."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from jimbot.advisor.question import Question
from jimbot.advisor.reply import Advice, NoAdviceError
from jimbot.advisor.settings import AdviserSettings
from jimbot.errors import UsageError
from jimbot.planning.planner import Planner
from jimbot.planning.settings import PlanSettings
from jimbot.planning.standing import Standing
from jimbot.policies.contract import Decision, Policy
from jimbot.runs.manifest import Manifest

COPIES = 64
NAME = "planner"


class PlannerAdviser:
    """The planner behind the same door as Claude. `policy` plays on in the tries."""

    name = NAME
    edition = NAME
    used_llm = False

    def __init__(self, settings: AdviserSettings, policy: Policy, manifest: Manifest | None = None) -> None:
        self._settings = settings
        self._planner = Planner(policy, manifest, PlanSettings(rollouts=settings.rollouts, certain=1.0), copies=COPIES)
        self._standing: Standing | None = None
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
                self._standing = Standing(positions[0].game, positions[0].options)
            game = self._standing.stand(
                [position.snapshot for position in positions],
                np.stack([position.observation for position in positions]),
                np.stack([position.legal_mask for position in positions]),
            )
            try:
                decision = self._planner.act_in(game, game.acting, own)
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
