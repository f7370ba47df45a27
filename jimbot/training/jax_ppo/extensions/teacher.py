"""The teacher that a run's settings name: it plays at first, answers where the learner goes, appraises positions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.errors import SettingsError
from jimbot.policies import masking
from jimbot.policies.contract import Policy
from jimbot.policies.players import find_player
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.ppo import TEACH, mean, phase_key
from jimbot.training.jax_ppo.records import Array, Outputs, Rollout, Samples, Update
from jimbot.training.settings.record import TrainSettings

if TYPE_CHECKING:
    from jimbot.training.jax_ppo.collector import HostCollector, Steps
    from jimbot.training.jax_ppo.trainer import JaxPPOTrainer


def teacher_policy(settings: TrainSettings, runs_root: str | Path) -> Policy:
    """Raises one sentence where it cannot play this run's games."""
    wanted = str(settings.teacher.policy)
    policy = find_player(wanted, settings.game, runs_root=runs_root).policy
    needed = getattr(policy, "options", {})
    missing = {name: value for name, value in needed.items() if settings.game_options.get(name) != value}
    if missing:
        asked = ", ".join(f"--option {name}={str(value).lower()}" for name, value in missing.items())
        raise SettingsError(
            f"The teacher '{wanted}' cannot play with this run's game options; train with {asked}, or without a "
            "teacher (--teacher none)."
        )
    return policy


PLAYED = "played_by_teacher"
"""(T, N) bool of a rollout's extras: what the teacher played teaches its value and its answer, but not PPO."""


class TeacherPart(Extension):
    """What a teacher does in a run; wanted where its setting `amount` is above 0."""

    needs_host = True
    amount: str
    policy: Policy

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.teacher.policy is not None and getattr(settings.teacher, cls.amount) > 0

    def open(self, trainer: JaxPPOTrainer) -> None:
        self.policy = teacher_policy(self.settings, trainer.session.run.root)


class TeacherPlay(TeacherPart):
    """`teacher_play` and `teacher_play_updates`: at first it plays some of the games itself and hands them over, one
    after the other, as they stand: a policy that knows nothing dies at once and meets nothing worth an answer. Which
    games follows from the update's number."""

    name, amount = "teacher_play", "play"

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


NOT_ASKED = -1


class TeacherLabels(TeacherPart):
    """`teacher`, `teacher_coef`, `teacher_updates` and `teacher_share` (DAgger): what would it have done where the
    learner itself went?

    A clone learns from positions its teacher met, and is lost where its own mistakes lead it. Here the learner plays,
    and the teacher answers for a share of the positions of every rollout; the answers are one more term of PPO's loss,
    which decays until the learner is on its own. Which positions are asked about follows from the update: exact resume
    needs nothing else."""

    name, amount = "teacher_label", "coef"

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


class TeacherShaping(TeacherPart):
    """`teacher_shaping`: what it thinks positions are worth, as a potential Φ that shapes rewards by γΦ' − Φ. Over a
    game that adds up to the same whatever was played; but what a purchase was good for is known at once, not a hundred
    steps later."""

    name, amount = "teacher_shaping", "shaping"
    appraise: Any

    def open(self, trainer: JaxPPOTrainer) -> None:
        super().open(trainer)
        self.appraise = getattr(self.policy, "appraise", None)
        if self.appraise is None:
            raise SettingsError(
                f"teacher_shaping is {self.settings.teacher.shaping}, but '{self.settings.teacher.policy}' has no "
                "opinion of what positions are worth. Leave it out, or name a heuristic player that has one."
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
