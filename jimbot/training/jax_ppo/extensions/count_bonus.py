"""A bonus for what was seldom met: c/√n for the n-th time something happens to a key (which joker, which boss).

What counts is what the game names worth remembering (`hooks.RareEvent`), so a joker held for the first time pays c, for
the hundredth a tenth of it. The counts are part of the training state: resume is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry
from jimbot.games.hooks.learners import RareEvent
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.records import Array, Rollout
from jimbot.training.settings.record import TrainSettings

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.collector import HostCollector, Steps
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer


class CountBonus(Extension):
    """`count_bonus`: what is paid, and how often everything was met."""

    name, needs_host, metric = "bonus", True, "explore/count_bonus"

    counts: dict[str, np.ndarray]
    paid = 0.0  # of the last rollout, a step on average

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.exploration.count_bonus > 0

    @property
    def coef(self) -> float:
        return self.settings.exploration.count_bonus

    def open(self, trainer: JaxPPOTrainer) -> None:
        self.pay_for(self.events())

    def events(self) -> Sequence[RareEvent]:
        """What is paid for."""
        events = game_entry(self.settings.game).rare_events
        if events is None:
            raise SettingsError(
                f"count_bonus is {self.coef}, but game '{self.settings.game}' names nothing that could be counted. "
                "Leave it out."
            )
        return events()

    def pay_for(self, events: Sequence[RareEvent]) -> None:
        self._events = tuple(events)
        self.counts = {event.name: np.zeros(event.keys, np.int64) for event in events}

    def collected(self, collector: HostCollector, rollout: Rollout, key: Array, update: int) -> Rollout:
        return rollout._replace(reward=rollout.reward + self.rewards(collector.steps()))

    def rewards(self, steps: Steps) -> np.ndarray:
        """(T, N) float32: the bonus of every step of a rollout."""
        bonus = np.stack([self._step(before, after) for before, after in steps])
        self.paid = float(bonus.mean())
        return bonus

    def _step(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        paid = np.zeros(len(before), np.float32)
        for event in self._events:
            rows, keys = event.find(before, after)
            counts = self.counts[event.name]
            np.add.at(counts, keys, 1)
            np.add.at(paid, rows, self.coef / np.sqrt(counts[keys]))
        return paid

    def metrics(self) -> dict[str, float]:
        met = {f"explore/{name}_met": float((counts > 0).sum()) for name, counts in self.counts.items()}
        return {self.metric: self.paid, **met}

    def arrays(self, games: int | None) -> dict[str, np.ndarray]:
        return {name: counts.copy() for name, counts in self.counts.items()}

    def restore(self, arrays: Mapping[str, np.ndarray], update: int) -> None:
        """What a checkpoint does not know was never met."""
        for name, counts in self.counts.items():
            kept = arrays.get(name)
            known = kept is not None and kept.shape == counts.shape
            self.counts[name] = kept.copy() if kept is not None and known else np.zeros_like(counts)
