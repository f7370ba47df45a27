"""Numbers of very many rows in bounded memory.

Rows are gathered in buckets of equally many: of one each as long as there are few rows, and whenever there would be too
many buckets, each takes in its neighbour. A bucket knows the mean, the lowest and the highest value of its rows, so
that no spike is ever lost, and a million rows take no more room than eight thousand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

from jimbot.runs.sinks.jsonl import parse_row

MOST_BUCKETS = 2**13
LARGEST = 1e300  # what a screen can draw
_FEW = 64  # buckets there is room for from the start
_OVERHEAD = 500  # bytes of a column beside its numbers


class Column:
    """One number of every row that has it, by bucket."""

    def __init__(self) -> None:
        self.total, self.count = np.zeros(0), np.zeros(0, np.uint32)
        self.low, self.high = np.zeros(0), np.zeros(0)
        self.last = 0.0

    def add(self, buckets: np.ndarray, values: np.ndarray) -> None:
        """Values, and the bucket of each in rising order."""
        self._make_room(int(buckets[-1]) + 1)
        np.add.at(self.total, buckets, values)
        np.add.at(self.count, buckets, 1)
        np.minimum.at(self.low, buckets, values)
        np.maximum.at(self.high, buckets, values)
        self.last = float(values[-1])

    def halve(self) -> None:
        """Each two buckets become one."""
        self.total, self.count = self.total.reshape(-1, 2).sum(1), self.count.reshape(-1, 2).sum(1, dtype=np.uint32)
        self.low, self.high = self.low.reshape(-1, 2).min(1), self.high.reshape(-1, 2).max(1)
        self._make_room(_FEW)

    @property
    def used(self) -> np.ndarray:
        """The buckets with a value."""
        return np.flatnonzero(self.count)

    @property
    def mean(self) -> np.ndarray:
        """Of each used bucket."""
        return self.total[self.used] / self.count[self.used]

    @property
    def size(self) -> int:
        return self.total.nbytes + self.count.nbytes + self.low.nbytes + self.high.nbytes + _OVERHEAD

    def _make_room(self, buckets: int) -> None:
        more = max(_FEW, 1 << (buckets - 1).bit_length()) - len(self.total)
        if more > 0:
            self.total = np.append(self.total, np.zeros(more))
            self.count = np.append(self.count, np.zeros(more, np.uint32))
            self.low = np.append(self.low, np.full(more, np.inf))
            self.high = np.append(self.high, np.full(more, -np.inf))


class Columns(dict[str, Column]):
    """Some columns over the same rows."""

    def __init__(self, most: int = MOST_BUCKETS) -> None:
        super().__init__()
        self._most = most  # a power of two
        self.rows, self.stride = 0, 1

    def append(self, rows: int, values: Mapping[str, np.ndarray]) -> None:
        """So many rows more: (rows,) of every name, NaN where a row has no value."""
        while self.rows + rows > self._most * self.stride:
            self.stride *= 2
            for column in self.values():
                column.halve()
        buckets = np.arange(self.rows, self.rows + rows) // self.stride
        self.rows += rows
        for name, many in values.items():
            there = np.abs(many) < LARGEST  # so put, NaN never passes
            if there.any():
                self.setdefault(name, Column()).add(buckets[there], many[there])

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(column.size for column in self.values())


def read_lines(lines: bytes) -> tuple[list[dict[str, Any]], np.ndarray]:
    """The rows among some lines, and at which byte each begins.

    >>> rows, places = read_lines(b'{"step": 1, "a": 2}\\n{"torn\\n{"step": 2}')
    >>> rows, places.tolist()
    ([{'step': 1, 'a': 2}, {'step': 2}], [0, 27])
    """
    places = np.append(0, np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n")) + 1)
    rows: list[Any] = _at_once(lines)
    if len(rows) != len(places):
        rows = [parse_row(line) for line in lines.split(b"\n")]
    good = [isinstance(row, dict) and type(row.get("step")) is int for row in rows]
    return [row for row, is_good in zip(rows, good, strict=True) if is_good], places[good]


def _at_once(lines: bytes) -> list[Any]:
    """All lines as one list of JSON, a third of the time that each alone takes; none where that is not safe."""
    if b"\\u" in lines:  # may spell what no text holds
        return []
    try:
        return json.loads(b"[" + lines.replace(b"\n", b",") + b"]")
    except (ValueError, RecursionError):
        return []


def names_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """In the order of their first row."""
    return list(dict.fromkeys(chain.from_iterable(dict.fromkeys(map(tuple, rows)))))


def numbers(rows: Iterable[Mapping[str, Any]], name: str) -> np.ndarray:
    """(rows,) float64; NaN where it is missing or no number."""
    values = [row.get(name) for row in rows]
    if not set(map(type, values)) <= {float, int, type(None)}:
        values = [value if type(value) in (float, int) else None for value in values]
    try:
        return np.array(values, float)
    except OverflowError:  # a whole number of very many digits
        return np.array([None if value is None or not abs(value) < LARGEST else value for value in values], float)
