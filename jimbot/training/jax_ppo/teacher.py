"""A teacher who looks over the learner's shoulder (DAgger): what would it have done where the learner itself went?

A clone learns from positions its teacher met, and is lost where its own mistakes lead it. Here the learner plays, and
the teacher answers for a share of the positions of every rollout; the answers are one more term of PPO's loss, which
decays until the learner is on its own. A learner that knows nothing dies at once and meets nothing worth an answer, so
at first the teacher plays some of the games itself and hands them over, one after the other, as they stand. Which
positions are asked about and who plays follows from the update: exact resume needs nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np

from jimbot.errors import SettingsError
from jimbot.policies.contract import Policy
from jimbot.policies.players import find_player
from jimbot.training.jax_ppo.rollout import Rollout
from jimbot.training.settings.groups import TeacherSettings
from jimbot.training.settings.record import TrainSettings

NOT_ASKED = -1


class Teacher:
    """A policy, how often it is asked, and how much it plays."""

    def __init__(self, wanted: TeacherSettings, policy: Policy) -> None:
        self.share, self.updates = wanted.share, wanted.updates
        self.play, self.play_updates = wanted.play, wanted.play_updates
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
        if update >= self.updates:
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
