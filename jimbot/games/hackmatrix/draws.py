"""Where the game's randomness comes from, and the seam through which tests put their own.

The generator is Threefry-2x32 (20 rounds, the one behind `jax.random`), written out so that it works on whole
batch-last arrays inside the caller's own loops. A state's key is used for one step and then replaced.

Every rule that draws takes its words from a `Draws` record. `step(state, action, draws=…)` accepts one of your own
making, for instance all zeros with one word changed; `draw_step(state.key)` shows what a step would use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix.settle import settle
from jimbot.games.hackmatrix.spec import CELLS
from jimbot.games.hackmatrix.state import SLOTS

# What a key is used for; each (purpose, counter) pair is drawn at most once.
STEP, START, STAGE, PLACEMENT, HIDDEN, LATER, LATER_PROGRAMS = range(7)
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


class Draws(NamedTuple):
    """The random words of one step; all are uniform uint32."""

    order: Any  # (SLOTS,): per slot; high half orders round 1, low half round 2. POLY (no enemy turn) uses it whole
    spawn: Any  # (CELLS,): one per spawn of the enemy turn; high bits choose the cell, the lowest two the type
    pick: Any  # (): WARP's target
    key: Any  # (2,): the key the state has afterwards


def threefry(key: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """Encrypts the counter pair (first, second) under a (2, …) key: two random uint32 words."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA))
    left, right = first + schedule[0], second + schedule[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            left = left + right
            right = (right << np.uint32(rotation)) | (right >> np.uint32(32 - rotation))
            right = right ^ left
        left = left + schedule[(group + 1) % 3]
        right = right + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return left, right


def words(key: Any, purpose: int, *counts: int) -> list[Any]:
    """Arrays of `counts` uint32 words each, all from one run of the generator over the (2, …) key."""
    half = (sum(counts) + 1) // 2
    counter = jnp.arange(half, dtype=jnp.uint32).reshape(-1, *(1,) * (jnp.ndim(key) - 1))
    drawn = jnp.concatenate(settle(threefry(key, counter, jnp.uint32(purpose)), by=key))
    ends = np.cumsum(counts).tolist()
    return [drawn[end - count : end] for end, count in zip(ends, counts, strict=True)]


def draw_step(key: Any) -> Draws:
    """The random words of a step from a state's (2, …) key."""
    order, spawn, pick, following = words(key, STEP, SLOTS, CELLS, 1, 2)
    return Draws(order, spawn, pick[0], following)


def below(word: Any, bound: Any) -> Any:
    """A number 0..bound−1 from the high 24 bits of a word (0 where the bound is 0); bound up to 255."""
    return (((word >> np.uint32(8)) * jnp.asarray(bound).astype(jnp.uint32)) >> np.uint32(24)).astype(jnp.int32)
