"""A batch of games around another one: the same arrays, and everything handed on that is not done otherwise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jimbot.games.contract import BatchGame


class AroundGame(BatchGame):
    """The batch inside, as it is. Nothing is copied."""

    def __init__(self, game: BatchGame) -> None:
        self.game = game
        for name in ("spec", "num_envs", "num_rows", "seed", "checked", *BatchGame.__annotations__):
            setattr(self, name, getattr(game, name, None))

    def reset(self, seeds: np.ndarray | None = None) -> None:
        self.game.reset(seeds)

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        self.game.step(actions, hold)
        self.illegal_actions = self.game.illegal_actions

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        return self.game.snapshot(rows)

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        self.game.restore(snapshot, rows)

    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self.game.redraw_hidden(rows, seeds)

    def describe(self, row: int) -> str:
        return self.game.describe(row)

    def describe_action(self, row: int, action: int) -> str:
        return self.game.describe_action(row, action)

    def health(self) -> dict[str, float]:
        return self.game.health()

    def close(self) -> None:
        self.game.close()
