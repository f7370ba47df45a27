"""The value's step cut off as the policy's is: of the errors with and without the cut the larger one counts."""

from __future__ import annotations

import jax.numpy as jnp

from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.ppo import mean
from jimbot.training.jax_ppo.records import Array, Outputs, Samples, Update
from jimbot.training.settings.record import TrainSettings


class ValueClipping(Extension):
    """`clip_value`: PPO's loss has the plain error, and this is what the larger one adds to it."""

    name = "value_clipping"

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.ppo.clip_value > 0

    def loss(self, update: Update, outputs: Outputs, batch: Samples) -> tuple[Array, dict[str, Array]]:
        clip = self.settings.ppo.clip_value
        near = batch.value + jnp.clip(outputs.value - batch.value, -clip, clip)
        excess = jnp.maximum((near - batch.target) ** 2 - (outputs.value - batch.target) ** 2, 0.0)
        term = 0.5 * mean(excess, batch.weights["value"])
        return self.settings.ppo.vf_coef * term, {"train/value_clip_loss": term}
