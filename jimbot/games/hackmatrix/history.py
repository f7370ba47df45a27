"""UNDO: snapshots of the end of every completed enemy turn, in a ring of fixed length.

The ring keeps the batch axis first all the time: it is by far the largest part of the state, and turning it around
twice a step would cost more than using it.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jimbot.games.hackmatrix.spec import CELLS
from jimbot.games.hackmatrix.state import SLOTS, Entity, State

# Scalars restored by UNDO, one word each; the booleans SHOW and CALM are stored as 0 and 1.
_SCALARS = (
    "player", "hp", "credits", "energy", "siphons", "attack", "score", "owned", "turn", "attack_uses", "show", "calm",
)  # fmt: skip
_FLAGS = ("show", "calm")
SNAPSHOT = CELLS + SLOTS + len(_SCALARS)
_FORGOTTEN = (1 << Entity.scheduled.shift) | (1 << Entity.siphon.shift)


def snapshot(state: State) -> Any:
    """(SNAPSHOT, …) int32: what UNDO brings back. Where enemies came from is forgotten."""
    scalars = jnp.stack([getattr(state, name).astype(jnp.int32) for name in _SCALARS])
    return jnp.concatenate([state.cells, state.entities & ~_FORGOTTEN, scalars])


def push(history: Any, top: Any, size: Any, taken: Any, words: Any) -> tuple[Any, Any, Any]:
    """Adds (…, SNAPSHOT) words where `taken`; returns the ring, its top and its size."""
    length = history.shape[-2]
    slot = jnp.arange(length)
    here = (slot == top[..., None]) & taken[..., None]
    history = jnp.where(here[..., None], words[..., None, :], history)
    top = jnp.where(taken, jnp.where(top + 1 == length, 0, top + 1), top)
    return history, top, jnp.minimum(size + taken, length)


def newest(history: Any, top: Any) -> Any:
    """(…, SNAPSHOT): the last snapshot pushed."""
    length = history.shape[-2]
    slot = jnp.arange(length)
    here = slot == jnp.where(top == 0, length - 1, top - 1)[..., None]
    return jnp.where(here[..., None], history, 0).sum(-2)


def undo(state: State, history: Any, used: Any) -> State:
    """Pops the newest snapshot into the state where `used`."""
    scalars = [getattr(state, name) for name in _SCALARS]

    def restore() -> Any:
        words = jnp.moveaxis(newest(history, state.history_top), -1, 0)
        cells = jnp.where(used, words[:CELLS], state.cells)
        entities = jnp.where(used, words[CELLS : CELLS + SLOTS], state.entities)
        values = words[CELLS + SLOTS :]
        restored = []
        for name, now, value in zip(_SCALARS, scalars, values, strict=True):
            restored.append(jnp.where(used, value == 1 if name in _FLAGS else value, now))
        return cells, entities, restored

    cells, entities, values = jax.lax.cond(jnp.any(used), restore, lambda: (state.cells, state.entities, scalars))
    length = history.shape[-2]
    before = jnp.where(state.history_top == 0, length - 1, state.history_top - 1)
    return state._replace(
        cells=cells,
        entities=entities,
        history_top=jnp.where(used, before, state.history_top),
        history_size=state.history_size - used,
        **dict(zip(_SCALARS, values, strict=True)),
    )
