"""A teacher who looks over the learner's shoulder (DAgger): what would it have done where the learner itself went?

A clone learns from positions its teacher met, and is lost where its own mistakes lead it. Here the learner plays, and
the teacher answers for a share of the positions of every rollout; the answers are one more term of PPO's loss, which
decays until the learner is on its own. A learner that knows nothing dies at once and meets nothing worth an answer, so
at first the teacher plays some of the games itself and hands them over, one after the other, as they stand. Which
positions are asked about and who plays follows from the update: exact resume needs nothing else.

It may also lend its judgement: what it thinks positions are worth, as a potential Φ that shapes rewards by γΦ' − Φ.
Over a game that adds up to the same whatever was played; but what a purchase was good for is known at once, not a
hundred steps later.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np

from jimbot.errors import SettingsError
from jimbot.policies.contract import Policy
from jimbot.policies.players import find_player
from jimbot.training.exploration.counting import Steps
from jimbot.training.jax_ppo.rollout import Rollout
from jimbot.training.settings.groups import TeacherSettings
from jimbot.training.settings.record import TrainSettings

NOT_ASKED = -1


class Teacher:
    """A policy, how often it is asked, and how much it plays."""

    def __init__(self, wanted: TeacherSettings, policy: Policy) -> None:
        self.share, self.updates = wanted.share, wanted.updates
        self.play, self.play_updates = wanted.play, wanted.play_updates
        self.answers, self.shaping = wanted.coef > 0, wanted.shaping
        self.policy = policy

    @classmethod
    def of(cls, settings: TrainSettings, runs_root: str | Path) -> Teacher | None:
        """The teacher that the settings name, if they name one."""
        wanted = settings.teacher
        if wanted.policy is None:
            return None
        policy = find_player(str(wanted.policy), settings.game, runs_root=runs_root).policy
        needed = getattr(policy, "options", {})
        missing = {name: value for name, value in needed.items() if settings.game_options.get(name) != value}
        if missing:
            asked = ", ".join(f"--option {name}={str(value).lower()}" for name, value in missing.items())
            raise SettingsError(
                f"The teacher '{wanted.policy}' cannot play with this run's game options; train with {asked}, or "
                "without a teacher (--teacher none)."
            )
        if wanted.shaping and getattr(policy, "appraise", None) is None:
            raise SettingsError(
                f"teacher_shaping is {wanted.shaping}, but '{wanted.policy}' has no opinion of what positions are "
                "worth. Leave it out, or name a scripted player that has one."
            )
        return cls(wanted, policy)

    def rows(self, update: int, rows: int) -> int:
        """How many of the rows it plays in an update: fewer with every one."""
        return round(self.play * rows * max(0.0, 1.0 - update / self.play_updates))

    def choose(self, observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        """(N,) its actions."""
        return self.policy.act(observation, legal_mask).actions

    def labels(self, rollout: Rollout, update: int, key: Any) -> np.ndarray:
        """(T, N) int32: the teacher's actions where it played, and for a share of the other positions, where there is a
        choice and as long as its answers weigh anything."""
        labels = np.full(rollout.action.shape, NOT_ASKED, np.int32)
        if update >= self.updates or not self.answers:
            return labels
        luck = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        wanted = luck.random(labels.shape) < self.share
        if rollout.acting is not None:
            wanted &= rollout.acting
        if rollout.guest is not None:
            wanted &= ~rollout.guest
            labels = np.where(rollout.guest & (rollout.legal_mask.sum(axis=-1) > 1), rollout.action, labels)
        asked = np.nonzero(wanted)
        choice = rollout.legal_mask[asked].sum(axis=1) > 1
        asked = tuple(places[choice] for places in asked)
        if len(asked[0]):
            labels[asked] = self.choose(rollout.features[asked], rollout.legal_mask[asked])
        return labels

    def shaped(self, steps: Steps, terminated: np.ndarray, truncated: np.ndarray, gamma: float) -> np.ndarray:
        """(T, N) float32: what every step of a rollout gained in its eyes; a game that is over is worth nothing."""
        appraise: Any = getattr(self.policy, "appraise", None)
        gained = np.zeros(terminated.shape, np.float32)
        begun = np.ones(terminated.shape[1], bool)  # games whose first position was not looked at yet
        now = np.zeros(terminated.shape[1], np.float32)
        for turn, (before, after) in enumerate(steps):
            now[begun] = appraise(before[begun])
            following = appraise(after)
            gained[turn] = gamma * np.where(terminated[turn], 0.0, following) - now
            now, begun = following, terminated[turn] | truncated[turn]
        return self.shaping * gained
