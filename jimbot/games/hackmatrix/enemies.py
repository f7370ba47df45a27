"""The enemy turn: tick, attacks and movement in random order, scheduled and siphon spawns.

Movement is a batch-level loop whose n-th trip processes the n-th acting enemy of every game at once. All the loop
changes about an enemy lives in one sort word per slot, so picking the next actor is a minimum and the loop carries
little. Enemies that cannot act need no trip: leaving elements out of a random order leaves the rest in random order.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix.board import FULL, Bits, at_place, cell_at, from_cells, place_of, row_at, row_of
from jimbot.games.hackmatrix.draws import Draws
from jimbot.games.hackmatrix.entities import spawn, tick
from jimbot.games.hackmatrix.spec import GLITCH, SIDE, VIRUS
from jimbot.games.hackmatrix.state import ENEMY, SLOTS, Boards, Entity, State, boards, column

# A sort word, from the top: done (1 bit), round (1), random order (16), slot (6, keeps words distinct), place (6),
# type (2). Two enemies tie in the random part once in 65,536 pairs and then go in slot order: a bias below 1e-5.
_DONE = np.uint32(1 << 31)
_SECOND_ROUND = np.uint32(1 << 30)
_PLACE_SHIFT, _SLOT_SHIFT, _RANDOM_SHIFT = np.uint32(2), np.uint32(8), np.uint32(14)
_SIX_BITS = np.uint32(63)

_STEPS = (7, -7, -1, 1)  # places to add for Up, Down, Left, Right
_LEVELS_PER_TRIP = 4


def enemy_turn(state: State, runs: Any, draws: Draws) -> tuple[State, Any]:
    """Runs the enemy turn in the games of `runs`; also says in which it was completed (not skipped by STEP)."""
    full = runs & ~state.skip
    turn = state.turn + full
    entities = tick(state.entities, full)
    before = boards(state._replace(entities=entities))
    entities, hp = act_in_turn(entities, full, before, state.player, state.hp, draws.order)

    fires = full & ~state.calm & (turn >= state.next_turn)
    released = jnp.where(full, state.pending, 0)
    enemies = from_cells(Entity.cell.of(entities), Entity.kind.of(entities) == ENEMY)
    around = before._replace(enemies=enemies)
    entities = spawn(entities, released + fires, fires.astype(jnp.int32), True, around, draws.spawn)
    settled = entities & ~((1 << Entity.stunned.shift) | (1 << Entity.fresh.shift))
    state = state._replace(
        entities=jnp.where(full, settled, entities),
        hp=hp,
        turn=turn,
        next_turn=jnp.where(fires, turn + state.interval, state.next_turn),
        pending=state.pending - released,
        skip=state.skip & ~runs,
    )
    return state, full


def act_in_turn(entities: Any, runs: Any, around: Boards, player: Any, hp: Any, order: Any) -> tuple[Any, Any]:
    """Attacks and moves of all enemies, rounds 1 and 2; returns the entities and the player's HP afterwards.

    A virus that has acted in round 1 without attacking gets a round 2 word and waits again; every game passes from
    round 1 to round 2 on its own.
    """
    kind = Entity.type.of(entities)
    idle = Entity.stunned.is_set(entities) | Entity.fresh.is_set(entities)
    acts = (Entity.kind.of(entities) == ENEMY) & ~idle & runs
    slots = column(np.arange(SLOTS, dtype=np.uint32), entities) << _SLOT_SHIFT
    place_bits = place_of(Entity.cell.of(entities)).astype(jnp.uint32) << _PLACE_SHIFT
    first_round = (order >> np.uint32(16)) << _RANDOM_SHIFT
    second_round = ((order & np.uint32(0xFFFF)) << _RANDOM_SHIFT) | _SECOND_ROUND
    exists = entities != 0
    words = first_round | slots | place_bits | kind.astype(jnp.uint32)
    words = jnp.where(acts, words, words | _DONE)

    open_cells = around.blocks.complement()
    beside_player = around.player.beside()
    player_row = row_of(player)
    player_col = player - SIDE * player_row

    def waiting(carry: Any) -> Any:
        return jnp.any(carry[0] < _DONE)

    def act_next(carry: Any) -> Any:
        words, next_word, hp, occupied = carry
        active = next_word < _DONE
        actor = next_word & np.uint32(3)
        place = ((next_word >> _PLACE_SHIFT) & _SIX_BITS).astype(jnp.int32)
        here = at_place(place)
        attacks = active & (here & beside_player).any()
        moves = active & ~attacks
        passable = open_cells | FULL.when(actor == GLITCH)
        row = row_at(place)
        towards = (player_row - row, player_col - (place - _STEPS[0] * row))
        step = choose_step(here.when(moves), around.player, towards, passable, passable.minus(occupied))

        place = place + step
        again = moves & (actor == VIRUS) & (next_word < _SECOND_ROUND)
        place_word = place.astype(jnp.uint32) << _PLACE_SHIFT
        is_actor = (words == next_word) & active
        kept = words & ~(_SIX_BITS << _PLACE_SHIFT) | place_word
        requeued = second_round | slots | place_word | np.uint32(VIRUS)
        words = jnp.where(is_actor, jnp.where(again, requeued, kept | _DONE), words)

        # Enemies may overlap (after PUSH or PULL): a cell that one leaves can still hold another.
        old_place = next_word & (_SIX_BITS << _PLACE_SHIFT)
        shared = (((words & (_SIX_BITS << _PLACE_SHIFT)) == old_place) & exists).any(0)
        occupied = occupied.minus(here.when(moves & ~shared)) | at_place(place).when(moves)
        return words, words.min(0), jnp.maximum(hp - attacks, 0), occupied

    start = (words, words.min(0), hp, around.enemies | around.transmissions)
    words, _, hp, _ = jax.lax.while_loop(waiting, act_next, start)
    cell = cell_at(((words >> _PLACE_SHIFT) & _SIX_BITS).astype(jnp.int32))
    return jnp.where(exists, Entity.cell.put(entities, cell), entities), hp


def choose_step(here: Bits, player: Bits, towards: tuple[Any, Any], passable: Bits, free: Bits) -> Any:
    """The step (in places) of an enemy at `here` that is not adjacent to the player; 0 where `here` is empty.

    `towards` is how many rows and columns the player is away, `passable` leaves occupancy out, `free` is passable and
    unoccupied. The three rules in order: the shortest way around the others; the best way as if they were not there,
    if its first cell is free; the free neighbour nearest to the player. Both floods start at the player and stop at
    the first level that touches a neighbour of the enemy, so what they touch is exactly the set of best neighbours.
    """
    beside = here.beside()
    source = player & passable
    source = source.when(here.any())
    around_others = flood_until(source, beside & free, free)
    through_others = flood_until(source, beside & passable, passable)

    step = first_direction(here, around_others)
    blind = first_direction(here, through_others)
    blind_is_free = (shift(here, blind) & free).any()
    greedy = greedy_step(here, towards, beside & free)
    return jnp.where(step != 0, step, jnp.where((blind != 0) & blind_is_free, blind, greedy))


def flood_until(source: Bits, goal: Bits, cells: Bits) -> Bits:
    """The members of `goal` that a flood from `source` through `cells` reaches first."""

    def going(carry: Any) -> Any:
        return jnp.any(carry[1])

    def spread(carry: Any) -> Any:
        reached, _ = carry
        before = reached
        for _ in range(_LEVELS_PER_TRIP):
            wider = reached | (reached.beside() & cells)
            arrived = (reached & goal).any()
            reached = Bits(jnp.where(arrived, reached.lo, wider.lo), jnp.where(arrived, reached.hi, wider.hi))
        grown = (reached.lo != before.lo) | (reached.hi != before.hi)
        return reached, grown & ~(reached & goal).any()

    reached, _ = jax.lax.while_loop(going, spread, (source, source.any()))
    return reached & goal


def directions(here: Bits, cells: Bits) -> tuple[Any, Any, Any, Any]:
    """Whether the Up, Down, Left, Right neighbour of `here` belongs to `cells`."""
    return tuple((step(here) & cells).any() for step in (Bits.up, Bits.down, Bits.left, Bits.right))  # ty: ignore


def first_true(up: Any, down: Any, left: Any, right: Any) -> Any:
    """The step of the first direction that holds, in tie-break order; 0 if none does."""
    step = jnp.where(right, _STEPS[3], 0)
    step = jnp.where(left, _STEPS[2], step)
    step = jnp.where(down, _STEPS[1], step)
    return jnp.where(up, _STEPS[0], step)


def first_direction(here: Bits, cells: Bits) -> Any:
    return first_true(*directions(here, cells))


def shift(here: Bits, step: Any) -> Bits:
    """The neighbour of `here` in the direction of a step."""
    result = here.up().when(step == _STEPS[0]) | here.down().when(step == _STEPS[1])
    return result | here.left().when(step == _STEPS[2]) | here.right().when(step == _STEPS[3])


def greedy_step(here: Bits, towards: tuple[Any, Any], candidates: Bits) -> Any:
    """The candidate neighbour nearest to the player (Manhattan): every step leads one nearer or one farther."""
    rows, cols = towards
    up, down, left, right = directions(here, candidates)
    nearer = first_true(up & (rows > 0), down & (rows < 0), left & (cols < 0), right & (cols > 0))
    return jnp.where(nearer != 0, nearer, first_true(up, down, left, right))
