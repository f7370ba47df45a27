"""Asking an adviser about the games of a run, without ever waiting for it.

After an update the learner shows the positions its games stand at. A few that the policy is not sure of are told in
words (that is all a step waits for) and asked about in threads; whatever is answered becomes a demonstration some
updates later. Budget and share hold as everywhere; a run keeps its own budget over restarts, because it is charged
under its name.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.advisor.adviser import Adviser, open_adviser
from jimbot.advisor.question import question_in
from jimbot.advisor.reply import Advice
from jimbot.advisor.settings import AdviserSettings
from jimbot.games.batch_game import BatchGame
from jimbot.games.contract import game_entry
from jimbot.policies.contract import Decision, Policy
from jimbot.runs.manifest import Manifest
from jimbot.training.advice.demonstrations import Demonstration, Demonstrations

FILE = "advice.npz"  # of a run
LAST_WAIT = 1.0  # seconds
LOOKED_AT = 64  # rows per update that may become a question

Probabilities = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(observation (n, D), legal mask (n, A)) → probabilities (n, A) and values (n,) of the policy as it is now."""


class LatestPolicy:
    """The policy being learned, as it was when it was last shown: what a planner plays on with."""

    name = "latest"

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def act(
        self, observation: np.ndarray, legal_mask: np.ndarray, deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Decision:  # fmt: skip
        return self.policy.act(observation, legal_mask, deterministic, key)


class BackgroundAdvice:
    """The adviser of one run."""

    def __init__(self, adviser: Adviser, game: BatchGame, folder: Path) -> None:
        self.adviser, self.entry = adviser, game_entry(game.spec.id)
        self.demonstrations = Demonstrations(game.spec)
        self.path = folder / FILE
        self.demonstrations.load(self.path)
        self._open: list[Future[Advice | None]] = []

    @classmethod
    def of(
        cls, settings: dict[str, Any], policy: Policy, manifest: Manifest | None, game: BatchGame, folder: Path
    ) -> BackgroundAdvice:
        """The adviser a run's settings mean; `folder` is the run's, whose name is charged."""
        chosen = AdviserSettings().with_values(settings)
        return cls(open_adviser(chosen, policy, manifest, f"train {folder.name}"), game, folder)

    def look(self, game: BatchGame, probabilities: Probabilities, decided: int, update: int) -> None:
        """After an update of `decided` decisions: asks about some of the positions the games stand at now."""
        when = self.adviser.when
        when.note(decided)
        self._open = [future for future in self._open if not future.done()]
        free = self.adviser.settings.at_once - len(self._open)
        rows = np.flatnonzero(game.acting & (game.legal_mask.sum(axis=1) > 1))
        if free <= 0 or not len(rows):
            return
        # Another part of the rows each time, always as many: one shape to compile.
        rows = np.resize(np.roll(rows, -update * LOOKED_AT), LOOKED_AT)
        observation, legal = game.observation[rows].copy(), game.legal_mask[rows].copy()
        chances, values = probabilities(observation, legal)
        unsure = np.flatnonzero(when.unsure(self.entry, observation, legal, chances))
        order = unsure[np.argsort(chances[unsure].max(axis=1), kind="stable")]
        for place in dict.fromkeys(int(rows[one]) for one in order):
            if free == 0 or not when.claim():
                return
            free -= 1
            self._ask(game, place, int(np.flatnonzero(rows == place)[0]), observation, chances, values)

    def save(self, options: dict[str, Any]) -> None:
        self.demonstrations.save(self.path, f"advice of {self.adviser.source.name}", options)

    def finish(self, options: dict[str, Any]) -> None:
        """After the last step: answers that are nearly there were paid for, and are waited for a moment."""
        wait(self._open, LAST_WAIT)
        self.save(options)

    def metrics(self) -> dict[str, float]:
        figures = self.adviser.figures
        return {
            "advice/asked": float(figures.asked),
            "advice/answered": float(figures.outcomes["answered"] + figures.outcomes["cached"]),
            "advice/demonstrations": float(len(self.demonstrations)),
            "advice/dollars": figures.dollars,
        }

    def close(self) -> None:
        """What is still being asked is not waited for; it stays charged."""
        self.adviser.close()

    def _ask(
        self, game: BatchGame, row: int, place: int, observation: np.ndarray, chances: np.ndarray, values: np.ndarray
    ) -> None:
        whole = np.zeros((game.num_rows, chances.shape[1]), np.float32)
        whole[row] = chances[place]
        expected = np.zeros(game.num_rows, np.float32)
        expected[row] = values[place]
        decision = Decision(whole.argmax(axis=1), whole, expected)
        copy = not self.adviser.source.used_llm
        question = question_in(self.entry, game, row, decision, self.adviser.hints, copy)
        seen, legal = observation[place].copy(), game.legal_mask[row].copy()
        future = self.adviser.begin(question, self.adviser.settings.seconds)
        self._open.append(future)
        weight = self.adviser.settings.weight

        def keep(done: Future[Advice | None]) -> None:
            advice = done.result()
            if advice is not None and legal[advice.action]:
                self.demonstrations.add(Demonstration(seen, legal, advice.action, weight))
                self.adviser.figures.add(followed=1)

        future.add_done_callback(keep)
