"""The entropy bonus by groups of actions, and by levels of decisions.

A policy chooses twice: a kind of action (a block of the game's action table), then one of that kind. Its entropy is the
sum of both, and large blocks have most of it: to try out shop moves one would have to play cards at random. Here the
second choice counts by a factor per block, while the choice between blocks counts as ever.

Exploration by levels: in Balatro the hand, the shop, the blind. A game that decides on several levels names them
(`GameEntry.decision_levels`, the finest first). All of them exploring at once drowns the coarse ones: whether it was
right to skip a blind cannot be seen while hands are played half at random. So the levels take turns, `TURN` updates
each, from the finest on: the one whose turn it is has the whole entropy bonus, the others have `REST` of it. Positions
that belong to no level keep theirs. The bonus is part of the loss alone; what is played is drawn as ever.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.games.contract import game_entry
from jimbot.games.spec import GameSpec
from jimbot.policies import masking
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.ppo import mean
from jimbot.training.jax_ppo.records import Array, Outputs, Samples, Update
from jimbot.training.settings.record import TrainSettings

SMALL = 1e-30  # below any probability: blocks without one have no entropy
HIERARCHICAL = "hierarchical"
TURN = 20  # updates
REST = 0.25  # of the bonus, for levels whose turn it is not
LEAST_WEIGHT = 1e-9


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
        seen = jnp.sum(of_level * entropy[:, None], axis=0) / jnp.maximum(jnp.sum(of_level, axis=0), LEAST_WEIGHT)
        found = {f"explore/entropy_{name}": seen[place] for place, name in enumerate(self.levels)}
        return self.settings.ppo.ent_coef * unpaid, {"explore/level": turn.astype(jnp.float32), **found}
