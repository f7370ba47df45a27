"""The game's random numbers: text hash, exact rounding, the 64-bit generator, shuffles.

Everything is deterministic in the seed text and must agree with the original to the last bit, so the order of
operations matters: no fused multiply-add, no re-association. The same lines run compiled and as plain Python; where
Python would raise (division by zero, floor of infinity) the special case is written out.

Compiled functions carry no annotations: Numba infers their types, and a Python `int` is not what they receive.

`streams.py` holds which streams exist and where a game keeps their state.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.balatro.compiling.kernels import njit

PI = 3.141592653589793
E = 2.718281828459045
NAN = float("nan")
_HASH_FACTOR = 1.1239285023
_ADVANCE_OFFSET = 2.134453429141
_ADVANCE_FACTOR = 1.72431234
_SPLITTER = 134217729.0  # 2^27 + 1: splits a double into two halves of 26 bits
_TEN13 = 1e13
_TEN13_HIGH = _SPLITTER * _TEN13 - (_SPLITTER * _TEN13 - _TEN13)
_TEN13_LOW = _TEN13 - _TEN13_HIGH
_TWO_TO_MINUS_52 = 2.0**-52
_ALL = 0xFFFFFFFFFFFFFFFF
_NAN_BITS = np.uint64(0x7FF8000000000000)  # written out: the sign of a computed NaN differs between machines
_MANTISSA = np.uint64((1 << 52) - 1)

# Per word of the generator: the least value allowed when seeding, the three shifts and the mask of its step.
_LEAST0, _LEAST1, _LEAST2, _LEAST3 = np.uint64(1 << 1), np.uint64(1 << 6), np.uint64(1 << 9), np.uint64(1 << 17)
_A0, _B0, _Q0, _M0 = np.uint64(31), np.uint64(45), np.uint64(18), np.uint64((_ALL << 1) & _ALL)
_A1, _B1, _Q1, _M1 = np.uint64(19), np.uint64(30), np.uint64(28), np.uint64((_ALL << 6) & _ALL)
_A2, _B2, _Q2, _M2 = np.uint64(24), np.uint64(48), np.uint64(7), np.uint64((_ALL << 9) & _ALL)
_A3, _B3, _Q3, _M3 = np.uint64(21), np.uint64(39), np.uint64(8), np.uint64((_ALL << 17) & _ALL)


@njit
def hash_step(value, byte, position):
    """One byte of the text hash; bytes are visited from the last to the first, positions count from 1.

    A value of exactly 0 turns the rest into NaN, as in the original (seed 7LB2WVPK, key `erratic`).
    """
    if value == 0.0:
        return NAN
    total = _HASH_FACTOR / value
    total = total * byte
    total = total * PI
    total = total + PI * position
    return total - np.floor(total)


@njit
def hash_bytes(text, length):
    """The hash of the first `length` bytes of a uint8 array; 1.0 for the empty text."""
    value = 1.0
    for position in range(length, 0, -1):
        value = hash_step(value, np.int64(text[position - 1]), position)
    return value


def hash_text(text: str) -> float:
    """The hash of a text, for tools and tests.

    >>> hash_text("A")
    0.6517518426706488
    """
    data = np.frombuffer(text.encode(), np.uint8).copy() if text else np.zeros(1, np.uint8)
    return float(hash_bytes(data, len(text.encode())))


@njit
def round13(value):
    """`value` in [0, 1) as printed with 13 decimals and read back.

    The product with 1e13 is taken error-free (a two-part product), because its rounding error would flip about one
    value in 2400.
    """
    if value != value:
        return value
    product = value * _TEN13
    big = _SPLITTER * value
    high = big - (big - value)
    low = value - high
    error = ((high * _TEN13_HIGH - product) + high * _TEN13_LOW + low * _TEN13_HIGH) + low * _TEN13_LOW
    whole = np.floor(product)
    part = (product - whole) + error
    if part < 0.0:
        whole -= 1.0
        part += 1.0
    if part > 0.5 or (part == 0.5 and whole % 2.0 == 1.0):
        whole += 1.0
    return whole / _TEN13


@njit
def advance_state(state):
    """The next state of a stream."""
    value = _ADVANCE_OFFSET + state * _ADVANCE_FACTOR
    return round13(value - np.floor(value))


@njit
def _seed_word(number, least):
    word = _NAN_BITS if number != number else np.float64(number).view(np.uint64)
    if word < least:
        word = np.uint64(word + least)
    return word


@njit
def generator_step(z0, z1, z2, z3):
    """One step of the generator; its output is the exclusive or of the four new words."""
    z0 = (((z0 << _A0) ^ z0) >> _B0) ^ ((z0 & _M0) << _Q0)
    z1 = (((z1 << _A1) ^ z1) >> _B1) ^ ((z1 & _M1) << _Q1)
    z2 = (((z2 << _A2) ^ z2) >> _B2) ^ ((z2 & _M2) << _Q2)
    z3 = (((z3 << _A3) ^ z3) >> _B3) ^ ((z3 & _M3) << _Q3)
    return z0, z1, z2, z3


@njit
def generator(seed):
    """A generator seeded by a double, with its ten warm-up steps done."""
    number = seed * PI + E
    z0 = _seed_word(number, _LEAST0)
    number = number * PI + E
    z1 = _seed_word(number, _LEAST1)
    number = number * PI + E
    z2 = _seed_word(number, _LEAST2)
    number = number * PI + E
    z3 = _seed_word(number, _LEAST3)
    for _ in range(10):
        z0, z1, z2, z3 = generator_step(z0, z1, z2, z3)
    return z0, z1, z2, z3


@njit
def to_double(z0, z1, z2, z3):
    """The double in [0, 1) of the words just stepped: their low 52 bits as a fraction."""
    return np.float64(np.int64((z0 ^ z1 ^ z2 ^ z3) & _MANTISSA)) * _TWO_TO_MINUS_52


@njit
def first_double(seed):
    """The first number of a fresh generator, which is all that most draws use."""
    z0, z1, z2, z3 = generator(seed)
    z0, z1, z2, z3 = generator_step(z0, z1, z2, z3)
    return to_double(z0, z1, z2, z3)


@njit
def to_index(number, count):
    """An index 0..count-1 from a double in [0, 1)."""
    return np.int64(np.floor(number * count))


@njit
def shuffle(items, count, seed):
    """Shuffles the first `count` items in place with one generator, from the last position down."""
    z0, z1, z2, z3 = generator(seed)
    for last in range(count - 1, 0, -1):
        z0, z1, z2, z3 = generator_step(z0, z1, z2, z3)
        other = to_index(to_double(z0, z1, z2, z3), last + 1)
        item = items[last]
        items[last] = items[other]
        items[other] = item
