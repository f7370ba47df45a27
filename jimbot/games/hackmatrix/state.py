"""The state of a game: a small tuple of integer arrays.

A cell and an entity are one int32 word each, made of the bit fields below: the state stays small (UNDO keeps several
copies of it), and most rules touch a word once. Enemies and transmissions share one list of slots, because every
transmission becomes an enemy. Slot order is list order (creation order, with gaps where something died);
`jimbot.games.hackmatrix.entities` keeps it so.

The rules see these arrays "structure first, batch last" (see `board`); between steps a batch is stored with the batch
axis first, as the game contract wants it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix.board import Bits, bit, from_cells, from_mask
from jimbot.games.hackmatrix.spec import CELLS, ENEMY_HP

SLOTS = 40
"""Enemies plus transmissions alive at once. Every spawn needs a cell of its own, so only overlaps (PUSH, PULL) on a
nearly full board could fill the list; a spawn that finds it full is lost."""

EMPTY, EXIT, PICKUP, DATA, PROGRAM, HIDDEN_DATA, HIDDEN_PROGRAM = range(7)  # cell contents; DATA and above are blocks
NOTHING, ENEMY, TRANSMISSION = range(3)  # entity kinds


@dataclass(frozen=True)
class BitField:
    """A run of bits in an int32 word."""

    shift: int
    width: int

    @property
    def largest(self) -> int:
        return (1 << self.width) - 1

    def of(self, word: Any) -> Any:
        return (word >> self.shift) & self.largest

    def is_set(self, word: Any) -> Any:
        return (word & (self.largest << self.shift)) != 0

    def make(self, value: Any) -> Any:
        """A word with only this field; the value must fit."""
        return value << self.shift if isinstance(value, int) else jnp.asarray(value).astype(jnp.int32) << self.shift

    def put(self, word: Any, value: Any) -> Any:
        return (word & ~(self.largest << self.shift)) | self.make(value)


class Cell:
    """Fields of a cell word."""

    content = BitField(0, 3)
    value = BitField(3, 6)  # points of a data block, program number (0..22) of a program block
    spawn = BitField(9, 6)
    credits = BitField(15, 6)
    energy = BitField(21, 6)
    siphoned = BitField(27, 1)
    centre = BitField(28, 1)

    @staticmethod
    def is_block(word: Any) -> Any:
        return Cell.content.of(word) >= DATA


class Entity:
    """Fields of an enemy or transmission word; an empty slot is 0."""

    kind = BitField(0, 2)
    cell = BitField(2, 6)
    type = BitField(8, 2)
    hp = BitField(10, 3)
    stunned = BitField(13, 1)
    scheduled = BitField(14, 1)
    siphon = BitField(15, 1)
    turns = BitField(16, 10)  # of a transmission
    fresh = BitField(26, 1)  # became an enemy in this very turn; only set inside the enemy turn


class State(NamedTuple):
    key: Any  # (2,) uint32, generator words; replaced every step, never restored
    cells: Any  # (36,) int32 cell words
    entities: Any  # (SLOTS,) int32 entity words
    player: Any  # () int32 cell number
    hp: Any  # () int32
    credits: Any  # () int32
    energy: Any  # () int32
    siphons: Any  # () int32 data siphons held
    attack: Any  # () int32 attack damage
    score: Any  # () int32
    owned: Any  # () int32, bit p set if program p is owned
    stage: Any  # () int32, 1..8
    turn: Any  # () int32
    interval: Any  # () int32, turns between scheduled spawns
    next_turn: Any  # () int32, turn of the next scheduled spawn
    exit: Any  # () int32, cell number; the exit tile itself is in `cells`
    pending: Any  # () int32, siphon spawns not yet released
    show: Any  # () bool
    calm: Any  # () bool
    skip: Any  # () bool, STEP: the next enemy turn is skipped
    attack_uses: Any  # () int32, ATK+ uses in this stage
    steps: Any  # () int32, steps of this episode
    history: Any  # (K, SNAPSHOT) int32, ring of UNDO snapshots; None where the rules run batch-last
    history_top: Any  # () int32, where the next snapshot goes
    history_size: Any  # () int32


class Boards(NamedTuple):
    """The cell sets most rules start from."""

    player: Bits
    blocks: Bits
    enemies: Bits
    transmissions: Bits


def boards(state: State) -> Boards:
    kind = Entity.kind.of(state.entities)
    cell = Entity.cell.of(state.entities)
    return Boards(
        player=bit(state.player),
        blocks=from_mask(Cell.is_block(state.cells)),
        enemies=from_cells(cell, kind == ENEMY),
        transmissions=from_cells(cell, kind == TRANSMISSION),
    )


def column(values: Any, like: Any) -> Any:
    """A constant vector shaped to run along the first axis of `like`."""
    return jnp.asarray(values).reshape(-1, *(1,) * (jnp.ndim(like) - 1))


def max_hp(kind: Any) -> Any:
    """Full HP of an enemy type."""
    hp = jnp.full(jnp.shape(kind), ENEMY_HP[0], jnp.int32)
    for number, value in enumerate(ENEMY_HP):
        if value != ENEMY_HP[0]:
            hp = jnp.where(kind == number, value, hp)
    return hp


def content_at(state: State, cell: Any) -> Any:
    """The word of one cell per game."""
    return jnp.where(column(np.arange(CELLS), state.cells) == cell, state.cells, 0).sum(0)


def batch_last(state: State) -> State:
    """A stored batch as the rules see it; the history stays behind."""
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), state._replace(history=None))


def batch_first(state: State, history: Any) -> State:
    """The inverse of `batch_last`."""
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, -1, 0), state._replace(history=None))._replace(history=history)


def blank(batch: tuple[int, ...] = ()) -> State:
    """All zeros, without history."""

    def zeros(*shape: int) -> Any:
        return jnp.zeros(shape + batch, jnp.int32)

    off = jnp.zeros(batch, bool)
    return State(
        key=jnp.zeros((2, *batch), jnp.uint32),
        cells=zeros(CELLS),
        entities=zeros(SLOTS),
        **{name: zeros() for name in State._fields if name not in _NOT_SCALAR},
        show=off,
        calm=off,
        skip=off,
        history=None,
    )


def pack(state: State) -> Any:
    """All words of a batch-last state in one (PACKED, …) uint32 array; history is left out."""
    parts = []
    for name in State._fields:
        if name != "history":
            leaf = getattr(state, name).astype(jnp.uint32)
            parts.append(leaf if name in _VECTORS else leaf[None])
    return jnp.concatenate(parts)


def unpack(words: Any) -> State:
    """The inverse of `pack`."""
    values: dict[str, Any] = {"history": None}
    start = 0
    for name in State._fields:
        if name == "history":
            continue
        size = _VECTORS.get(name, 1)
        leaf = words[start : start + size] if name in _VECTORS else words[start]
        values[name] = leaf if name == "key" else leaf == 1 if name in _FLAGS else leaf.astype(jnp.int32)
        start += size
    return State(**values)


_VECTORS = {"key": 2, "cells": CELLS, "entities": SLOTS}
_FLAGS = ("show", "calm", "skip")
_NOT_SCALAR = ("key", "cells", "entities", "show", "calm", "skip", "history")
