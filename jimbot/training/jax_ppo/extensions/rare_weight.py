"""Steps in which something rare happens weigh more in what the policy learns, as they are drawn more often in replay.

The factors are those the game gives its rare events (`hooks.RareEvent.boost`), to a power: 1 takes them whole, 0.5
their root. What has been met often enough weighs as much as everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from jimbot.errors import SettingsError
from jimbot.games.contract import available_games, game_entry
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.records import Array, Rollout
from jimbot.training.replay.rare_events import RareEventWatch
from jimbot.training.settings.record import TrainSettings

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.collector import HostCollector, Steps
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer


class RareWeight(Extension):
    """`rare_weight`: what every step weighs."""

    name, needs_host = "rare", True

    raised = 0.0  # share of the last rollout's steps that weighed more

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.exploration.rare_weight > 0

    def open(self, trainer: JaxPPOTrainer) -> None:
        if self.spec.id not in available_games() or game_entry(self.spec.id).rare_events is None:
            raise SettingsError(
                f"rare_weight is {self.settings.exploration.rare_weight}, but game '{self.spec.id}' names nothing that "
                "is rare. Leave it out."
            )
        self._watch = RareEventWatch(self.spec)

    def collected(self, collector: HostCollector, rollout: Rollout, key: Array, update: int) -> Rollout:
        return rollout._replace(weight=rollout.weight * self.weights(collector.steps()))

    def weights(self, steps: Steps) -> np.ndarray:
        """(T, N) float32, 1 and more."""
        power = np.float32(self.settings.exploration.rare_weight)
        weights = np.stack([self._watch.boost(before, after) for before, after in steps]) ** power
        self.raised = float((weights > 1).mean())
        return weights

    def metrics(self) -> dict[str, float]:
        return {"explore/rare_steps": self.raised}

    def arrays(self, games: int | None) -> dict[str, np.ndarray]:
        return {name: seen.copy() for name, seen in self._watch.arrays().items()}

    def restore(self, arrays: Mapping[str, np.ndarray], update: int) -> None:
        self._watch.load_arrays(arrays)
