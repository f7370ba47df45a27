"""What a good player works out beyond the observation (the option `helpers`): clocks, what can be used now, what every
step would meet, and what a siphon would bring here and one step away.

Nothing here is hidden from a player who pays attention. Threats are counted with sets of cells, not played out: enemies
that another one stands in the way of are counted too, unseen cryptogs are not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.actions import aim, legal_word
from jimbot.games.hackmatrix.board import FULL, Bits, column_through, from_cells, row_through
from jimbot.games.hackmatrix.settle import settle
from jimbot.games.hackmatrix.state import (
    ENEMY,
    HIDDEN_DATA,
    PROGRAM,
    TRANSMISSION,
    Boards,
    Cell,
    Entity,
    State,
    boards,
)

STAY = len(spec.MOVE_NAMES)  # the fifth way to spend a turn: siphon or WAIT
_STEPS = (Bits.up, Bits.down, Bits.left, Bits.right)


class _Foes(NamedTuple):
    """The cells of those the player can see and who may act."""

    slow: Bits  # one step a turn, around blocks
    glitches: Bits  # one step a turn, over blocks
    viruses: Bits  # two steps a turn
    coming: Bits  # transmissions: they act in the turn after next


def helpers(state: State) -> Any:
    """(spec.HELPERS, …) float32 of a state as the rules see it, batch last."""
    around = boards(state)
    rows = [*_clocks(state), *_usable(state, around), *_steps(state, around), *_siphons(state, around)]
    return jnp.stack([jnp.asarray(row).astype(jnp.float32) for row in rows])


def _clocks(state: State) -> list[Any]:
    left = jnp.clip(state.next_turn - state.turn, 0, 12)
    return [
        jnp.where(state.calm, 12, left) / 12,  # turns to the next scheduled enemy
        state.interval / 12,
        state.skip,  # STEP is pending
        state.pending / 10,
        state.history_size / 4,
        state.attack_uses / spec.ATK_USES_PER_STAGE,
    ]


def _usable(state: State, around: Boards) -> list[Any]:
    """Per program whether it could be used now."""
    word = legal_word(state, around)
    return [(word >> action) & 1 for action in range(spec.FIRST_PROGRAM, spec.FIRST_PROGRAM + len(spec.PROGRAMS))]


def _foes(state: State) -> _Foes:
    entities = state.entities
    kind, cell, type_ = Entity.kind.of(entities), Entity.cell.of(entities), Entity.type.of(entities)
    in_line = (row_through(state.player) | column_through(state.player)).has(cell)
    seen = (kind == ENEMY) & ((type_ != spec.CRYPTOG) | in_line | state.show)
    acts = seen & ~Entity.stunned.is_set(entities)
    fast, glitch = type_ == spec.VIRUS, type_ == spec.GLITCH
    return _Foes(
        slow=from_cells(cell, acts & ~fast & ~glitch),
        glitches=from_cells(cell, acts & glitch),
        viruses=from_cells(cell, acts & fast),
        coming=from_cells(cell, kind == TRANSMISSION),
    )


def _steps(state: State, around: Boards) -> list[Any]:
    """For each direction and for staying: what is shot, who can hit the player then, and who in the turn after."""
    foes = settle(_foes(state), by=state.player)
    rows: list[Any] = []
    for way in range(STAY + 1):
        acts = jnp.full(jnp.shape(state.player), way < STAY)
        target = aim(state, jnp.full_like(state.player, way), acts, around)
        walks = target.walks
        if way < STAY:
            there = _STEPS[way](around.player).minus(around.blocks)
            walks = walks & there.any()
            place = Bits(*(jnp.where(walks, new, old) for new, old in zip(there, around.player, strict=True)))
        else:
            place = around.player
        hp = jnp.where(target.enemy, Entity.hp.of(state.entities), 0).sum(0)
        shot = from_cells(Entity.cell.of(state.entities), target.enemy | target.transmission)
        place, shot, hp = settle((place, shot, hp), by=state.player)
        now, later = _threats(place, shot, around, foes)
        kills = target.transmission.any(0) | ((hp > 0) & (hp <= state.attack))
        rows += [walks, kills, (hp > 0) & ~kills, jnp.minimum(now, 3) / 3, jnp.minimum(later, 4) / 4]
    return rows


def _threats(place: Bits, shot: Bits, around: Boards, foes: _Foes) -> tuple[Any, Any]:
    """Who can attack a player on `place` in this enemy turn, and who at the latest in the next if the player stays."""
    open_cells = FULL.minus(around.blocks)
    empty = open_cells.minus(around.enemies | around.transmissions)
    one = place.beside()
    two = one | (one & empty).beside()
    viruses = foes.viruses.minus(shot)
    others = (foes.slow | foes.glitches).minus(shot)
    now = (others & one).size() + (viruses & two).size()
    walked = one | (one & open_cells).beside()
    flown = one | one.beside()
    far = walked
    for _ in range(2):
        far = far | (far & open_cells).beside()
    later = (foes.slow & walked).size() + (foes.glitches & flown).size() + (foes.viruses & far).size()
    return now, later + (foes.coming.minus(shot) & one).size()


def _siphons(state: State, around: Boards) -> list[Any]:
    """Here and one step in each direction: credits, energy, enemies called and new programs of a siphon there."""
    words = state.cells
    block, fresh = Cell.is_block(words), ~Cell.siphoned.is_set(words)
    content = Cell.content.of(words)
    known = fresh & block & (content < HIDDEN_DATA)
    new = known & (content == PROGRAM) & (((state.owned >> Cell.value.of(words)) & 1) == 0)
    planes = (
        (jnp.where(fresh & ~block, Cell.credits.of(words), 0), 10),
        (jnp.where(fresh & ~block, Cell.energy.of(words), 0), 10),
        (jnp.where(known, Cell.spawn.of(words), 0), 10),
        (new.astype(jnp.int32), 2),
    )
    rows: list[Any] = []
    for step in (lambda cells: cells, *_STEPS):
        place = step(around.player).minus(around.blocks)
        cross = settle((place | place.beside()).mask(), by=state.player)
        rows += [jnp.where(cross, plane, 0).sum(0) / scale for plane, scale in planes]
    return rows
