"""At first the teacher plays some of the games itself and hands them over, one after the other, as they stand: who
knows nothing dies at once and meets nothing worth an answer. Who plays follows from the update's number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jimbot.policies.contract import Policy
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.extensions.teacher_policy import teacher_policy
from jimbot.training.jax_ppo.records import Array, Rollout
from jimbot.training.settings.record import TrainSettings

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.collector import HostCollector
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer

PLAYED = "played_by_teacher"
"""(T, N) bool of a rollout's extras: what the teacher played teaches its value and its answer, but not PPO."""


class TeacherPlay(Extension):
    """`teacher_play` and `teacher_play_updates`."""

    name, needs_host = "teacher_play", True

    policy: Policy

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.teacher.policy is not None and settings.teacher.play > 0

    def open(self, trainer: JaxPPOTrainer) -> None:
        self.policy = teacher_policy(self.settings, trainer.session.run.root)

    def rows(self, update: int, rows: int) -> int:
        """How many of the rows it plays in an update: fewer with every one."""
        teacher = self.settings.teacher
        return round(teacher.play * rows * max(0.0, 1.0 - update / teacher.play_updates))

    def override(self, collector: HostCollector, turn: int, rows: np.ndarray) -> None:
        """It is certain of what it does."""
        game, mine = collector.game, rows[rows < self.rows(collector.update, collector.game.num_rows)]
        mine = mine[collector.acting[turn, mine]]
        if len(mine):
            collector.action[turn, mine] = self.policy.act(game.observation[mine], game.legal_mask[mine]).actions
            collector.log_probability[turn, mine] = 0.0
            collector.own[turn, mine] = False

    def collected(self, collector: HostCollector, rollout: Rollout, key: Array, update: int) -> Rollout:
        played = rollout.counts & ~collector.own
        return rollout._replace(extras=rollout.extras | {PLAYED: played})
