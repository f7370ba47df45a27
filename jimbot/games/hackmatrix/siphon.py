"""The siphon: what the cross under the player yields, and how good the place was."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jimbot.games.hackmatrix.settle import settle
from jimbot.games.hackmatrix.spec import SIDE
from jimbot.games.hackmatrix.state import (
    DATA,
    HIDDEN_DATA,
    HIDDEN_PROGRAM,
    PROGRAM,
    Boards,
    Cell,
    State,
    content_at,
)

SHORTEST_INTERVAL = 4
DELAY_OF_NEXT_TASK = 5


class Missed(NamedTuple):
    """Resources a better place would have given."""

    credits: Any
    energy: Any


def siphon(state: State, acts: Any, around: Boards) -> State:
    """Takes the cross around the player in the games of `acts`; the enemy turn comes later."""
    cross = (around.player | around.player.beside()).when(acts).mask()
    words = state.cells
    content = Cell.content.of(words)
    block = content >= DATA
    fresh = cross & ~Cell.siphoned.is_set(words)
    taken, collected = fresh & block, fresh & ~block
    is_data = (content == DATA) | (content == HIDDEN_DATA)
    value = Cell.value.of(words)

    def total(field: Any, where: Any) -> Any:
        return jnp.where(where, field, 0).sum(0)

    programs = jnp.where(taken & ~is_data, jnp.int32(1) << value, 0)
    owned = state.owned | jax.lax.reduce(programs, jnp.int32(0), jax.lax.bitwise_or, (0,))
    plain = jnp.where(is_data, DATA, PROGRAM)
    after = jnp.where(taken, Cell.spawn.put(Cell.content.put(words, plain), 0), words)
    after = jnp.where(collected, Cell.energy.put(Cell.credits.put(after, 0), 0), after)
    after = after | Cell.siphoned.make(fresh) | Cell.centre.make(around.player.when(acts).mask())
    return state._replace(
        cells=after,
        owned=owned,
        score=state.score + total(value, taken & is_data),
        credits=state.credits + total(Cell.credits.of(words), collected),
        energy=state.energy + total(Cell.energy.of(words), collected),
        pending=state.pending + total(Cell.spawn.of(words), taken),
        siphons=state.siphons - acts,
        interval=jnp.where(acts, jnp.maximum(SHORTEST_INTERVAL, state.interval - 1), state.interval),
        next_turn=state.next_turn + DELAY_OF_NEXT_TASK * acts,
    )


def missed_by(state: State, acts: Any, around: Boards) -> Missed:
    """What the best comparable centre yields beyond the player's own, for games about to siphon (else 0).

    Yields are packed so that one sum over the cross adds them all up: data points as counts of 3 bits per value 0..9
    (a cross has 5 cells), programs as a bit set, credits and energy side by side.
    """
    nothing = Missed(jnp.zeros_like(state.hp), jnp.zeros_like(state.hp))

    def evaluate() -> Missed:
        words = state.cells
        content = Cell.content.of(words)
        block = content >= DATA
        fresh = ~Cell.siphoned.is_set(words)
        value = Cell.value.of(words)
        one = jnp.int32(1)
        is_data = fresh & ((content == DATA) | (content == HIDDEN_DATA))
        is_program = fresh & ((content == PROGRAM) | (content == HIDDEN_PROGRAM))
        unowned = is_program & (((state.owned >> value) & 1) == 0)
        loose = fresh & ~block
        purse = jnp.where(loose, (Cell.credits.of(words) << 16) | Cell.energy.of(words), 0)
        required = (fresh & block & (around.player | around.player.beside()).mask()).astype(jnp.int32)

        def at_player(plane: Any) -> Any:
            return content_at(state._replace(cells=plane), state.player)

        data = jnp.where(is_data, one << (3 * value), 0)
        programs = jnp.where(unowned, one << value, 0)
        data, programs, purse, required = settle((data, programs, purse, required), by=words)
        data_sum = cross_sum(data, jnp.add)
        program_set = cross_sum(programs, jnp.bitwise_or)
        purse_sum = cross_sum(purse, jnp.add)
        required_here = cross_sum(required, jnp.add)
        sums = settle((data_sum, program_set, purse_sum, required_here), by=words)
        data_sum, program_set, purse_sum, required_here = sums

        on_block = around.blocks.has(state.player)
        own_data = jnp.where(on_block, 0, at_player(data_sum))
        own_programs = jnp.where(on_block, 0, at_player(program_set))
        own_purse = jnp.where(on_block, 0, at_player(purse_sum))
        own_credits, own_energy = own_purse >> 16, own_purse & 0xFFFF
        tied = (own_data | own_programs) != 0
        candidate = ~block & (~tied | (required_here == required.sum(0)))
        credits, energy = purse_sum >> 16, purse_sum & 0xFFFF
        comparable = candidate & (data_sum == own_data) & (program_set == own_programs)
        better = comparable & (credits >= own_credits) & (energy >= own_energy) & (purse_sum != own_purse) & acts

        def gain(field: Any, own: Any) -> Any:
            return jnp.where(better, field - own, 0).max(0)

        return Missed(gain(credits, own_credits), gain(energy, own_energy))

    return jax.lax.cond(jnp.any(acts), evaluate, lambda: nothing)


def cross_sum(plane: Any, combine: Any) -> Any:
    """For every cell of a (36, …) plane the combination over its cross (itself and its neighbours on the board)."""
    board = plane.reshape(SIDE, SIDE, *plane.shape[1:])
    rows = jnp.zeros_like(board[:1])
    cols = jnp.zeros_like(board[:, :1])
    total = board
    for shifted in (
        jnp.concatenate([board[1:], rows], 0),
        jnp.concatenate([rows, board[:-1]], 0),
        jnp.concatenate([board[:, 1:], cols], 1),
        jnp.concatenate([cols, board[:, :-1]], 1),
    ):
        total = combine(total, shifted)
    return total.reshape(plane.shape)
