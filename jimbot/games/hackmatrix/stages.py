"""Stage generation, and the start of a game.

Block layouts are drawn and tested many at a time as bit boards; what the accepted blocks contain does not influence
acceptance, so it is drawn once, afterwards.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix import draws as purpose
from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.board import CORNERS, FULL, Bits, bit, constant, nth_bit
from jimbot.games.hackmatrix.draws import below, threefry, words
from jimbot.games.hackmatrix.entities import spawn
from jimbot.games.hackmatrix.settle import settle
from jimbot.games.hackmatrix.state import (
    DATA,
    EXIT,
    HIDDEN_DATA,
    HIDDEN_PROGRAM,
    PICKUP,
    PROGRAM,
    Cell,
    State,
    blank,
    boards,
    column,
)
from jimbot.games.seeds import FIRST_TRAIN_RESIDUE, residue

FEWEST_BLOCKS, MOST_BLOCKS = 5, 11
ATTEMPTS = 100
ATTEMPTS_PER_TRIP = 25
FIRST_INTERVAL = 12
MOST_PROGRAMS, MOST_PURSE = 6, 15  # of a game that begins later
BONUS_CREDITS, BONUS_ENERGY, BONUS_SIPHONS = 10, 11, 1

_CORNERS = constant(CORNERS)
_ORIGIN = constant([0])
_SPAWN_COSTS = np.array([program.spawn for program in spec.PROGRAMS], np.int32)


def start_game(seed: Any, starts: float = 0.0) -> State:
    """A new game from a (2, …) uint32 seed, without history; see `opening`."""
    return generate(opening(seed, starts))


def opening(seed: Any, starts: float = 0.0) -> State:
    """The player before the first stage is laid out; a share of `starts` of the training games begins later."""
    state = first_opening(seed)
    return later_opening(state, seed, starts) if starts else state


def first_opening(seed: Any) -> State:
    """The player before stage 1 is laid out."""
    state = blank(jnp.shape(seed)[1:])
    first, key = words(seed, purpose.START, 2, 2)
    bonus = below(first[1], 3)
    return state._replace(
        key=key,
        player=_corner(below(first[0], 4)),
        hp=state.hp + spec.MAX_HP,
        attack=state.attack + 1,
        credits=jnp.where(bonus == 0, BONUS_CREDITS, 0),
        energy=jnp.where(bonus == 1, BONUS_ENERGY, 0),
        siphons=jnp.where(bonus == 2, BONUS_SIPHONS, 0),
        stage=state.stage + 1,
        interval=state.interval + FIRST_INTERVAL,
    )


def later_opening(state: State, seed: Any, share: float) -> State:
    """Puts a share of the games before a later stage, with programs and other things owned.

    Only games of the train bank: what judges a player always begins at the start.
    """
    chance, stage_word, hp_word, attack_word, count_word, *purses, siphon_word = (
        word[0] for word in words(seed, purpose.LATER, *[1] * 8)
    )
    program_words = words(seed, purpose.LATER_PROGRAMS, MOST_PROGRAMS)[0]
    later = (chance < np.uint32(min(share, 1.0) * 0xFFFFFFFF)) & (residue(seed[0], seed[1]) >= FIRST_TRAIN_RESIDUE)
    stage = 2 + below(stage_word, spec.STAGES - 1)
    owned = jnp.zeros_like(state.owned)
    for number in range(MOST_PROGRAMS):
        program = jnp.int32(1) << below(program_words[number], len(spec.PROGRAMS))
        owned = owned | jnp.where(number < below(count_word, MOST_PROGRAMS + 1), program, 0)
    credits, energy = (below(word, MOST_PURSE + 1) for word in purses)
    return state._replace(
        stage=jnp.where(later, stage, state.stage),
        interval=jnp.where(later, FIRST_INTERVAL + 1 - stage, state.interval),
        hp=jnp.where(later, 1 + below(hp_word, spec.MAX_HP), state.hp),
        attack=state.attack + jnp.where(later, (below(attack_word, 10) >= 7) + (below(attack_word, 10) >= 9), 0),
        owned=jnp.where(later, owned, state.owned),
        credits=jnp.where(later, credits, state.credits),
        energy=jnp.where(later, energy, state.energy),
        siphons=jnp.where(later, below(siphon_word, 4), state.siphons),
    )


def generate(state: State) -> State:
    """A new board around the player, for the stage number in the state; entities stay where they are.

    Uses up the state's key and replaces it.
    """
    key = state.key
    layout, contents, program_words, spawn_words, following = words(
        key, purpose.STAGE, 2, 2 * spec.CELLS, MOST_BLOCKS, spec.STAGES, 2
    )
    corners = Bits(_CORNERS.lo | state.player * 0, _CORNERS.hi | state.player * 0).minus(bit(state.player))
    exit_cell = corners.nth(below(layout[0], corners.size()))
    corners, exit_cell = settle((corners, exit_cell), by=state.player)
    exit_bit = bit(exit_cell)
    around = boards(state)
    occupied = around.enemies | around.transmissions
    free = FULL.minus(_CORNERS).minus(occupied)
    count = jnp.minimum(FEWEST_BLOCKS + below(layout[1], MOST_BLOCKS - FEWEST_BLOCKS + 1), free.size())
    blocks = find_layout(key, free, count, exit_bit)

    cells = fill_cells(contents, program_words, blocks, exit_bit, corners.minus(exit_bit))
    off = state.show & False
    state = state._replace(
        key=following,
        cells=cells,
        exit=exit_cell,
        turn=jnp.zeros_like(state.turn),
        next_turn=state.interval,
        show=off,
        calm=off,
        skip=off,
        attack_uses=jnp.zeros_like(state.attack_uses),
    )
    none = jnp.zeros_like(state.stage)
    entities = spawn(state.entities, state.stage, none, False, around._replace(blocks=blocks), spawn_words)
    return state._replace(entities=entities)


def find_layout(key: Any, free: Bits, count: Any, exit_bit: Bits) -> Bits:
    """The first acceptable of at most 100 random placements of `count` blocks on free cells; else no blocks."""
    batch = jnp.shape(count)
    zero = jnp.zeros(batch, jnp.int32)

    def searching(carry: Any) -> Any:
        attempt, _, found = carry
        return (attempt < ATTEMPTS) & ~jnp.all(found)

    def attempt_some(carry: Any) -> Any:
        attempt, blocks, found = carry
        number = attempt + column(np.arange(ATTEMPTS_PER_TRIP), jnp.zeros((1, *batch)))
        candidates = place_blocks(key, number, free, count)
        accepted = acceptable(candidates, exit_bit)
        first = jnp.where(accepted, number, ATTEMPTS).min(0)
        chosen = (number == first) & ~found
        lo = blocks.lo + jnp.where(chosen, candidates.lo, 0).sum(0)
        hi = blocks.hi + jnp.where(chosen, candidates.hi, 0).sum(0)
        return attempt + ATTEMPTS_PER_TRIP, Bits(lo, hi), found | (first < ATTEMPTS)

    _, blocks, _ = jax.lax.while_loop(searching, attempt_some, (jnp.int32(0), Bits(zero, zero), zero > 0))
    return blocks


def place_blocks(key: Any, attempt: Any, free: Bits, count: Any) -> Bits:
    """Places blocks one at a time on cells that are still free; `attempt` (C, …) numbers the placements."""
    shape = jnp.shape(attempt + count)
    zero = jnp.zeros(shape, jnp.int32)

    def place_two(pair: Any, carry: Any) -> Any:
        left, blocks = carry
        drawn = threefry(key, (attempt * pairs + pair).astype(jnp.uint32), jnp.uint32(purpose.PLACEMENT))
        for index, word in enumerate(drawn):
            cell = bit(settle(left.nth(below(word, left.size())), by=carry[1].lo)).when(2 * pair + index < count)
            left, blocks = left.minus(cell), blocks | cell
        return left, blocks

    pairs = (MOST_BLOCKS + 1) // 2  # the generator gives two words at a time
    start = (Bits(free.lo | zero, free.hi | zero), Bits(zero, zero))
    return jax.lax.fori_loop(0, pairs, place_two, start)[1]


def acceptable(blocks: Bits, exit_bit: Bits) -> Any:
    """Whether all open cells hang together and every block has an open neighbour.

    The flood starts at (0,0) and does not go on from the exit, unless the exit is (0,0) itself.
    """
    open_cells = blocks.complement()
    through = open_cells.minus(exit_bit) | _ORIGIN

    def going(carry: Any) -> Any:
        return jnp.any(carry[1])

    def spread(carry: Any) -> Any:
        reached, _ = carry
        before = reached
        for _ in range(4):
            reached = reached | ((reached & through).beside() & open_cells)
        return reached, (reached.lo != before.lo) | (reached.hi != before.hi)

    zero = blocks.lo * 0
    origin = Bits(zero | _ORIGIN.lo, zero | _ORIGIN.hi)
    reached, _ = jax.lax.while_loop(going, spread, (origin, zero == 0))
    connected = ~open_cells.minus(reached).any()
    return connected & ~blocks.minus(open_cells.beside()).any()


def fill_cells(contents: Any, program_words: Any, blocks: Bits, exit_bit: Bits, pickups: Bits) -> Any:
    """(36, …) cell words: block contents, resources, pickups and the exit.

    Each cell has two random words; a block and a resource never share a cell, so both may use the same.
    """
    first, second = contents[: spec.CELLS], contents[spec.CELLS :]
    block = blocks.mask()
    is_program = block & ((first & np.uint32(1)) == 1)
    hidden = below(first, 10) == 0
    points = 1 + below(second, 9)
    program, cost = choose_programs(program_words, is_program)
    value = jnp.where(is_program, program, points)
    content = jnp.where(is_program, jnp.where(hidden, HIDDEN_PROGRAM, PROGRAM), jnp.where(hidden, HIDDEN_DATA, DATA))
    block_word = Cell.content.make(content) | Cell.value.make(value)
    block_word = block_word | Cell.spawn.make(jnp.where(is_program, cost, points))

    chance = below(second, 20)  # 45 % one, 45 % two, 10 % three
    amount = 1 + (chance >= 9) + (chance >= 18)
    credits = (first & np.uint32(1)) == 1
    resource = jnp.where(credits, Cell.credits.make(amount), Cell.energy.make(amount))
    resource = resource | jnp.where(pickups.mask(), Cell.content.make(PICKUP), 0)
    return jnp.where(block, block_word, jnp.where(exit_bit.mask(), Cell.content.make(EXIT), resource))


def choose_programs(drawn: Any, is_program: Any) -> tuple[Any, Any]:
    """Distinct random programs for the marked cells in cell order, and their spawn costs (both (36, …) int32)."""
    rank = jnp.cumsum(is_program, 0) - 1
    zero = jnp.zeros(jnp.shape(rank)[1:], jnp.int32)

    def choose(index: Any, carry: Any) -> Any:
        unused, program = carry
        left = len(spec.PROGRAMS) - index
        number = settle(nth_bit(unused, below(drawn[index], left)), by=unused)
        return unused & ~(jnp.int32(1) << number), jnp.where(rank == index, number, program)

    everything = zero | ((1 << len(spec.PROGRAMS)) - 1)
    _, program = jax.lax.fori_loop(0, MOST_BLOCKS, choose, (everything, jnp.zeros_like(rank)))
    return program, jnp.asarray(_SPAWN_COSTS)[program]


def _corner(number: Any) -> Any:
    return jnp.asarray(np.array(CORNERS, np.int32))[number]
