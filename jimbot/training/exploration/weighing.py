"""Steps in which something rare happens weigh more in what the policy learns, as they are drawn more often in replay.

The factors are those the game gives its rare events (`hooks.RareEvent.boost`), to a power: 1 takes them whole, 0.5
their root. What has been met often enough weighs as much as everything else.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jimbot.errors import SettingsError
from jimbot.games.contract import available_games, game_entry
from jimbot.games.spec import GameSpec
from jimbot.training.exploration.counting import Steps
from jimbot.training.replay.rare_events import RareEventWatch


class RareWeight:
    """What every step weighs."""

    def __init__(self, watch: RareEventWatch, power: float) -> None:
        self._watch, self._power = watch, power
        self.raised = 0.0
        """Share of the last rollout's steps that weighed more."""

    @classmethod
    def of(cls, spec: GameSpec, power: float) -> RareWeight | None:
        """None where all steps weigh the same."""
        if not power:
            return None
        if spec.id not in available_games() or game_entry(spec.id).rare_events is None:
            raise SettingsError(
                f"rare_weight is {power}, but game '{spec.id}' names nothing that is rare. Leave it out."
            )
        return cls(RareEventWatch(spec), power)

    def weights(self, steps: Steps) -> np.ndarray:
        """(T, N) float32, 1 and more."""
        weights = np.stack([self._watch.boost(before, after) for before, after in steps]) ** np.float32(self._power)
        self.raised = float((weights > 1).mean())
        return weights

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: seen.copy() for name, seen in self._watch.arrays().items()}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._watch.load_arrays(arrays)

    def metrics(self) -> dict[str, float]:
        return {"explore/rare_steps": self.raised}
