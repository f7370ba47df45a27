"""Where the game's luck comes from, and the seam through which tests put their own.

The generator is Threefry-2x32 (20 rounds, the one behind `jax.random`), written out so that it works on whole
batch-last arrays inside the caller's own loops. A state's key is used for one step and then replaced.

Every rule that needs luck takes it from a `Draws` record. `step(state, action, draws=…)` accepts one of your own
making, for instance all zeros with one word changed; `draw_step(state.key)` shows what a step would use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix.settle import settle
from jimbot.games.hackmatrix.spec import CELLS
from jimbot.games.hackmatrix.state import SLOTS

# Streams of one key; each (stream, counter) pair is drawn at most once.
NEXT_KEY, ORDER, SPAWN, PICK, START, LAYOUT, CONTENTS, PROGRAMS, PLACEMENT = range(9)
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


class Draws(NamedTuple):
    """The luck of one step; all words are uniform uint32."""

    order: Any  # (SLOTS,): per slot; high half orders round 1, low half round 2. POLY (no enemy turn) uses it whole
    spawn: Any  # (CELLS,): one per spawn of the enemy turn; high bits choose the cell, the lowest two the type
    pick: Any  # (): WARP's target


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


def words(key: Any, stream: int, count: int) -> Any:
    """(count, …) uint32 words of a stream."""
    half = (count + 1) // 2
    counter = jnp.arange(half, dtype=jnp.uint32).reshape(-1, *(1,) * (jnp.ndim(key) - 1))
    left, right = threefry(key, counter, jnp.uint32(stream))
    return jnp.concatenate(settle((left, right)))[:count]


def next_key(key: Any) -> Any:
    return words(key, NEXT_KEY, 2)


def draw_step(key: Any) -> Draws:
    return Draws(words(key, ORDER, SLOTS), words(key, SPAWN, CELLS), words(key, PICK, 1)[0])


def below(word: Any, bound: Any) -> Any:
    """A number 0..bound−1 from the high 24 bits of a word (0 where the bound is 0); bound up to 255."""
    return (((word >> np.uint32(8)) * jnp.asarray(bound).astype(jnp.uint32)) >> np.uint32(24)).astype(jnp.int32)
