"""A run that begins with another policy (`training.init_policy`): a KL anchor to it, layers that do not learn yet."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jimbot.policies import masking
from jimbot.policies.jax_networks import Params
from jimbot.training.init_policy import anchor_weight, frozen_updates
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.ppo import mean
from jimbot.training.jax_ppo.records import Array, Outputs, Rollout, Samples, Update
from jimbot.training.settings.record import TrainSettings


class KLAnchor(Extension):
    """`init_kl`: the divergence from the reference is a term of the loss."""

    name = "reference"

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.start.init_kl > 0

    def initial_state(self, params: Params, rows: int) -> Params:
        return jax.tree.map(jnp.zeros_like, params)  # until a start is given

    def begin(self, state: Params, copied: Callable[[], Params], steps: int | None) -> Params:
        return copied()

    def prepare(self, update: Update, rollout: Rollout, batch: Samples) -> Samples:
        """The reference's log-probabilities; not computed once its weight has decayed to 0. In as many parts as there
        are minibatches: what a network computes on its way takes several times the memory of its answer."""
        pieces = self.settings.ppo.num_minibatches

        def piece(rows: tuple[Array, Array]) -> Array:
            return masking.log_probabilities(update.network.apply(update.state[self.name], rows[0])[0], rows[1])

        def all_of_them() -> Array:
            parts = tuple(values.reshape(pieces, -1, values.shape[-1]) for values in (batch.features, batch.legal_mask))
            return jax.lax.map(piece, parts).reshape(batch.legal_mask.shape)

        nothing = jnp.zeros(batch.legal_mask.shape, jnp.float32)
        reference = jax.lax.cond(self._weight(update) > 0, all_of_them, lambda: nothing)
        return batch._replace(extras=batch.extras | {self.name: reference})

    def loss(self, update: Update, outputs: Outputs, batch: Samples) -> tuple[Array, dict[str, Array]]:
        weight = self._weight(update)
        distance = divergence(batch.extras[self.name], outputs.log_probabilities, batch.legal_mask)
        init_kl = jnp.where(weight > 0, mean(distance, batch.weights["policy"]), 0.0)
        return weight * init_kl, {"train/init_kl": init_kl}

    def _weight(self, update: Update) -> Array:
        return anchor_weight(self.settings, update.number, jnp)


def divergence(reference: Array, log_probability: Array, legal_mask: Array) -> Array:
    """(B,) Kullback-Leibler divergence of the reference from the policy, over legal actions."""
    difference = jnp.where(legal_mask, reference - log_probability, 0.0)
    return jnp.sum(masking.probabilities(reference, legal_mask) * difference, axis=-1)


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
