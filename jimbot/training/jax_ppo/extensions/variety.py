"""How many ways to play the games of a run show (`hooks.Variety`): a policy that locks in shows in its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jimbot.games.contract import BatchGame, available_games, game_entry
from jimbot.games.variety import VarietyCount
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.records import Array
from jimbot.training.settings.record import TrainSettings

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer


class VarietyMetrics(Extension):
    """Wherever a game says what tells ways to play apart, and is stepped from Python."""

    name = "variety"

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.game in available_games() and game_entry(settings.game).varieties is not None

    def open(self, trainer: JaxPPOTrainer) -> None:
        varieties = game_entry(self.settings.game).varieties
        self._count = VarietyCount(varieties() if varieties is not None else ())

    def updated(self, trainer: JaxPPOTrainer, update: int, losses: Mapping[str, Array]) -> None:
        if isinstance(trainer.game, BatchGame):
            self._count.look(trainer.game.observation)

    def metrics(self) -> dict[str, float]:
        found = self._count.metrics()
        self._count.clear()
        return found
