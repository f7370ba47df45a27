"""The entropy bonus by groups of actions.

A policy chooses twice: a kind of action (a block of the game's action table), then one of that kind. Its entropy is the
sum of both, and large blocks have most of it: to try out shop moves one would have to play cards at random. Here the
second choice counts by a factor per block, while the choice between blocks counts as ever.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from jimbot.errors import UnknownNameError
from jimbot.games.spec import GameSpec
from jimbot.policies import masking
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.ppo import mean
from jimbot.training.jax_ppo.records import Array, Outputs, Samples, Update
from jimbot.training.settings.record import TrainSettings

SMALL = 1e-30  # below any probability: blocks without one have no entropy


class EntropyBlocks(Extension):
    """`ent_blocks`: takes back what the bonus pays too much for entropy inside blocks."""

    name = "entropy_blocks"

    def __init__(self, settings: TrainSettings, spec: GameSpec) -> None:
        super().__init__(settings, spec)
        names, factors = [block.name for block in spec.actions.blocks], settings.ppo.ent_blocks
        for name in factors:
            if name not in names:
                raise UnknownNameError(f"action block of game '{spec.id}' in ent_blocks", name, names)
        weights = np.array([factors.get(name, 1.0) for name in names], np.float32)
        self.member = np.eye(len(names), dtype=np.float32)[spec.actions.block_of]  # (A, K), 1 where of a block
        self.surplus = 1.0 - weights[spec.actions.block_of]  # (A,) of the entropy inside the action's block

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return bool(settings.ppo.ent_blocks)

    def loss(self, update: Update, outputs: Outputs, batch: Samples) -> tuple[Array, dict[str, Array]]:
        inside = mean(self.inside(outputs.log_probabilities, batch.legal_mask), batch.weights["policy"])
        return self.settings.ppo.ent_coef * inside, {"train/entropy_unpaid": inside}

    def inside(self, log_probability: Array, legal_mask: Array) -> Array:
        """(B,) entropy inside blocks, in nats, as far as it is not paid for."""
        chances = masking.probabilities(log_probability, legal_mask)
        log_block = jnp.log(jnp.maximum(chances @ self.member, SMALL))  # (B, K)
        within = jnp.where(legal_mask, log_probability - log_block @ self.member.T, 0.0)
        return -jnp.sum(self.surplus * chances * within, axis=-1)
