"""Positions with one legal action: nothing is chosen there, so the policy's gradient is exactly 0 and most of them can
be left out of the batch. Those of every n-th step still teach their value, because a rollout may end at one."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.records import Rollout, Update
from jimbot.training.settings.record import TrainSettings


class ForcedMoves(Extension):
    """`forced_every`: learn from every n-th of them."""

    name = "forced"

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.ppo.forced_every > 1

    def transform(self, update: Update, rollout: Rollout) -> tuple[Any, Rollout]:
        forced = rollout.acting & (jnp.sum(rollout.legal_mask, axis=-1) == 1)
        taught = jnp.arange(rollout.action.shape[0])[:, None] % self.settings.ppo.forced_every == 0
        return None, rollout._replace(
            acting=rollout.acting & ~forced,
            weight=jnp.where(forced, 0.0, rollout.weight),
            counts=rollout.counts & (~forced | taught),
        )
