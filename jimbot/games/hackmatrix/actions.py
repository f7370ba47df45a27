"""Which actions are legal, and the directional action: shoot, else walk."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.board import FULL, at_place, cell_at, column_through, from_mask, place_of, row_through
from jimbot.games.hackmatrix.enemies import directions
from jimbot.games.hackmatrix.settle import settle
from jimbot.games.hackmatrix.state import (
    EMPTY,
    ENEMY,
    EXIT,
    PICKUP,
    SLOTS,
    TRANSMISSION,
    Boards,
    Cell,
    Entity,
    State,
    column,
    content_at,
)


def legal_word(state: State, around: Boards) -> Any:
    """Bit a of the word is set iff action a can be executed."""
    open_or_enemy = FULL.minus(around.blocks) | around.enemies
    moves = directions(around.player, open_or_enemy)
    kind = Entity.kind.of(state.entities)
    type_ = Entity.type.of(state.entities)
    has_enemy = around.enemies.any()
    has_transmission = around.transmissions.any()
    reducible = ~Cell.siphoned.is_set(state.cells) & Cell.is_block(state.cells) & Cell.spawn.is_set(state.cells)
    always = jnp.ones(jnp.shape(state.hp), bool)
    needs = {
        spec.PUSH: has_enemy,
        spec.PULL: has_enemy,
        spec.CRASH: (around.player.around() & (around.blocks | around.enemies | around.transmissions)).any(),
        spec.WARP: has_enemy | has_transmission,
        spec.POLY: has_enemy,
        spec.DEBUG: (around.enemies & around.blocks).any(),
        spec.ROW: (around.enemies & row_through(state.player)).any(),
        spec.COL: (around.enemies & column_through(state.player)).any(),
        spec.UNDO: state.history_size > 0,
        spec.SHOW: ~state.show,
        spec.RESET: state.hp < spec.MAX_HP,
        spec.CALM: ~state.calm,
        spec.D_BOM: ((kind == ENEMY) & (type_ == spec.DAEMON)).any(0),
        spec.DELAY: has_transmission,
        spec.ANTI_V: ((kind == ENEMY) & (type_ == spec.VIRUS)).any(0),
        spec.SCORE: state.stage < spec.STAGES,
        spec.REDUC: reducible.any(0),
        spec.ATK_PLUS: state.attack_uses < spec.ATK_USES_PER_STAGE,
        spec.HACK: Cell.siphoned.is_set(state.cells).any(0),
    }
    programs = [
        ((state.owned >> number) & 1 == 1)
        & (state.credits >= program.credits)
        & (state.energy >= program.energy)
        & needs.get(spec.FIRST_PROGRAM + number, always)
        for number, program in enumerate(spec.PROGRAMS)
    ]
    legal = (*moves, state.siphons >= 1, *programs)
    word = jnp.zeros_like(state.hp)
    for action, allowed in enumerate(legal):
        word = word | (allowed.astype(jnp.int32) << action)
    return settle(word, by=state.hp)


def legal_mask(word: Any) -> Any:
    """(…, 28) bool from the words of `legal_word`."""
    return ((word[..., None] >> np.arange(spec.SPEC.actions.size)) & 1) == 1


class Target(NamedTuple):
    """What a directional action meets."""

    enemy: Any  # (SLOTS, …) bool, the enemy that is hit
    transmission: Any  # (SLOTS, …) bool, the transmission that is destroyed
    walks: Any  # (…) bool, nothing to shoot: the player moves


def aim(state: State, action: Any, acts: Any, around: Boards) -> Target:
    """Walks outward from the player to the first transmission or enemy; a block ends the line behind itself."""
    step = jnp.where(acts, jnp.where(action < 2, 7 - 14 * action, 2 * action - 5), 0)
    place = place_of(state.player)
    going = acts
    found = jnp.full(jnp.shape(place), -1, jnp.int32)
    shootable = around.transmissions | around.enemies
    for _ in range(spec.SIDE - 1):
        place = place + step
        here = at_place(place)
        going = going & here.any()
        hit = going & (here & shootable).any()
        found = jnp.where(hit, cell_at(place), found)
        going = going & ~hit & ~(here & around.blocks).any()
    found = settle(found, by=state.player)
    there = Entity.cell.of(state.entities) == found
    kind = Entity.kind.of(state.entities)
    transmission = there & (kind == TRANSMISSION)
    index = column(np.arange(SLOTS, dtype=np.int32), state.entities)
    first = jnp.where(there & (kind == ENEMY), index, SLOTS).min(0)
    enemy = (index == first) & ~transmission.any(0)
    return Target(enemy, transmission, acts & (found < 0))


def walk(state: State, action: Any, walks: Any) -> tuple[State, Any, Any]:
    """Moves the player one cell; also tells where a pickup was collected and where the exit tile was reached."""
    step = jnp.where(action < 2, spec.SIDE - 2 * spec.SIDE * action, 2 * action - 5)
    player = jnp.where(walks, state.player + step, state.player)
    content = Cell.content.of(content_at(state, player))
    collected = walks & (content == PICKUP)
    here = (column(np.arange(spec.CELLS), state.cells) == player) & collected
    state = state._replace(
        player=player,
        siphons=state.siphons + collected,
        cells=jnp.where(here, Cell.content.put(state.cells, EMPTY), state.cells),
    )
    return state, collected, walks & (content == EXIT)


def siphoned_cells(state: State) -> Any:
    """The set of cells flagged siphoned."""
    return from_mask(Cell.siphoned.is_set(state.cells))
