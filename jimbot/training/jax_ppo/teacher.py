"""A teacher who looks over the learner's shoulder (DAgger): what would it have done where the learner itself went?

A clone learns from positions its teacher met, and is lost where its own mistakes lead it. Here the learner plays, and
the teacher answers for a share of the positions of every rollout; the answers are one more term of PPO's loss, which
decays until the learner is on its own. Which positions are asked about follows from the update's key: exact resume
needs nothing else.
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
from jimbot.training.settings.record import TrainSettings

NOT_ASKED = -1


class Teacher:
    """A policy, and how often it is asked."""

    def __init__(self, policy: Policy, share: float, updates: int) -> None:
        self.policy = policy
        self.share = share
        self.updates = updates

    @classmethod
    def of(cls, settings: TrainSettings, runs_root: str | Path) -> Teacher | None:
        """The teacher that the settings name, if they name one."""
        wanted = settings.teacher
        if wanted.policy is None:
            return None
        player = find_player(wanted.policy, settings.game, runs_root=runs_root)
        needed = getattr(player.policy, "options", {})
        missing = {name: value for name, value in needed.items() if settings.game_options.get(name) != value}
        if missing:
            asked = ", ".join(f"--option {name}={str(value).lower()}" for name, value in missing.items())
            raise SettingsError(
                f"The teacher '{wanted.policy}' cannot play with this run's game options; train with {asked}, or "
                "without a teacher (--teacher none)."
            )
        return cls(player.policy, wanted.share, wanted.updates)

    def labels(self, rollout: Rollout, update: int, key: Any) -> np.ndarray:
        """(T, N) int32: the teacher's actions for a share of the positions where there is a choice, as long as its
        answers weigh anything."""
        labels = np.full(rollout.action.shape, NOT_ASKED, np.int32)
        if update >= self.updates:
            return labels
        luck = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        wanted = luck.random(labels.shape) < self.share
        if rollout.acting is not None:
            wanted &= rollout.acting
        asked = np.nonzero(wanted)
        choice = rollout.legal_mask[asked].sum(axis=1) > 1
        asked = tuple(places[choice] for places in asked)
        if len(asked[0]):
            labels[asked] = self.policy.act(rollout.features[asked], rollout.legal_mask[asked]).actions
        return labels
