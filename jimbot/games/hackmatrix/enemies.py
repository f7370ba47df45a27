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
from jimbot.games.hackmatrix.settle import settle
from jimbot.games.hackmatrix.spec import GLITCH, SIDE, VIRUS
from jimbot.games.hackmatrix.state import ENEMY, SLOTS, Boards, Entity, State, boards, column

# A sort word, from the top: done (1 bit), round (1), random order (16), slot (6, keeps words distinct), place (6),
# type (2). Two enemies tie in the random part once in 65,536 pairs and then go in slot order: a bias below 1e-5.
_DONE = np.uint32(1 << 31)
_SECOND_ROUND = np.uint32(1 << 30)
_PLACE_SHIFT, _SLOT_SHIFT, _RANDOM_SHIFT = np.uint32(2), np.uint32(8), np.uint32(14)
_SIX_BITS = np.uint32(63)
_IDENTITY = np.uint32((63 << 8) | 3)  # slot and type

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
    second_round = (order & np.uint32(0xFFFF)) << _RANDOM_SHIFT
    exists = entities != 0
    words = first_round | slots | place_bits | kind.astype(jnp.uint32)
    words = jnp.where(acts, words, words | _DONE)

    open_cells = around.blocks.complement()
    beside_player = around.player.beside()
    player_row = row_of(player)
    player_col = player - SIDE * player_row
    best = best_directions(around.player & open_cells, open_cells)
    occupied = around.enemies | around.transmissions
    overlapping = jnp.any(exists.sum(0) != occupied.size())

    def waiting(carry: Any) -> Any:
        return jnp.any(carry[1] < _DONE)

    def act_next(carry: Any) -> Any:
        words, next_word, hp, occupied = carry
        active = next_word < _DONE
        actor = next_word & np.uint32(3)
        place = ((next_word >> _PLACE_SHIFT) & _SIX_BITS).astype(jnp.int32)
        here = at_place(place)
        attacks = active & (here & beside_player).any()
        moves = active & ~attacks
        glitch = actor == GLITCH
        row = row_at(place)
        towards = (player_row - row, player_col - (place - _STEPS[0] * row))
        here = here.when(moves)
        passable = open_cells | FULL.when(glitch)
        free = passable.minus(occupied)
        step = first_direction(here, flood_until((around.player & passable).when(moves), here.beside() & free, free))
        blind = jnp.where(glitch, direct_step(towards), first_true(*((here & cells).any() for cells in best)))
        step = settle(jnp.where(step != 0, step, blind_or_greedy_step(here, blind, towards, free)), by=next_word)

        again = moves & (actor == VIRUS) & (next_word < _SECOND_ROUND)
        new_place = place + step
        replacement = (next_word & _IDENTITY) | (new_place.astype(jnp.uint32) << _PLACE_SHIFT)
        replacement = jnp.where(again, replacement | _SECOND_ROUND, replacement | _DONE)
        replacement, again, hp = settle((replacement, again, jnp.maximum(hp - attacks, 0)), by=next_word)
        words = jnp.where((words == next_word) & active, replacement | jnp.where(again, second_round, 0), words)

        def others_stay() -> Any:
            # Enemies may overlap (after PUSH or PULL): a cell that one leaves can still hold another.
            old_place = next_word & (_SIX_BITS << _PLACE_SHIFT)
            return (((words & (_SIX_BITS << _PLACE_SHIFT)) == old_place) & exists).any(0)

        shared = jax.lax.cond(overlapping, others_stay, lambda: jnp.zeros_like(active))
        occupied = occupied.minus(here.when(~shared)) | at_place(new_place).when(moves)
        return words, words.min(0), hp, occupied

    start = (words, words.min(0), hp, occupied)
    words, _, hp, _ = jax.lax.while_loop(waiting, act_next, start)
    cell = cell_at(((words >> _PLACE_SHIFT) & _SIX_BITS).astype(jnp.int32))
    return jnp.where(exists, Entity.cell.put(entities, cell), entities), hp


def best_directions(source: Bits, cells: Bits) -> tuple[Bits, Bits, Bits, Bits]:
    """For Up, Down, Left, Right the cells whose best neighbour lies there: nearest to `source` through `cells`, ties in
    this order. Occupancy is left out, so one flood serves all movers of a turn."""
    nothing = Bits(source.lo * 0, source.hi * 0)

    def going(carry: Any) -> Any:
        return jnp.any(carry[2])

    def spread(carry: Any) -> Any:
        reached, best, _ = carry
        open_choice = FULL.minus(best[0] | best[1] | best[2] | best[3])
        chosen = []
        for known, opposite in zip(best, (Bits.down, Bits.up, Bits.right, Bits.left), strict=True):
            here = opposite(reached) & open_choice
            open_choice = open_choice.minus(here)
            chosen.append(known | here)
        wider = reached | (reached.beside() & cells)
        return wider, tuple(chosen), (wider.lo != reached.lo) | (wider.hi != reached.hi)

    start = (source, (nothing,) * 4, source.any())
    _, (up, down, left, right), _ = jax.lax.while_loop(going, spread, start)
    return up, down, left, right


def direct_step(towards: tuple[Any, Any]) -> Any:
    """The first direction that leads nearer on an empty board: what a glitch wants if no enemy is in its way."""
    rows, cols = towards
    return first_true(rows > 0, rows < 0, cols < 0, cols > 0)


def blind_or_greedy_step(here: Bits, blind: Any, towards: tuple[Any, Any], free: Bits) -> Any:
    """Rules 2 and 3 of movement: the best way as if the others were not there, if its first cell is free; otherwise
    the free neighbour nearest to the player (Manhattan), where every step leads one nearer or one farther."""
    rows, cols = towards
    up, down, left, right = directions(here, free)
    wants = [blind == step for step in _STEPS]
    blind_is_free = first_true(up & wants[0], down & wants[1], left & wants[2], right & wants[3])
    nearer = first_true(up & (rows > 0), down & (rows < 0), left & (cols < 0), right & (cols > 0))
    greedy = jnp.where(nearer != 0, nearer, first_true(up, down, left, right))
    return jnp.where(blind_is_free != 0, blind_is_free, greedy)


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
    up, down = (here.up() & cells).any(), (here.down() & cells).any()
    return up, down, (here.left() & cells).any(), (here.right() & cells).any()


def first_true(up: Any, down: Any, left: Any, right: Any) -> Any:
    """The step of the first direction that holds, in tie-break order; 0 if none does."""
    step = jnp.where(right, _STEPS[3], 0)
    step = jnp.where(left, _STEPS[2], step)
    step = jnp.where(down, _STEPS[1], step)
    return jnp.where(up, _STEPS[0], step)


def first_direction(here: Bits, cells: Bits) -> Any:
    return first_true(*directions(here, cells))
