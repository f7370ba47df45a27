"""A teacher that looks over the learner's shoulder (DAgger): what would it have done where the learner itself went?

A clone learns from positions its teacher met, and is lost where its own mistakes lead it. Here the learner plays, and
the teacher answers for a share of the positions of every rollout; the answers are one more term of PPO's loss, which
decays until the learner is on its own. Which positions are asked about follows from the update: exact resume needs
nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.policies import masking
from jimbot.policies.contract import Policy
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.extensions.teacher_play import PLAYED
from jimbot.training.jax_ppo.extensions.teacher_policy import teacher_policy
from jimbot.training.jax_ppo.ppo import TEACH, mean, phase_key
from jimbot.training.jax_ppo.records import Array, Outputs, Rollout, Samples, Update
from jimbot.training.settings.record import TrainSettings

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.collector import HostCollector
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer

NOT_ASKED = -1


class TeacherLabels(Extension):
    """`teacher`, `teacher_coef`, `teacher_updates` and `teacher_share`."""

    name, needs_host = "teacher_label", True

    policy: Policy

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.teacher.policy is not None and settings.teacher.coef > 0

    def open(self, trainer: JaxPPOTrainer) -> None:
        self.policy = teacher_policy(self.settings, trainer.session.run.root)

    def collected(self, collector: HostCollector, rollout: Rollout, key: Array, update: int) -> Rollout:
        labels = self.labels(rollout, update, phase_key(key, update, TEACH))
        return rollout._replace(extras=rollout.extras | {self.name: labels})

    def labels(self, rollout: Rollout, update: int, key: Any) -> np.ndarray:
        """(T, N) int32: the teacher's actions where it played, and for a share of the other positions, where there is a
        choice and as long as its answers weigh anything."""
        labels = np.full(rollout.action.shape, NOT_ASKED, np.int32)
        if update >= self.settings.teacher.updates:
            return labels
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        wanted = (rng.random(labels.shape) < self.settings.teacher.share) & rollout.acting
        if (played := rollout.extras.get(PLAYED)) is not None:
            wanted &= ~played
            labels = np.where(played & (rollout.legal_mask.sum(axis=-1) > 1), rollout.action, labels)
        asked = np.nonzero(wanted)
        choice = rollout.legal_mask[asked].sum(axis=1) > 1
        asked = tuple(places[choice] for places in asked)
        if len(asked[0]):
            labels[asked] = self.policy.act(rollout.features[asked], rollout.legal_mask[asked]).actions
        return labels

    def prepare(self, update: Update, rollout: Rollout, batch: Samples) -> Samples:
        label = rollout.extras[self.name].reshape(-1)
        return batch._replace(
            extras=batch.extras | {self.name: label}, weights=batch.weights | {self.name: label != NOT_ASKED}
        )

    def loss(self, update: Update, outputs: Outputs, batch: Samples) -> tuple[Array, dict[str, Array]]:
        """Minus the log-probability of what the teacher would do; and how much of that the policy finds best, too."""
        label, asked = batch.extras[self.name], batch.weights[self.name]
        loss = -mean(masking.of_action(outputs.log_probabilities, jnp.maximum(label, 0)), asked)
        agrees = masking.best(outputs.log_probabilities, batch.legal_mask) == label
        weight = self.weight(update.number)
        return weight * loss, {
            "train/teacher_loss": loss,
            "train/teacher_agreement": mean(agrees.astype(jnp.float32), asked),
            "train/teacher_weight": weight,
        }

    def weight(self, update: Any) -> Any:
        """What its answers weigh in an update: less with every one, and nothing in the end."""
        return self.settings.teacher.coef * jnp.maximum(0.0, 1.0 - update / self.settings.teacher.updates)
