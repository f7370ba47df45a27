"""Re-dealing what the player cannot know: planning without peeking, and the test that observations tell nothing.

Hidden are the contents of question blocks, the types of transmissions, the whereabouts of unseen cryptogs, and all
luck to come. Timers, provenance and the like are not observed either, but a player who paid attention knows them.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.board import FULL, bit, column_through, nth_bit, row_through
from jimbot.games.hackmatrix.draws import HIDDEN, below, words
from jimbot.games.hackmatrix.state import (
    ENEMY,
    HIDDEN_DATA,
    HIDDEN_PROGRAM,
    PROGRAM,
    SLOTS,
    TRANSMISSION,
    Cell,
    Entity,
    State,
    boards,
)

_SPAWN = np.array([program.spawn for program in spec.PROGRAMS], np.int32)


@jax.jit
def redraw_hidden(state: State, seed: Any) -> State:
    """One game with everything hidden drawn anew from a (2,) uint32 seed; its observation stays the same."""
    kind = Entity.kind.of(state.entities)
    type_words, contents, places, key = words(seed, HIDDEN, SLOTS, 2 * spec.CELLS, SLOTS, 2)
    types = (type_words & np.uint32(3)).astype(jnp.int32)
    entities = jnp.where(kind == TRANSMISSION, Entity.type.put(state.entities, types), state.entities)
    state = state._replace(entities=entities, cells=_redraw_questions(state.cells, contents))
    return state._replace(entities=_move_cryptogs(state, places), key=key)


def _redraw_questions(cells: Any, drawn: Any) -> Any:
    """Question blocks as if just generated: data or a program that no visible block of the stage holds."""
    content, value, spawn = Cell.content.of(cells), Cell.value.of(cells), Cell.spawn.of(cells)
    question = content >= HIDDEN_DATA
    visible = jnp.where(content == PROGRAM, jnp.int32(1) << value, 0)
    used = jax.lax.reduce(visible, jnp.int32(0), jax.lax.bitwise_or, (0,))
    costs = jnp.asarray(_SPAWN)
    full = jnp.where(content == HIDDEN_PROGRAM, costs[jnp.minimum(value, len(_SPAWN) - 1)], value)
    reduced_by = full - spawn  # what REDUC has taken off

    def deal(cell: Any, carry: Any) -> Any:
        cells, used = carry
        unused = ~used & ((1 << len(spec.PROGRAMS)) - 1)
        is_program = (drawn[cell] & np.uint32(1)) == 1
        program = nth_bit(unused, below(drawn[spec.CELLS + cell], jax.lax.population_count(unused)))
        points = 1 + below(drawn[spec.CELLS + cell], 9)
        new_value = jnp.where(is_program, program, points)
        count = jnp.maximum(jnp.where(is_program, costs[program], points) - reduced_by[cell], 0)
        word = Cell.content.put(cells[cell], jnp.where(is_program, HIDDEN_PROGRAM, HIDDEN_DATA))
        word = Cell.spawn.put(Cell.value.put(word, new_value), count)
        taken = question[cell] & is_program
        used = used | jnp.where(taken, jnp.int32(1) << program, 0)
        return cells.at[cell].set(jnp.where(question[cell], word, cells[cell])), used

    return jax.lax.fori_loop(0, spec.CELLS, deal, (cells, used))[0]


def _move_cryptogs(state: State, drawn: Any) -> Any:
    """Unseen cryptogs, each to any cell where it would be as unseen (those that share a cell stay)."""
    around = boards(state)
    seen_from_player = row_through(state.player) | column_through(state.player)
    cells = Entity.cell.of(state.entities)
    exists = state.entities != 0
    alone = ((cells == cells[:, None]) & exists).sum(1) == 1
    cryptog = (Entity.kind.of(state.entities) == ENEMY) & (Entity.type.of(state.entities) == spec.CRYPTOG)
    moves = cryptog & alone & ~seen_from_player.has(cells) & ~state.show

    def move(slot: Any, carry: Any) -> Any:
        entities, taken = carry
        here = bit(cells[slot])
        free = FULL.minus(taken | seen_from_player | around.blocks | around.player)
        room = moves[slot] & free.any()
        there = free.nth(below(drawn[slot], free.size()))
        word = jnp.where(room, Entity.cell.put(entities[slot], there), entities[slot])
        return entities.at[slot].set(word), taken.minus(here.when(room)) | bit(there).when(room)

    return jax.lax.fori_loop(0, SLOTS, move, (state.entities, around.enemies | around.transmissions))[0]
