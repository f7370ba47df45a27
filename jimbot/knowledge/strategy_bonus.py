"""`strategy_bonus` while learning: an extension of the jax learner that pays for coming to strategies of the knowledge
graph, the less the oftener (`count_bonus`). The strategies are part of the training state like the counts, so resume is
exact, whatever became of the graph. How many of them are followed is logged with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from jimbot.errors import SettingsError
from jimbot.games.contract import BatchGame
from jimbot.games.hooks.learners import Found, RareEvent
from jimbot.games.variety import VarietyCount
from jimbot.knowledge.sorting import NONE, Sorter, sorter_of
from jimbot.training.jax_ppo.extensions.count_bonus import CountBonus
from jimbot.training.jax_ppo.records import Array
from jimbot.training.settings.record import TrainSettings

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer

STRATEGIES, WEIGHTS = "new_strategy", "strategies"


class StrategyBonus(CountBonus):
    """Named by its setting, kept in checkpoints beside the counts of `count_bonus`."""

    metric = "explore/strategy_bonus"

    sorter: Sorter

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.exploration.strategy_bonus > 0

    @property
    def coef(self) -> float:
        return self.settings.exploration.strategy_bonus

    def events(self) -> Sequence[RareEvent]:
        found = sorter_of(self.settings.game)
        if found is None:
            raise SettingsError(
                f"strategy_bonus is {self.coef}, but no strategies of game '{self.settings.game}' are known. Leave it "
                "out, or find some: jimbot graph discover"
            )
        return (self._follow(found),)

    def _follow(self, sorter: Sorter) -> RareEvent:
        self.sorter, self._variety = sorter, VarietyCount((sorter.variety(),))
        return new_strategy(sorter)

    def updated(self, trainer: JaxPPOTrainer, update: int, losses: Mapping[str, Array]) -> None:
        if isinstance(trainer.game, BatchGame):
            self._variety.look(trainer.game.observation)

    def metrics(self) -> dict[str, float]:
        found = super().metrics() | self._variety.metrics()
        self._variety.clear()
        return found

    def arrays(self, games: int | None) -> dict[str, np.ndarray]:
        return {**super().arrays(games), WEIGHTS: self.sorter.weights}

    def restore(self, arrays: Mapping[str, np.ndarray], update: int) -> None:
        weights = arrays.get(WEIGHTS)
        if weights is not None and len(weights) == len(self.sorter.weights):
            names = tuple(f"strategy {number}" for number in range(weights.shape[1]))
            self.pay_for((self._follow(replace(self.sorter, names=names, weights=weights)),))
        super().restore(arrays, update)


def new_strategy(sorter: Sorter) -> RareEvent:
    """A game comes to another strategy than it followed before."""

    def find(before: np.ndarray, after: np.ndarray) -> Found:
        old, new = sorter.nearest(before), sorter.nearest(after)
        rows = np.flatnonzero((new != NONE) & (new != old))
        return rows, new[rows]

    return RareEvent(STRATEGIES, 1.0, None, len(sorter.names), find)
