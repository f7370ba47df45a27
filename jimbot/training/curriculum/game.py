"""A curriculum over a native batch of games: what `CurriculumWrapper` is for one game, at full speed.

It is a BatchGame itself, so every learner takes it, and its snapshot holds the curriculum too: a continued run goes on
at the goal it had reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.contract import BatchGame, Milestones, available_games, game_entry
from jimbot.training.curriculum.around import AroundGame
from jimbot.training.curriculum.rule import Curriculum, curriculum_of

PREFIX = "curriculum/"  # of the curriculum's arrays inside a snapshot
WON = "won"


class CurriculumGame(AroundGame):
    """Games that are cut off (truncated), as a success, when the curriculum's goal is beaten."""

    def __init__(self, game: BatchGame, curriculum: Curriculum | None = None) -> None:
        super().__init__(game)
        self.milestones = milestones_of(game)
        self.curriculum = curriculum or curriculum_of(self.milestones)
        stats = game.spec.episode_stats
        self._won = stats.index(WON) if WON in stats else None

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        self.game.step(actions, hold)
        self.illegal_actions = self.game.illegal_actions
        self.curriculum.played(self.num_rows if hold is None else int(np.count_nonzero(~np.asarray(hold, bool))))
        ended = self.terminated | self.truncated
        beaten = self.curriculum.beaten(self.milestones.reached(self.game)) & ~ended  # an ended row has begun anew
        if hold is not None:
            beaten &= ~np.asarray(hold, bool)
        if beaten.any():
            self.milestones.cut_off(self.game, np.flatnonzero(beaten))
        for row in np.flatnonzero(ended | beaten):
            self.curriculum.record(bool(beaten[row]) or self._is_won(row))

    def _is_won(self, row: int) -> bool:
        return self._won is not None and bool(self.final_stats[row, self._won])

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """All of it; of chosen rows only the games, as the goal belongs to the whole batch."""
        saved = self.game.snapshot(rows)
        if rows is None:
            saved |= {PREFIX + name: value for name, value in self.curriculum.snapshot().items()}
        return saved

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        parts: dict[bool, dict[str, Any]] = {True: {}, False: {}}
        for name, value in snapshot.items():
            parts[name.startswith(PREFIX)][name.removeprefix(PREFIX)] = value
        self.game.restore(parts[False], rows)
        if rows is None:
            self.curriculum.restore(parts[True])


def milestones_of(game: BatchGame) -> Milestones:
    """Where a batch can be stopped; one sentence if nowhere."""
    name = game.spec.id
    milestones = game_entry(name).milestones if name in available_games() else None
    if milestones is None:
        raise UsageError(
            f"A curriculum plays up to a milestone; game '{name}' has no antes, stages or the like "
            "(GameEntry.milestones). Turn it off."
        )
    return milestones
