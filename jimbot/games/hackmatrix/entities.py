"""The list of enemies and transmissions: keeping its order, and spawning.

List order is slot order. Something that dies leaves a gap; gaps are closed only when the list has no room at its end.
Each game decides that for itself, so a game never depends on its neighbours in the batch.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix.board import Bits, bit
from jimbot.games.hackmatrix.draws import below
from jimbot.games.hackmatrix.settle import settle
from jimbot.games.hackmatrix.spec import SIDE
from jimbot.games.hackmatrix.state import ENEMY, SLOTS, TRANSMISSION, Boards, Entity, column, max_hp

_STEPS = (Bits.up, Bits.down, Bits.left, Bits.right)
_INDEX = np.arange(SLOTS, dtype=np.int32)


def length(entities: Any) -> Any:
    """Slots in use, gaps included: where the next entity goes."""
    return jnp.where(entities != 0, column(_INDEX + 1, entities), 0).max(0)


def tidy(entities: Any, to_end: Any, which: Any) -> Any:
    """Closes the gaps and moves the entities marked `to_end` behind all others, in the games of `which`."""

    def reorder(entities: Any) -> Any:
        stay = (entities != 0) & ~to_end
        staying = stay.sum(0)

        def place(slot: Any, carry: Any) -> Any:
            done, kept, moved = carry
            word, keeps, moves = entities[slot], stay[slot], to_end[slot]
            target = jnp.where(keeps, kept, jnp.where(moves, staying + moved, SLOTS))
            return jnp.where(column(_INDEX, done) == target, word, done), kept + keeps, moved + moves

        zero = jnp.zeros_like(staying)
        ordered, _, _ = jax.lax.fori_loop(0, SLOTS, place, (jnp.zeros_like(entities), zero, zero))
        return jnp.where(which, ordered, entities)

    return jax.lax.cond(jnp.any(which), reorder, lambda entities: entities, entities)


def tick(entities: Any, which: Any) -> Any:
    """Transmissions due become enemies (marked fresh), the others lose a turn, in the games of `which`.

    New enemies belong behind all older ones. They nearly always are there already; only a delayed transmission can
    sit in front of an enemy that spawned after it.
    """
    waiting = (Entity.kind.of(entities) == TRANSMISSION) & which
    due = waiting & (Entity.turns.of(entities) <= 1)
    kind = Entity.type.of(entities)
    born = (
        Entity.kind.make(ENEMY)
        | (entities & (Entity.cell.largest << Entity.cell.shift))
        | Entity.type.make(kind)
        | Entity.hp.make(max_hp(kind))
        | (entities & (3 << Entity.scheduled.shift))
        | Entity.fresh.make(1)
    )
    enemy = Entity.kind.of(entities) == ENEMY
    last_enemy = jnp.where(enemy, column(_INDEX, entities), -1).max(0)
    first_due = jnp.where(due, column(_INDEX, entities), SLOTS).min(0)
    entities = jnp.where(due, born, jnp.where(waiting, entities - Entity.turns.make(1), entities))
    return tidy(entities, due, first_due < last_enemy)


def line_of_fire(player: Bits, stops: Bits) -> Bits:
    """The player's cell and those in its row and column up to and including the first stop in each direction."""

    def lengthen(_: Any, rays: tuple[Bits, ...]) -> tuple[Bits, ...]:
        # A ray is all its cells so far; whatever lies behind a stop is never reached.
        return tuple(ray | step(ray.minus(stops) | player) for ray, step in zip(rays, _STEPS, strict=True))

    up, down, left, right = jax.lax.fori_loop(0, SIDE - 1, lengthen, (player,) * 4)
    return up | down | left | right


def spawn(entities: Any, count: Any, scheduled: Any, siphon: Any, around: Boards, words: Any) -> Any:
    """Adds `count` transmissions one after another; the first `scheduled` of them carry that flag.

    Each goes to a uniformly chosen empty cell out of the line of fire, else to any empty cell, else it is lost.
    `siphon` flags those that are not scheduled. `words` is (n, …) uint32, one per spawn; the loop runs as long as the
    neediest game of the batch.
    """
    entities = tidy(entities, entities < 0, length(entities) + count > SLOTS)
    taken = around.player | around.blocks | around.enemies | around.transmissions
    hidden = line_of_fire(around.player, around.enemies | around.blocks).complement()
    index = column(_INDEX, entities)

    def wanted(carry: Any) -> Any:
        return jnp.any(count > carry[0])

    def place(carry: Any) -> Any:
        number, entities, end, empty = carry
        word = jax.lax.dynamic_index_in_dim(words, number, keepdims=False)
        out_of_fire = empty & hidden
        choice = out_of_fire | empty.when(~out_of_fire.any())
        size = choice.size()
        cell, size = settle((choice.nth(below(word, size)), size), by=end)
        added = (number < count) & (size > 0) & (end < SLOTS)
        is_scheduled = number < scheduled
        new = (
            Entity.kind.make(TRANSMISSION)
            | Entity.cell.make(cell)
            | Entity.type.make((word & np.uint32(3)).astype(jnp.int32))
            | Entity.turns.make(1)
            | Entity.scheduled.make(is_scheduled)
            | Entity.siphon.make(siphon & ~is_scheduled)
        )
        entities = jnp.where(index == jnp.where(added, end, SLOTS), new, entities)
        return number + 1, entities, end + added, empty.minus(bit(cell).when(added))

    most = len(words)
    count = jnp.minimum(count, most)
    start = (jnp.int32(0), entities, length(entities), taken.complement())
    return jax.lax.while_loop(wanted, place, start)[1]
