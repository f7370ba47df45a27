"""Curves of runs for a screen: few points of many, exact where the viewer zooms in.

A metrics file is read once into columns, and then only what was appended. A curve of more rows than a screen has points
is divided into as many parts; each becomes its mean with its lowest and highest value, so that no spike is lost. Who
zooms in asks again for a part of the axis, and where that has few rows they are told as they are.
"""

from __future__ import annotations

import math
import os
import threading
from array import array
from collections import OrderedDict
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.runs.sinks.jsonl import parse_row

Axis = Literal["step", "time", "clock", "games"]
AXES: tuple[Axis, ...] = ("step", "time", "clock", "games")
EPISODES = "train/num_episodes"
MOST_POINTS = 5_000
BLOCK = 2**22  # bytes read at once
KEPT = 48  # files whose columns stay in memory
LARGEST = 1e300  # what a screen can draw
PAUSE_SECONDS, PAUSE_ROWS = 120.0, 10  # longer without a row, and than so many usual ones: the run stood still


class Column:
    """The values of one metric, and in which rows it has one."""

    def __init__(self) -> None:
        self.rows, self.values = array("I"), array("d")


class GrowingFile:
    """A file of lines that may grow, shrink (a resumed run forgets rows) or go away; what is new in it is read once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._forget()

    def refresh(self) -> None:
        """Reads what was appended; everything anew where the file was replaced or cut."""
        try:
            about = self.path.stat()
            if about.st_ino != self._inode or about.st_size < self._end:
                self._forget()
                self._inode = about.st_ino
            if about.st_size > self._end:
                self._read()
        except OSError:  # it is not there, or went away between two lines of ours
            self._forget()

    def _forget(self) -> None:
        self._end = self._inode = 0

    def _read(self) -> None:
        rest = b""
        with open(self.path, "rb") as file:
            file.seek(self._end)
            while block := file.read(BLOCK):
                whole, newline, rest = (rest + block).rpartition(b"\n")
                self._take(whole)
                self._end += len(whole) + len(newline)
                if len(rest) > BLOCK:  # no line of ours is so long
                    rest, self._end = b"", os.fstat(file.fileno()).st_size

    def _take(self, lines: bytes) -> None:
        """Some whole lines that are new."""
        raise NotImplementedError


class MetricLog(GrowingFile):
    """One metrics file as columns."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._lock = threading.Lock()

    def _forget(self) -> None:
        super()._forget()
        self._columns: dict[str, Column] = {}
        self._steps, self._times, self._games = array("d"), array("d"), array("d")

    def refresh(self) -> None:
        with self._lock:
            super().refresh()

    def _take(self, lines: bytes) -> None:
        for line in lines.splitlines():
            if (row := parse_row(line)) is not None:
                self._add(row)

    def _add(self, row: dict[str, Any]) -> None:
        number = len(self._steps)
        games = row.get(EPISODES)
        self._steps.append(float(row.pop("step")))
        self._times.append(float(row.pop("time", 0.0) or 0.0))
        self._games.append((self._games[-1] if number else 0.0) + (games if isinstance(games, int | float) else 0.0))
        columns = self._columns
        for name, value in row.items():
            if value is None or not abs(value) < LARGEST:  # so put, NaN never passes
                continue
            column = columns.get(name)
            if column is None:
                column = columns[name] = Column()
            column.rows.append(number)
            column.values.append(value)

    @property
    def names(self) -> list[str]:
        return list(self._columns)

    @property
    def count(self) -> int:
        return len(self._steps)

    def axis(self, axis: Axis) -> np.ndarray:
        """(rows,) steps, hours of training, hours since the first row by the clock, or games that ended."""
        if axis in ("time", "clock"):
            times = np.array(self._times)
            return (times - times[0] if axis == "clock" else trained_seconds(times)) / 3600 if len(times) else times
        return np.array(self._steps if axis == "step" else self._games)

    def latest(self) -> dict[str, float]:
        """The newest value of every metric."""
        with self._lock:
            return {name: column.values[-1] for name, column in self._columns.items() if column.values}

    def curve(
        self,
        name: str,
        axis: Axis = "step",
        points: int = 600,
        smooth: float = 0.0,
        start: float | None = None,
        end: float | None = None,
    ) -> dict[str, Any]:
        """One metric between two places of the axis: {x, y, low, high, exact, rows, last}; `last` is the newest value
        inside, as it was measured."""
        if name not in self._columns:
            raise UnknownNameError("metric of this run", name, self._columns)
        with self._lock:
            column = self._columns[name]
            rows, y = np.array(column.rows), np.array(column.values)
            x = self.axis(axis)[rows]
        raw = y
        if smooth:
            y = smoothed(y, smooth)
        inside = np.ones(len(x), bool)
        if start is not None:
            inside &= x >= start
        if end is not None:
            inside &= x <= end
        inside = _with_neighbours(inside)
        last = _plain(raw[inside][-1:])
        return {**downsampled(x[inside], y[inside], raw[inside], points), "last": last[0] if last else None}


class MetricLogs:
    """The files that were asked for lately."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._logs: OrderedDict[Path, MetricLog] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, path: Path) -> MetricLog:
        """A file's columns, up to date."""
        with self._lock:
            log = self._logs.pop(path, None) or MetricLog(path)
            self._logs[path] = log
            while len(self._logs) > self._kept:
                self._logs.popitem(last=False)
        log.refresh()
        return log


def check_curve(axis: str, points: int, smooth: float) -> Axis:
    """Refuses what cannot be drawn."""
    if axis not in AXES:
        raise UnknownNameError("axis", axis, AXES)
    if not 2 <= points <= MOST_POINTS:
        raise UsageError(f"points is {points}; expected 2 to {MOST_POINTS:,}.")
    if not 0.0 <= smooth < 1.0:
        raise UsageError(f"smooth is {smooth}; expected 0 (not at all) to below 1.")
    return axis


def trained_seconds(times: np.ndarray) -> np.ndarray:
    """Seconds of training until each row: where a run stood still (stopped, and gone on later) no time has passed but
    that of one usual row.

    >>> trained_seconds(np.array([100.0, 110, 120, 9120, 9130])).tolist()
    [0.0, 10.0, 20.0, 30.0, 40.0]
    """
    passed = np.maximum(np.diff(times), 0.0)
    usual = float(np.median(passed)) if len(passed) else 0.0
    stood = passed > max(PAUSE_SECONDS, PAUSE_ROWS * usual)
    return np.concatenate([[0.0], np.cumsum(np.where(stood, usual, passed))])


def smoothed(y: np.ndarray, share: float) -> np.ndarray:
    """The running mean in which each value counts `share` of the one after it, right from the first.

    >>> smoothed(np.array([1.0, 1.0, 4.0]), 0.5).round(3).tolist()
    [1.0, 1.0, 2.714]
    """
    out, total, weight = np.empty(len(y)), 0.0, 0.0
    for i, value in enumerate(y.tolist()):
        total, weight = share * total + value, share * weight + 1.0
        out[i] = total / weight
    return out


def downsampled(x: np.ndarray, y: np.ndarray, raw: np.ndarray, points: int) -> dict[str, Any]:
    """At most so many points: means, with the range of the raw values of each part.

    >>> found = downsampled(np.arange(6.0), np.array([0, 2, 4, 6, 8, 90.0]), np.array([0, 2, 4, 6, 8, 90.0]), 2)
    >>> found["x"], found["y"], found["high"], found["exact"]
    ([1.0, 4.0], [2.0, 34.6667], [4.0, 90.0], False)
    """
    many = len(x)
    if many <= points:
        plain = _plain(raw)
        return {"x": _plain(x, 10), "y": _plain(y), "low": plain, "high": plain, "exact": True, "rows": many}
    first = np.linspace(0, many, points, endpoint=False).astype(np.int64)
    counts = np.diff(np.append(first, many))
    return {
        "x": _plain(np.add.reduceat(x, first) / counts, 10),
        "y": _plain(np.add.reduceat(y, first) / counts),
        "low": _plain(np.minimum.reduceat(raw, first)),
        "high": _plain(np.maximum.reduceat(raw, first)),
        "exact": False,
        "rows": many,
    }


def _with_neighbours(inside: np.ndarray) -> np.ndarray:
    """One row more at each side, so that a line runs to the edge of its picture."""
    found = np.flatnonzero(inside)
    if len(found):
        inside[max(0, found[0] - 1) : found[-1] + 2] = True
    return inside


def _plain(values: np.ndarray, digits: int = 6) -> list[float]:
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else 0.0 for value in values.tolist()]
