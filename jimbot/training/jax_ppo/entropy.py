"""The entropy bonus, by groups of actions where that is asked for.

A policy chooses twice: a kind of action (a block of the game's action table), then one of that kind. Its entropy is the
sum of both, and large blocks have most of it: to try out shop moves one would have to play cards at random. With
`ent_blocks` the second choice counts by a factor per block, while the choice between blocks counts as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.errors import UnknownNameError
from jimbot.games.spec import GameSpec
from jimbot.policies import masking

Array = jax.Array
SMALL = 1e-30  # below any probability: blocks without one have no entropy


class Blocks(NamedTuple):
    """A game's blocks, as arrays."""

    member: np.ndarray  # (A, K) float32, 1 where an action is of a block
    factor: np.ndarray  # (A,) float32, of the entropy inside the action's block


def blocks_of(spec: GameSpec, factors: Mapping[str, float]) -> Blocks | None:
    """None where every block counts the same."""
    if not factors:
        return None
    names = [block.name for block in spec.actions.blocks]
    for name in factors:
        if name not in names:
            raise UnknownNameError(f"action block of game '{spec.id}' in ent_blocks", name, names)
    weights = np.array([factors.get(name, 1.0) for name in names], np.float32)
    return Blocks(np.eye(len(names), dtype=np.float32)[spec.actions.block_of], weights[spec.actions.block_of])


def entropy(log_probability: Array, legal_mask: Array, blocks: Blocks | None) -> Array:
    """(B,) entropy in nats over legal actions."""
    if blocks is None:
        return masking.entropy(log_probability, legal_mask)
    chances: Any = masking.probabilities(log_probability, legal_mask)
    of_block = chances @ blocks.member  # (B, K)
    log_block = jnp.log(jnp.maximum(of_block, SMALL))
    inside = jnp.where(legal_mask, log_probability - log_block @ blocks.member.T, 0.0)
    return -jnp.sum(of_block * log_block, axis=-1) - jnp.sum(blocks.factor * chances * inside, axis=-1)
