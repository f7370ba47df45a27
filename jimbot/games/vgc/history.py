"""What has happened in a battle since its seed: all that is needed to play it again, exactly.

Battles live in other processes, so a snapshot is not their state but their story: seed and events. The simulator draws
everything from the seed, so playing the story again gives the same battle. This is exact, but costs what the battle
did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jimbot.errors import SnapshotError

Event = tuple[int, int]
"""(what, value): 0 and 1 are a side playing an action; 2, 3, 4 re-deal what is hidden from side 0, side 1 or both."""
REDRAW_FROM, REDRAW_BOTH = 2, 4
_ABSENT = 255


def pack(histories: Sequence[list[Event]]) -> np.ndarray:
    """(B, L, 2) uint64: the events of every battle, filled up to the longest."""
    longest = max((len(events) for events in histories), default=0)
    packed = np.full((len(histories), longest, 2), _ABSENT, np.uint64)
    for events, into in zip(histories, packed, strict=True):
        if events:
            into[: len(events)] = np.array(events, np.uint64)
    return packed


def unpack(packed: np.ndarray) -> list[list[Event]]:
    """The inverse of `pack`; refuses what it could not have written."""
    if packed.ndim != 3 or packed.shape[2:] != (2,) or packed.dtype != np.uint64:
        raise SnapshotError(
            f"A snapshot's events have shape {packed.shape} {packed.dtype}; expected (battles, n, 2) uint64."
        )
    present = packed[:, :, 0] != _ABSENT
    if (packed[:, :, 0][present] > REDRAW_BOTH).any():
        raise SnapshotError("The snapshot is damaged: it tells of an event of an unknown kind. Take a new one.")
    return [
        [(int(what), int(value)) for what, value in events[here]] for events, here in zip(packed, present, strict=True)
    ]


def field(snapshot: Mapping[str, np.ndarray], name: str, like: np.ndarray, count: int) -> np.ndarray:
    """One array of a snapshot, checked against the shape and kind it was written with."""
    found = snapshot.get(name)
    if found is None or found.shape != (count, *like.shape[1:]) or found.dtype != like.dtype:
        raise SnapshotError(f"The snapshot is damaged or of another number of battles: '{name}' does not fit.")
    return found
