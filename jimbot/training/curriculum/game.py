"""The curriculum by ante over a native batch of Balatro: what `CurriculumWrapper` is for one game, at full speed.

It is a BatchGame itself, so every learner takes it, and its snapshot holds the curriculum too: a continued run goes on
at the level it had reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.balatro.encoding.rewards import write_stats
from jimbot.games.balatro.game import BalatroGame
from jimbot.games.contract import BatchGame
from jimbot.training.curriculum.rule import AnteCurriculum

PREFIX = "curriculum/"  # of the curriculum's arrays inside a snapshot


class CurriculumGame(BatchGame):
    """Balatro in which a game is cut off (truncated), as a success, when `curriculum.max_ante` is beaten.

    The arrays are those of the batch inside: nothing is copied.
    """

    def __init__(self, game: BatchGame, curriculum: AnteCurriculum | None = None) -> None:
        if not isinstance(game, BalatroGame):
            raise UsageError(f"The curriculum by ante is Balatro's; '{game.spec.id}' has no antes. Turn it off.")
        self.game = game
        self.curriculum = curriculum or AnteCurriculum()
        for name in ("spec", "num_envs", "num_rows", "seed", "checked", "options", *BatchGame.__annotations__):
            setattr(self, name, getattr(game, name))
        self._won = game.spec.episode_stats.index("won")

    def reset(self, seeds: np.ndarray | None = None) -> None:
        self.game.reset(seeds)

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        self.game.step(actions, hold)
        self.illegal_actions = self.game.illegal_actions
        self.curriculum.played(self.num_rows if hold is None else int(np.count_nonzero(~np.asarray(hold, bool))))
        ended = self.terminated | self.truncated
        beaten = self.curriculum.beaten(self.game.games["ante"]) & ~ended  # an ended row is back in ante 1
        if hold is not None:
            beaten &= ~np.asarray(hold, bool)
        if beaten.any():
            self._cut_off(np.flatnonzero(beaten))
        for row in np.flatnonzero(ended | beaten):
            self.curriculum.record(bool(beaten[row] or self.final_stats[row, self._won]))

    def _cut_off(self, rows: np.ndarray) -> None:
        reward, reward_terms = self.reward[rows], self.reward_terms[rows]
        self.final_observation[rows] = self.observation[rows]
        for row in rows:
            write_stats(self.game.games[row], self.final_stats[row])
        self.game.restart(rows)
        self.reward[rows], self.reward_terms[rows] = reward, reward_terms
        self.truncated[rows] = True

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """All of it; of chosen rows only the games, as the level belongs to the whole batch."""
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

    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self.game.redraw_hidden(rows, seeds)

    def describe(self, row: int) -> str:
        return self.game.describe(row)

    def describe_action(self, row: int, action: int) -> str:
        return self.game.describe_action(row, action)

    def close(self) -> None:
        self.game.close()
