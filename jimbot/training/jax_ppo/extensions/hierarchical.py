"""Exploration by levels of decisions: in Balatro the hand, the shop, the blind.

A game that decides on several levels names them (`GameEntry.decision_levels`, the finest first). All of them exploring
at once drowns the coarse ones: whether it was right to skip a blind cannot be seen while hands are played half at
random. So the levels take turns, `TURN` updates each, from the finest on: the one whose turn it is has the whole
entropy bonus, the others have `REST` of it. Positions that belong to no level keep theirs.

The bonus is part of the loss alone; what is played is drawn from the policy as ever, so nothing about PPO changes.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry
from jimbot.games.spec import GameSpec
from jimbot.policies import masking
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.ppo import mean
from jimbot.training.jax_ppo.records import Array, Outputs, Samples, Update
from jimbot.training.settings.record import TrainSettings

HIERARCHICAL = "hierarchical"
TURN = 20  # updates
SMALL = 1e-9
REST = 0.25  # of the bonus, for levels whose turn it is not


class HierarchicalExploration(Extension):
    """`exploration: hierarchical`."""

    name = HIERARCHICAL

    def __init__(self, settings: TrainSettings, spec: GameSpec) -> None:
        super().__init__(settings, spec)
        levels = game_entry(settings.game).decision_levels
        if not levels:
            raise SettingsError(
                f"exploration is {HIERARCHICAL}, but game '{settings.game}' names no levels of decisions. Leave it out."
            )
        self.levels = tuple(levels)
        names = [block.name for block in spec.actions.blocks]
        blocks = np.array([[name in levels[level] for level in self.levels] for name in names], np.float32)
        self.tells = blocks[spec.actions.block_of]  # (A, L) 1 where an action is legal on that level alone

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.exploration.kind == HIERARCHICAL

    def level_of(self, legal_mask: Array) -> Array:
        """(B, L) bool: the level each position belongs to, if it does to one; of several the finest."""
        on = jnp.asarray(legal_mask, jnp.float32) @ self.tells > 0
        return on & (jnp.cumsum(on, axis=1) == 1)

    def explores(self, number: Array) -> Array:
        """() which level's turn it is in an update."""
        return (number // TURN) % len(self.levels)

    def loss(self, update: Update, outputs: Outputs, batch: Samples) -> tuple[Array, dict[str, Array]]:
        entropy = masking.entropy(outputs.log_probabilities, batch.legal_mask)
        level, turn = self.level_of(batch.legal_mask), self.explores(update.number)
        resting = jnp.any(level & (jnp.arange(len(self.levels)) != turn), axis=1)
        weight = batch.weights["policy"]
        unpaid = (1 - REST) * mean(jnp.where(resting, entropy, 0.0), weight)
        of_level = weight[:, None] * level  # (B, L)
        seen = jnp.sum(of_level * entropy[:, None], axis=0) / jnp.maximum(jnp.sum(of_level, axis=0), SMALL)
        found = {f"explore/entropy_{name}": seen[place] for place, name in enumerate(self.levels)}
        return self.settings.ppo.ent_coef * unpaid, {"explore/level": turn.astype(jnp.float32), **found}
