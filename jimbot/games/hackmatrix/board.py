"""Sets of board cells as bits, so that flooding, rays and counting are a few integer operations per game.

A `Bits` is two int32 words: rows 0-2 in `lo`, rows 3-5 in `hi`. Each row takes 7 bits, the seventh always 0, so a
step left or right never wraps into another row. The place of a cell (row, col) is 7·row + col, counted through both
words. Cells themselves are numbered 6·row + col.

Everything in this package is written "structure first, batch last": the words may be scalars (one game) or carry
trailing batch axes, and the same lines serve both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games.hackmatrix.spec import CELLS, SIDE

ROW_OF = np.arange(CELLS, dtype=np.int32) // SIDE
COL_OF = np.arange(CELLS, dtype=np.int32) % SIDE
CORNERS = (0, SIDE - 1, CELLS - SIDE, CELLS - 1)

_STRIDE = SIDE + 1
_HALF = 3 * _STRIDE
_WORD = sum(0b111111 << (_STRIDE * row) for row in range(3))
_COLUMN = sum(1 << (_STRIDE * row) for row in range(3))
_PLACE_OF = ROW_OF * _STRIDE + COL_OF


class Bits(NamedTuple):
    """A set of cells per game."""

    lo: Any
    hi: Any

    def __and__(self, other: Bits) -> Bits:
        return Bits(self.lo & other.lo, self.hi & other.hi)

    def __or__(self, other: Bits) -> Bits:
        return Bits(self.lo | other.lo, self.hi | other.hi)

    def minus(self, other: Bits) -> Bits:
        return Bits(self.lo & ~other.lo, self.hi & ~other.hi)

    def complement(self) -> Bits:
        return FULL.minus(self)

    def any(self) -> Any:
        return (self.lo | self.hi) != 0

    def when(self, condition: Any) -> Bits:
        """The set itself where the condition holds, else the empty set."""
        return Bits(jnp.where(condition, self.lo, 0), jnp.where(condition, self.hi, 0))

    def up(self) -> Bits:
        return Bits((self.lo << _STRIDE) & _WORD, ((self.hi << _STRIDE) | (self.lo >> (_HALF - _STRIDE))) & _WORD)

    def down(self) -> Bits:
        return Bits(((self.lo >> _STRIDE) | (self.hi << (_HALF - _STRIDE))) & _WORD, self.hi >> _STRIDE)

    def left(self) -> Bits:
        return Bits((self.lo >> 1) & _WORD, (self.hi >> 1) & _WORD)

    def right(self) -> Bits:
        return Bits((self.lo << 1) & _WORD, (self.hi << 1) & _WORD)

    def beside(self) -> Bits:
        """All cells orthogonally adjacent to one of the set."""
        lo, hi = self
        return Bits(
            ((lo << 1) | (lo >> 1) | (lo << _STRIDE) | (lo >> _STRIDE) | (hi << (_HALF - _STRIDE))) & _WORD,
            ((hi << 1) | (hi >> 1) | (hi << _STRIDE) | (hi >> _STRIDE) | (lo >> (_HALF - _STRIDE))) & _WORD,
        )

    def around(self) -> Bits:
        """The up to eight king-move neighbours (of single cells)."""
        wide = self | self.left() | self.right()
        return (wide | wide.up() | wide.down()).minus(self)

    def size(self) -> Any:
        return jax.lax.population_count(self.lo) + jax.lax.population_count(self.hi)

    def mask(self) -> Any:
        """(36, …) bool."""
        batch = (1,) * jnp.ndim(self.lo)
        place = jnp.asarray(_PLACE_OF[: CELLS // 2]).reshape(-1, *batch)
        return jnp.concatenate([(self.lo >> place) & 1, (self.hi >> place) & 1]) == 1

    def has(self, cell: Any) -> Any:
        """Whether the cell with this number belongs to the set."""
        place = place_of(cell)
        low = place < _HALF
        return ((jnp.where(low, self.lo, self.hi) >> jnp.where(low, place, place - _HALF)) & 1) == 1

    def nth(self, rank: Any) -> Any:
        """The number of the cell that has `rank` smaller members; the set must be larger than `rank`."""
        in_lo = jax.lax.population_count(self.lo)
        high = rank >= in_lo
        place = nth_bit(jnp.where(high, self.hi, self.lo), jnp.where(high, rank - in_lo, rank))
        return cell_at(place + jnp.where(high, _HALF, 0))


FULL = Bits(np.int32(_WORD), np.int32(_WORD))


def nth_bit(word: Any, rank: Any) -> Any:
    """The position of the set bit of a word that has `rank` set bits below it."""
    position = jnp.zeros_like(word)
    for width in (16, 8, 4, 2, 1):
        low = word & ((1 << width) - 1)
        inside = jax.lax.population_count(low)
        beyond = rank >= inside
        word = jnp.where(beyond, word >> width, low)
        rank = jnp.where(beyond, rank - inside, rank)
        position = jnp.where(beyond, position + width, position)
    return position


def row_of(cell: Any) -> Any:
    """cell // 6 without a division."""
    return (cell * 43) >> 8


def place_of(cell: Any) -> Any:
    return cell + row_of(cell)


def row_at(place: Any) -> Any:
    """place // 7 without a division."""
    return (place * 37) >> 8


def cell_at(place: Any) -> Any:
    """The inverse of `place_of`."""
    return place - row_at(place)


def at_place(place: Any) -> Bits:
    """The single cell at a place −7..48; the empty set outside the board."""
    one = jnp.int32(1)
    lo = jnp.where(place < _HALF, one << (place & 31), 0) & _WORD
    hi = jnp.where(place < _HALF, 0, one << ((place - _HALF) & 31)) & _WORD
    return Bits(lo, hi)


def bit(cell: Any) -> Bits:
    """The set of one cell."""
    return at_place(place_of(cell))


def row_through(cell: Any) -> Bits:
    """All cells in the row of a cell."""
    row = row_of(cell)
    full = jnp.int32(0b111111)
    low = row < 3
    line = full << (_STRIDE * jnp.where(low, row, row - 3))
    return Bits(jnp.where(low, line, 0), jnp.where(low, 0, line))


def column_through(cell: Any) -> Bits:
    """All cells in the column of a cell."""
    word = jnp.int32(_COLUMN) << (cell - SIDE * row_of(cell))
    return Bits(word, word)


def constant(cells: Any) -> Bits:
    """A fixed set of cells."""
    words = [0, 0]
    for cell in cells:
        place = int(_PLACE_OF[cell])
        words[place // _HALF] |= 1 << (place % _HALF)
    return Bits(np.int32(words[0]), np.int32(words[1]))


def from_mask(mask: Any) -> Bits:
    """The set of a (36, …) bool plane."""
    weights = jnp.asarray(1 << _PLACE_OF[: CELLS // 2].astype(np.int32)).reshape(-1, *(1,) * (jnp.ndim(mask) - 1))
    half = CELLS // 2
    return Bits(jnp.where(mask[:half], weights, 0).sum(0), jnp.where(mask[half:], weights, 0).sum(0))


def from_cells(cell: Any, member: Any) -> Bits:
    """The set of all cells in an (S, …) list of cell numbers where `member`."""
    bits = bit(cell)

    def union(words: Any) -> Any:
        return jax.lax.reduce(jnp.where(member, words, 0), np.int32(0), jax.lax.bitwise_or, (0,))

    return Bits(union(bits.lo), union(bits.hi))


def steps_between(start: Bits, goal: Bits, open_cells: Bits) -> Any:
    """Fewest orthogonal steps from `start` to `goal` entering open cells only; 0 if there is no way.

    The loop ends when every game of the batch has arrived or is stuck.
    """

    def going(carry: Any) -> Any:
        return jnp.any(carry[2])

    def spread(carry: Any) -> Any:
        reached, steps, active = carry
        before = reached
        for _ in range(4):  # several levels per trip: a trip costs more than a level
            active = active & ~(reached & goal).any()
            reached = reached | (reached.beside() & open_cells)
            steps = steps + active
        grown = (reached.lo != before.lo) | (reached.hi != before.hi)
        return reached, steps, active & grown

    zero = jnp.zeros(jnp.shape(start.lo | goal.lo | open_cells.lo), jnp.int32)
    reached = Bits(start.lo | zero, start.hi | zero)
    reached, steps, _ = jax.lax.while_loop(going, spread, (reached, zero, zero == 0))
    return jnp.where((reached & goal).any(), steps, 0)
