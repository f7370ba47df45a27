"""The effects of the 23 programs (and of shots, which hurt in the same way).

All programs are evaluated for the whole batch in one pass: most differ only in the area they hit and for how much.
The few that need more (PUSH, PULL, WARP, kill counting on overlaps) run only if some game of the batch uses them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.actions import Target, siphoned_cells
from jimbot.games.hackmatrix.board import FULL, Bits, bit, column_through, row_of, row_through
from jimbot.games.hackmatrix.draws import Draws, below
from jimbot.games.hackmatrix.settle import settle
from jimbot.games.hackmatrix.state import (
    EMPTY,
    ENEMY,
    SLOTS,
    TRANSMISSION,
    Boards,
    Cell,
    Entity,
    State,
    column,
    max_hp,
)

_CREDITS = np.array([0] * spec.FIRST_PROGRAM + [program.credits for program in spec.PROGRAMS], np.int32)
_ENERGY = np.array([0] * spec.FIRST_PROGRAM + [program.energy for program in spec.PROGRAMS], np.int32)
_INDEX = np.arange(SLOTS, dtype=np.int32)
DELAY_TURNS = 3
EXCHANGED_ENERGY = 4


class Effect(NamedTuple):
    kills: Any  # (…) int32, unscheduled enemies and transmissions destroyed
    warped: Any  # (…) bool, WARP was used


def run_programs(state: State, action: Any, target: Target, around: Boards, draws: Draws) -> tuple[State, Effect]:
    """Pays for and applies the program of `action` (−1 for none), and applies the shot in `target`."""

    def uses(program: int) -> Any:
        return action == program

    state = pay(state, action)
    state, kills = strike(state, uses, target, around, draws)
    state = shove(state, uses)
    cells = state.cells
    block = Cell.is_block(cells)
    reduced = uses(spec.REDUC) & block & ~Cell.siphoned.is_set(cells) & Cell.spawn.is_set(cells)
    cells = jnp.where(reduced, cells - Cell.spawn.make(1), cells)
    crushed = around.player.around().when(uses(spec.CRASH)).mask() & block
    emptied = Cell.spawn.put(Cell.value.put(Cell.content.put(cells, EMPTY), 0), 0)

    entities = state.entities
    delayed = uses(spec.DELAY) & (Entity.kind.of(entities) == TRANSMISSION)
    longer = jnp.minimum(Entity.turns.of(entities) + DELAY_TURNS, Entity.turns.largest)
    state = state._replace(
        cells=jnp.where(crushed, emptied, cells),
        entities=jnp.where(delayed, Entity.turns.put(entities, longer), entities),
        skip=state.skip | uses(spec.STEP),
        siphons=state.siphons + uses(spec.SIPH_PLUS),
        energy=state.energy + EXCHANGED_ENERGY * uses(spec.EXCH),
        show=state.show | uses(spec.SHOW),
        hp=jnp.where(uses(spec.RESET), spec.MAX_HP, state.hp),
        calm=state.calm | uses(spec.CALM),
        score=state.score + jnp.where(uses(spec.SCORE), spec.STAGES - state.stage, 0),
        attack=state.attack + uses(spec.ATK_PLUS),
        attack_uses=state.attack_uses + uses(spec.ATK_PLUS),
    )
    return state, Effect(kills, uses(spec.WARP))


def pay(state: State, action: Any) -> State:
    """Takes the cost. UNDO gives its credit back with everything else, so it never pays."""
    paying = (action >= spec.FIRST_PROGRAM) & (action != spec.UNDO)
    number = jnp.where(paying, action, 0)
    return state._replace(
        credits=state.credits - jnp.asarray(_CREDITS)[number], energy=state.energy - jnp.asarray(_ENERGY)[number]
    )


def strike(state: State, uses: Any, target: Target, around: Boards, draws: Draws) -> tuple[State, Any]:
    """All that hurts, destroys or changes enemies: shots, CRASH, WARP, POLY, DEBUG, ROW, COL, D_BOM, ANTI-V, HACK."""
    entities = state.entities
    cell, type_, hp = Entity.cell.of(entities), Entity.type.of(entities), Entity.hp.of(entities)
    enemy, transmission = Entity.kind.of(entities) == ENEMY, Entity.kind.of(entities) == TRANSMISSION
    player, warp_enemy, warp_transmission = warp_target(state, uses(spec.WARP), draws.pick)
    bombed, blast = bomb_target(state, uses(spec.D_BOM))

    area = row_through(state.player).when(uses(spec.ROW)) | column_through(state.player).when(uses(spec.COL))
    area = area | around.blocks.when(uses(spec.DEBUG)) | siphoned_cells(state).when(uses(spec.HACK))
    area = area | FULL.when(uses(spec.ANTI_V)) | blast
    cleared = around.player.around().when(uses(spec.CRASH)) | warp_enemy
    area, cleared = settle((area, cleared), by=entities)

    hurt = enemy & area.has(cell) & (~uses(spec.ANTI_V) | (type_ == spec.VIRUS)) & ~bombed
    hurt = hurt | target.enemy
    fixed = uses(spec.ANTI_V) | uses(spec.D_BOM)
    swept = enemy & cleared.has(cell)
    transmission_lost = target.transmission | warp_transmission | (transmission & cleared.has(cell) & uses(spec.CRASH))

    changed = enemy & uses(spec.POLY)
    new_type = (type_ + 1 + below(draws.order, 3)) & 3
    new_hp = max_hp(new_type) - (max_hp(type_) - hp)
    left = jnp.where(hurt, hp - jnp.where(fixed, 1, state.attack), jnp.where(changed, new_hp, hp))
    died = ((hurt | changed) & (left <= 0)) | swept | bombed
    gone = died | transmission_lost

    unscheduled = ~Entity.scheduled.is_set(entities)
    sweeping = uses(spec.CRASH) | uses(spec.WARP)
    kills = (transmission_lost & unscheduled).sum(0) + jnp.where(
        sweeping, swept_kills(entities, swept, sweeping), (died & unscheduled).sum(0)
    )
    survivor = Entity.hp.put(Entity.type.put(entities, jnp.where(changed, new_type, type_)), jnp.maximum(left, 0))
    survivor = survivor | Entity.stunned.make(hurt)
    entities = jnp.where(gone, 0, jnp.where(enemy, survivor, entities))
    return state._replace(entities=entities, player=player), kills


def swept_kills(entities: Any, swept: Any, which: Any) -> Any:
    """Kills of CRASH and WARP: one per cleared cell at most, and none if the first enemy there was scheduled."""
    zero = jnp.zeros(jnp.shape(which), jnp.int32)

    def count() -> Any:
        cells = Entity.cell.of(entities)
        scheduled = Entity.scheduled.is_set(entities)

        def add(slot: Any, carry: Any) -> Any:
            seen, kills = carry
            here = bit(cells[slot]).when(swept[slot])
            first = here.minus(seen).any()
            return seen | here, kills + (first & ~scheduled[slot])

        return jax.lax.fori_loop(0, SLOTS, add, (Bits(zero, zero), zero))[1]

    return jax.lax.cond(jnp.any(which), count, lambda: zero)


def warp_target(state: State, used: Any, word: Any) -> tuple[Any, Bits, Any]:
    """WARP's new player cell, the cell it clears of enemies, and the slot of the transmission it destroys.

    The target is drawn among the enemies in list order followed by the transmissions in list order.
    """
    nowhere = jnp.zeros_like(state.player)

    def choose() -> Any:
        kind = Entity.kind.of(state.entities)
        enemy, transmission = kind == ENEMY, kind == TRANSMISSION
        enemies = enemy.sum(0)
        rank = jnp.where(enemy, jnp.cumsum(enemy, 0) - 1, enemies + jnp.cumsum(transmission, 0) - 1)
        drawn = below(word, enemies + transmission.sum(0))
        chosen = (enemy | transmission) & (rank == drawn) & used
        cell = jnp.where(chosen, Entity.cell.of(state.entities), 0).sum(0)
        clears = bit(cell).when((chosen & enemy).any(0))
        return jnp.where(used, cell, state.player), clears, chosen & transmission

    def stay() -> Any:
        return state.player, Bits(nowhere, nowhere), jnp.zeros(jnp.shape(state.entities), bool)

    return jax.lax.cond(jnp.any(used), choose, stay)


def bomb_target(state: State, used: Any) -> tuple[Any, Bits]:
    """D_BOM's daemon (a slot mask) and the cells around it."""
    entities = state.entities
    cell = Entity.cell.of(entities)
    daemon = (Entity.kind.of(entities) == ENEMY) & (Entity.type.of(entities) == spec.DAEMON) & used
    row, player_row = row_of(cell), row_of(state.player)
    columns = (cell - spec.SIDE * row) - (state.player - spec.SIDE * player_row)
    distance = jnp.abs(row - player_row) + jnp.abs(columns)
    word = (distance << 12) | (column(_INDEX, entities) << 6) | cell
    nearest = jnp.where(daemon, word, jnp.iinfo(jnp.int32).max).min(0)
    return daemon & (word == nearest), bit(nearest & 63).around().when(used & daemon.any(0))


def shove(state: State, uses: Any) -> State:
    """PUSH and PULL. The first enemy in list order that wants a cell gets it; nothing else on the way matters."""

    def moved() -> Any:
        entities = state.entities
        cell = Entity.cell.of(entities)
        row, player_row = row_of(cell), row_of(state.player)
        col, player_col = cell - spec.SIDE * row, state.player - spec.SIDE * row_of(state.player)
        rows, cols = row - player_row, col - player_col
        beside = jnp.abs(rows) + jnp.abs(cols) == 1
        diagonal = (jnp.abs(rows) == 1) & (jnp.abs(cols) == 1)
        away = jnp.where(uses(spec.PUSH), 1, -1)
        pulls = uses(spec.PULL)
        row_step = jnp.where(pulls & beside, 0, away * jnp.sign(rows))
        col_step = jnp.where(pulls & (beside | diagonal), 0, away * jnp.sign(cols))
        last = spec.SIDE - 1
        wanted = jnp.clip(row + row_step, 0, last) * spec.SIDE + jnp.clip(col + col_step, 0, last)
        moves = (Entity.kind.of(entities) == ENEMY) & (wanted != cell) & (uses(spec.PUSH) | pulls)

        def claim(slot: Any, carry: Any) -> Any:
            entities, claimed = carry
            here = bit(wanted[slot]).when(moves[slot])
            granted = here.minus(claimed).any()
            word = jnp.where(granted, Entity.cell.put(entities[slot], wanted[slot]), entities[slot])
            return entities.at[slot].set(word), claimed | here

        zero = jnp.zeros_like(state.player)
        return jax.lax.fori_loop(0, SLOTS, claim, (entities, Bits(zero, zero)))[0]

    used = uses(spec.PUSH) | uses(spec.PULL)
    return state._replace(entities=jax.lax.cond(jnp.any(used), moved, lambda: state.entities))
