"""The observation: 10 player numbers, 23 owned programs, 42 features for each of the 36 cells.

What a cell shows is first packed into two words; then one dense pass over (batch, cell, feature) cuts every feature
out of its word. No feature is scattered, and all visibility rules act on the packed words.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.board import COL_OF, ROW_OF
from jimbot.games.hackmatrix.state import (
    DATA,
    ENEMY,
    EXIT,
    HIDDEN_DATA,
    PICKUP,
    PROGRAM,
    SLOTS,
    TRANSMISSION,
    BitField,
    Cell,
    Entity,
    State,
)


class _Block:
    """The word of what stands on a cell."""

    kind = BitField(0, 2)  # 1 data, 2 program, 3 question
    points = BitField(2, 6)
    siphoned = BitField(8, 1)
    program = BitField(9, 5)  # number + 1 of a visible program
    spawn = BitField(14, 6)
    pickup = BitField(20, 1)
    exit = BitField(21, 1)
    centre = BitField(22, 1)


class _Other:
    """The word of everything else on a cell."""

    enemy = BitField(0, 3)  # type + 1
    hp = BitField(3, 3)
    stunned = BitField(6, 1)
    siphon = BitField(7, 1)
    turns = BitField(8, 3)
    credits = BitField(11, 6)
    energy = BitField(17, 6)


MOST_TURNS = 4
_GROUP = 8

# One row per feature: (word, field, value that means 1 or None for a number, divisor of a number)
_FEATURES: list[tuple[type, BitField, int | None, float]] = [
    *[(_Other, _Other.enemy, kind + 1, 1) for kind in range(len(spec.ENEMY_NAMES))],
    (_Other, _Other.hp, None, spec.MAX_HP),
    (_Other, _Other.stunned, None, 1),
    (_Other, _Other.siphon, None, 1),
    *[(_Block, _Block.kind, kind, 1) for kind in (1, 2, 3)],
    (_Block, _Block.points, None, 9),
    (_Block, _Block.siphoned, None, 1),
    *[(_Block, _Block.program, number + 1, 1) for number in range(len(spec.PROGRAMS))],
    (_Block, _Block.spawn, None, 9),
    (_Other, _Other.turns, None, MOST_TURNS),
    (_Other, _Other.credits, None, 3),
    (_Other, _Other.energy, None, 3),
    (_Block, _Block.pickup, None, 1),
    (_Block, _Block.exit, None, 1),
    (_Block, _Block.centre, None, 1),
]
_SHIFT = np.array([field.shift for _, field, _, _ in _FEATURES], np.int32)
_BLOCK_MASK = np.array([field.largest if word is _Block else 0 for word, field, _, _ in _FEATURES], np.int32)
_OTHER_MASK = np.array([field.largest if word is _Other else 0 for word, field, _, _ in _FEATURES], np.int32)
_IS_ONE_HOT = np.array([value is not None for _, _, value, _ in _FEATURES])
_ONE_HOT = np.array([-1 if value is None else value for _, _, value, _ in _FEATURES], np.int32)
_DIVISOR = np.array([divisor for _, _, _, divisor in _FEATURES], np.float32)


def observe(state: State) -> Any:
    """(…, 1545) float32 of a state stored batch first."""
    header = jnp.concatenate([_player(state), _programs(state)], -1)
    block, other = _packed(state)
    batch = header.shape[:-1]

    def cut() -> Any:
        field = ((block[..., None] >> _SHIFT) & _BLOCK_MASK) | ((other[..., None] >> _SHIFT) & _OTHER_MASK)
        return jnp.where(_IS_ONE_HOT, (field == _ONE_HOT).astype(jnp.float32), field.astype(jnp.float32) / _DIVISOR)

    # The branch is always taken. It keeps XLA from merging the flattening below into `cut`, which would replace its
    # vector loop over features by an integer division per element (ten times slower on CPU).
    grid = jax.lax.cond(
        jnp.any(state.stage > 0), cut, lambda: jnp.zeros((*batch, spec.CELLS, spec.CELL_FEATURES), jnp.float32)
    )
    return jnp.concatenate([header, grid.reshape(*batch, spec.CELLS * spec.CELL_FEATURES)], -1)


def _player(state: State) -> Any:
    row = state.player // spec.SIDE
    values = (
        row / (spec.SIDE - 1),
        (state.player - spec.SIDE * row) / (spec.SIDE - 1),
        state.hp / spec.MAX_HP,
        jnp.minimum(state.credits / 50, 1.0),
        jnp.minimum(state.energy / 50, 1.0),
        (state.stage - 1) / (spec.STAGES - 1),
        state.siphons / 10,
        (state.attack - 1) / 2,
        state.show,
        state.calm,
    )
    return jnp.stack([jnp.asarray(value).astype(jnp.float32) for value in values], -1)


def _programs(state: State) -> Any:
    return ((state.owned[..., None] >> np.arange(len(spec.PROGRAMS))) & 1).astype(jnp.float32)


def _packed(state: State) -> tuple[Any, Any]:
    """(…, 36) words: what stands on each cell, and everything else there."""
    words = state.cells
    content = Cell.content.of(words)
    is_block = content >= DATA
    question = content >= HIDDEN_DATA
    siphoned = Cell.siphoned.is_set(words)
    value = Cell.value.of(words)
    block = (
        _Block.kind.make(jnp.where(is_block, jnp.where(question, 3, content - DATA + 1), 0))
        | _Block.points.make(jnp.where(content == DATA, value, 0))
        | _Block.siphoned.make(is_block & siphoned)
        | _Block.program.make(jnp.where(content == PROGRAM, value + 1, 0))
        | _Block.spawn.make(jnp.where(is_block & ~question, Cell.spawn.of(words), 0))
        | _Block.pickup.make(content == PICKUP)
        | _Block.exit.make(content == EXIT)
        | _Block.centre.make(Cell.centre.of(words))
    )
    enemy, turns = first_on_cells(state.entities)
    row = (state.player // spec.SIDE)[..., None]
    aligned = (row == ROW_OF) | ((state.player[..., None] - spec.SIDE * row) == COL_OF)
    type_ = Entity.type.of(enemy)
    visible = (enemy != 0) & ((type_ != spec.CRYPTOG) | aligned | state.show[..., None])
    shown = (
        _Other.enemy.make(type_ + 1)
        | _Other.hp.make(Entity.hp.of(enemy))
        | _Other.stunned.make(Entity.stunned.of(enemy))
        | _Other.siphon.make(Entity.siphon.of(enemy))
    )
    loose = ~is_block | siphoned
    other = (
        jnp.where(visible, shown, 0)
        | _Other.turns.make(turns)
        | _Other.credits.make(jnp.where(loose, Cell.credits.of(words), 0))
        | _Other.energy.make(jnp.where(loose, Cell.energy.of(words), 0))
    )
    return block, other


def first_on_cells(entities: Any) -> tuple[Any, Any]:
    """Per cell (…, 36): the word of the first enemy in list order, and the turns of a transmission (0 for none).

    Runs backwards over the slots, eight per trip, from the last group in use anywhere in the batch.
    """
    kind, cell = Entity.kind.of(entities), Entity.cell.of(entities)
    is_enemy = kind == ENEMY
    enemies = jnp.where(is_enemy, entities, 0)
    turns = jnp.where(kind == TRANSMISSION, jnp.minimum(Entity.turns.of(entities), MOST_TURNS), 0)
    cell = jnp.where(kind == 0, -1, cell)
    numbers = np.arange(spec.CELLS)

    def more(carry: Any) -> Any:
        return carry[0] > 0

    def lay_group(carry: Any) -> Any:
        group, first, waiting = carry
        start = (group - 1) * _GROUP
        here, words, timers = (
            jax.lax.dynamic_slice_in_dim(array, start, _GROUP, axis=-1) for array in (cell, enemies, turns)
        )
        for slot in reversed(range(_GROUP)):
            there = here[..., slot, None] == numbers
            word, timer = words[..., slot, None], timers[..., slot, None]
            first = jnp.where(there & (word != 0), word, first)
            waiting = jnp.where(there & (timer != 0), timer, waiting)
        return group - 1, first, waiting

    used = jnp.max(jnp.where(entities != 0, np.arange(SLOTS) // _GROUP + 1, 0))
    empty = jnp.zeros((*entities.shape[:-1], spec.CELLS), jnp.int32)
    _, first, waiting = jax.lax.while_loop(more, lay_group, (used, empty, empty))
    return first, waiting
