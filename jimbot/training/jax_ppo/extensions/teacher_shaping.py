"""A teacher lends its judgement: what it thinks positions are worth, as a potential Φ that shapes rewards by γΦ' − Φ.

Over a game that adds up to the same whatever was played; but what a purchase was good for is known at once, not a
hundred steps later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jimbot.errors import SettingsError
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.extensions.teacher_policy import teacher_policy
from jimbot.training.jax_ppo.records import Array, Rollout
from jimbot.training.settings.record import TrainSettings

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.collector import HostCollector, Steps
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer


class TeacherShaping(Extension):
    """`teacher_shaping`."""

    name, needs_host = "teacher_shaping", True

    appraise: Any

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.teacher.policy is not None and settings.teacher.shaping > 0

    def open(self, trainer: JaxPPOTrainer) -> None:
        self.appraise = getattr(teacher_policy(self.settings, trainer.session.run.root), "appraise", None)
        if self.appraise is None:
            raise SettingsError(
                f"teacher_shaping is {self.settings.teacher.shaping}, but '{self.settings.teacher.policy}' has no "
                "opinion of what positions are worth. Leave it out, or name a scripted player that has one."
            )

    def collected(self, collector: HostCollector, rollout: Rollout, key: Array, update: int) -> Rollout:
        gained = self.gained(collector.steps(), rollout.terminated, rollout.truncated)
        return rollout._replace(reward=rollout.reward + gained)

    def gained(self, steps: Steps, terminated: np.ndarray, truncated: np.ndarray) -> np.ndarray:
        """(T, N) float32: what every step of a rollout gained in its eyes; a game that is over is worth nothing."""
        gained = np.zeros(terminated.shape, np.float32)
        begun = np.ones(terminated.shape[1], bool)  # games whose first position was not looked at yet
        now = np.zeros(terminated.shape[1], np.float32)
        for turn, (before, after) in enumerate(steps):
            now[begun] = self.appraise(before[begun])
            following = self.appraise(after)
            gained[turn] = self.settings.gamma * np.where(terminated[turn], 0.0, following) - now
            now, begun = following, terminated[turn] | truncated[turn]
        return self.settings.teacher.shaping * gained
