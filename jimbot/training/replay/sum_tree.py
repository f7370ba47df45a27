"""A sum tree over priorities, in NumPy and for whole batches: drawing and changing cost one pass over the levels.

Every inner node is recomputed from its two children, never adjusted by a difference: the tree is a function of its
leaves alone, so no rounding error gathers and a restored tree is bit for bit the one that was saved.
"""

from __future__ import annotations

import numpy as np


class SumTree:
    """`capacity` leaves, all 0 at first.

    >>> tree = SumTree(4)
    >>> tree.set(np.array([0, 2, 3]), np.array([1.0, 2.0, 5.0]))
    >>> tree.total, tree.find(np.array([0.0, 0.99, 1.0, 7.9])).tolist()
    (8.0, [0, 0, 2, 3])
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._levels = max(1, int(capacity - 1).bit_length())
        self._first = 1 << self._levels  # place of leaf 0; node i has the children 2 i and 2 i + 1
        self._nodes = np.zeros(2 * self._first)

    @staticmethod
    def bytes_needed(capacity: int) -> int:
        return 16 << max(1, int(capacity - 1).bit_length())

    @property
    def total(self) -> float:
        return float(self._nodes[1])

    @property
    def leaves(self) -> np.ndarray:
        """(capacity,) float64; read only."""
        view = self._nodes[self._first : self._first + self.capacity]
        view.flags.writeable = False
        return view

    def set(self, index: np.ndarray, value: np.ndarray | float) -> None:
        """Gives leaves new values (≥ 0). Of a leaf named twice the last value counts."""
        place = self._first + np.asarray(index, np.int64)
        self._nodes[place] = value
        for _ in range(self._levels):
            place = place >> 1
            if len(place) > 64:  # siblings meet on the way up; for few leaves looking for them costs more than it saves
                place = np.unique(place)
            self._nodes[place] = self._nodes[2 * place] + self._nodes[2 * place + 1]

    def set_all(self, leaves: np.ndarray) -> None:
        """Every leaf anew."""
        self._nodes[self._first : self._first + self.capacity] = leaves
        for level in range(self._levels - 1, -1, -1):
            start = 1 << level
            children = self._nodes[2 * start : 4 * start]
            self._nodes[start : 2 * start] = children[0::2] + children[1::2]

    def find(self, mass: np.ndarray) -> np.ndarray:
        """(B,) int64: the leaves in which the running sum passes `mass` (B,), each in [0, total)."""
        place, rest = np.ones(len(mass), np.int64), np.array(mass, np.float64)
        for _ in range(self._levels):
            place = 2 * place
            left = self._nodes[place]
            # An empty right branch is never taken, whatever rounding left in `rest`.
            goes_right = (rest >= left) & (self._nodes[place + 1] > 0)
            rest = np.where(goes_right, rest - left, rest)
            place = place + goes_right
        return place - self._first
