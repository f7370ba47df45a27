"""Frames between JimBot and its simulator processes; the other end is node/wire.js.

A frame is its length (uint32, of what follows), a kind (uint8), a ticket (uint32) and a payload, little endian. States
of battles travel as rows of fixed size, read here as one NumPy record array without a loop; rare questions are JSON.
"""

from __future__ import annotations

import struct
from enum import IntEnum, IntFlag

import numpy as np

from jimbot.games.vgc import orders

PROTOCOL = 1
COUNTERS = (
    "result", "own_fainted", "foe_fainted", "own_hp", "foe_hp", "own_statuses", "foe_statuses", "turn", "decisions",
    "refused",
)  # fmt: skip
"""Raw counters beside every row: result 1, -1 or 0; HP in percent summed over the four brought."""
MASK_BYTES = -(-orders.ACTIONS // 8)


def row_type(features: int) -> np.dtype:
    """A row with so many features."""
    return np.dtype([
        ("battle", "<u2"),
        ("side", "u1"),
        ("phase", "u1"),
        ("flags", "u1"),
        ("spare", "u1"),
        ("counters", "<i2", (len(COUNTERS),)),
        ("features", "<i2", (features,)),
        ("mask", "u1", (MASK_BYTES,)),
    ])  # fmt: skip


_HEADER = struct.Struct("<IBI")
_SEED_AND_TEAMS = struct.Struct("<IIHH")
_EVENT = struct.Struct("<BII")
_LENGTH_BYTES = 4


class Kind(IntEnum):
    CONFIGURE = 1
    HELLO = 2
    START = 3
    STEP = 4
    ROWS = 5
    RESTORE = 6
    REDRAW = 7
    ASK = 8
    ANSWER = 9
    FAILED = 10


class Flag(IntFlag):
    ACTING = 1
    ENDED = 2
    REFUSED = 4
    ABORTED = 8


def frame(kind: Kind, ticket: int, payload: bytes) -> bytes:
    return _HEADER.pack(_HEADER.size - _LENGTH_BYTES + len(payload), kind, ticket) + payload


def take_frame(received: bytearray) -> tuple[Kind, int, bytes] | None:
    """The first whole frame of what was received, taken off it; None while it is still incomplete."""
    if len(received) < _HEADER.size:
        return None
    length, kind, ticket = _HEADER.unpack_from(received)
    end = _LENGTH_BYTES + length
    if len(received) < end:
        return None
    payload = bytes(received[_HEADER.size : end])
    del received[:end]
    return Kind(kind), ticket, payload


def unpack_masks(rows: np.ndarray) -> np.ndarray:
    """(n, A) bool."""
    return np.unpackbits(rows["mask"], axis=1, count=orders.ACTIONS).view(bool)


# --- entries: one per battle, joined to a payload ---


def beginning(battle: int, seed: int, teams: tuple[int, int]) -> bytes:
    """A battle from its seed, for START; also how RESTORE begins."""
    return struct.pack("<H", battle) + _SEED_AND_TEAMS.pack(seed >> 32, seed & 0xFFFFFFFF, *teams)


def step(battle: int, following: int, teams: tuple[int, int], actions: list[tuple[int, int]]) -> bytes:
    """(side, action) of one step, and what to play when the battle ends with it."""
    parts = [beginning(battle, following, teams), struct.pack("<B", len(actions))]
    parts += [struct.pack("<BH", side, action) for side, action in actions]
    return b"".join(parts)


def replay(battle: int, seed: int, teams: tuple[int, int], events: list[tuple[int, int]]) -> bytes:
    """A battle from its seed and everything that happened since: (what, value), see node/worker.js."""
    parts = [beginning(battle, seed, teams), struct.pack("<H", len(events))]
    parts += [_EVENT.pack(what, value >> 32, value & 0xFFFFFFFF) for what, value in events]
    return b"".join(parts)


def redraw(battle: int, what: int, seed: int) -> bytes:
    return struct.pack("<HBII", battle, what, seed >> 32, seed & 0xFFFFFFFF)
