"""Layers that do not learn yet, at the start of a run that begins with another policy (`training.init_policy`)."""

from __future__ import annotations

import jax.numpy as jnp

from jimbot.policies.jax_networks import Params
from jimbot.training.init_policy import frozen_updates
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.records import Update
from jimbot.training.settings.record import TrainSettings


class FrozenLayers(Extension):
    """`value_warmup_updates` and `freeze_trunk_updates`."""

    name = "frozen"

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return bool(settings.start.value_warmup_updates or settings.start.freeze_trunk_updates)

    def restrict(self, update: Update, params: Params, moved: Params) -> Params:
        """Frozen parameters stay bit for bit, while the optimiser goes on measuring their gradients: once they may
        move, their step size is a settled one."""
        learns = {name: update.number >= frozen_updates(self.settings, name) for name in moved}
        return {name: jnp.where(learns[name], moved[name], params[name]) for name in moved}
