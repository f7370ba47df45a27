"""Curves of runs for a screen: few points of many, exact where the viewer zooms in.

A metrics file is read once into columns of bounded size, and then only what was appended. A curve of more rows than a
screen has points is divided into as many parts; each becomes its mean with its lowest and highest value, so that no
spike is lost. Who zooms in asks again for a part of the axis; where that has few rows they are given as they are, read
once more from their place in the file if it is a long one.
"""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jimbot.errors import UnknownNameError, UsageError
from jimbot.viewer.columns import MOST_BUCKETS, Column, Columns, names_of, numbers, read_lines

Axis = Literal["step", "time", "clock", "games"]
AXES: tuple[Axis, ...] = ("step", "time", "clock", "games")
EPISODES = "train/num_episodes"
STEP, TIME, GAMES, PLACE = "step", "time", "\0games", "\0place"
"""Columns of every file beside its metrics: the last two are the games until a row, and the byte it begins at."""
MOST_POINTS = 5_000
BLOCK = 2**22  # bytes read at once
AT_ONCE = 2**22  # bytes that are read while a page waits
SPOTS, SPOT = 256, 2**12  # places of a longer file that are looked at instead, and bytes of each
MOST_KEPT = 2**29  # bytes of columns that stay in memory
PAUSE_SECONDS, PAUSE_ROWS = 120.0, 10  # longer without a row, and than so many usual ones: the run stood still
FORGOTTEN = 1e-3  # the share of a row in a smoothed value from which on it is left out


class GrowingFile:
    """A file of lines that may grow, shrink (a resumed run forgets rows) or go away; what is new in it is read once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._forget()

    def refresh(self, most: int | None = None) -> None:
        """Reads what was appended, about `most` bytes of it; everything anew where the file was replaced or cut."""
        try:
            about = self.path.stat()
            if about.st_ino != self._inode or about.st_size < self._end:
                self._forget()
                self._inode = about.st_ino
            if about.st_size > self._end:
                self._read(most)
        except OSError:  # it is not there, or went away between two lines of ours
            self._forget()

    def _forget(self) -> None:
        self._end = self._inode = 0
        self.behind = False
        """Whether `most` left something for the next time."""

    def _read(self, most: int | None) -> None:
        rest, began, taken = b"", self._end, 0
        with open(self.path, "rb") as file:
            file.seek(self._end)
            while block := file.read(min(BLOCK, most or BLOCK)):
                taken += len(block)
                whole, newline, rest = (rest + block).rpartition(b"\n")
                self._take(whole)
                self._end += len(whole) + len(newline)
                if len(rest) > BLOCK:  # no line of ours is so long
                    rest, self._end = b"", os.fstat(file.fileno()).st_size
                left = os.fstat(file.fileno()).st_size - self._end - len(rest)
                self.behind = most is not None and taken >= most and self._end > began and left > 0
                if self.behind:
                    return

    def _take(self, lines: bytes) -> None:
        """Some whole lines that are new."""
        raise NotImplementedError


class MetricLog(GrowingFile):
    """One metrics file as columns."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._lock = threading.RLock()

    def _forget(self) -> None:
        super()._forget()
        self._columns = Columns()
        self._played = 0.0

    def refresh(self, most: int | None = None) -> None:
        with self._lock:
            super().refresh(most)

    def _take(self, lines: bytes) -> None:
        rows, places = read_lines(lines)
        if not rows:
            return
        values = {name: numbers(rows, name) for name in names_of(rows)}
        values[TIME] = np.nan_to_num(values.get(TIME, np.zeros(len(rows))))
        played = np.nan_to_num(values.get(EPISODES, np.zeros(len(rows))))
        values[GAMES] = self._played + np.cumsum(played)
        values[PLACE] = places + float(self._end)
        self._played = float(values[GAMES][-1])
        self._columns.append(len(rows), values)

    def sample(self) -> None:
        """Some rows of a long file, instead of all."""
        with suppress(OSError):
            self._take(b"\n".join(read_spots(self.path)))
        self.behind = True

    @property
    def unread(self) -> int:
        """Bytes."""
        try:
            return self.path.stat().st_size - self._end
        except OSError:
            return 0

    @property
    def file(self) -> str:
        """Another one whenever rows were taken away: what a page knows of it holds no more."""
        return str(self._inode)

    @property
    def names(self) -> list[str]:
        with self._lock:
            return [name for name in self._columns if name not in (STEP, TIME, GAMES, PLACE)]

    @property
    def count(self) -> int:
        return self._columns.rows

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self._columns.size

    def axis(self, axis: Axis) -> np.ndarray:
        """(buckets,) steps, hours of training, hours since the first row by the clock, or games that ended."""
        with self._lock:
            if not self.count:
                return np.zeros(0)
            if axis in ("time", "clock"):
                times, first = self._columns[TIME].mean, self._columns[TIME].low[0]
                return (times - first if axis == "clock" else trained_seconds(times, self._columns.stride)) / 3600
            return self._columns[STEP if axis == "step" else GAMES].mean

    def latest(self) -> dict[str, float]:
        """The newest value of every metric."""
        with self._lock:
            return {name: self._columns[name].last for name in self.names}

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
        return self.curves([name], axis, points, smooth, start, end)[name]

    def curves(
        self,
        names: list[str],
        axis: Axis = "step",
        points: int = 600,
        smooth: float = 0.0,
        start: float | None = None,
        end: float | None = None,
    ) -> dict[str, dict[str, Any]]:
        """Several at once."""
        with self._lock:
            known = self.names
            if unknown := next((name for name in names if name not in known), None):
                raise UnknownNameError("metric of this run", unknown, known)
            x = self.axis(axis)
            near = inside(x, start, end)
            log, moved = self, 0.0
            if self._columns.stride > 1 and near.any() and not near.all():
                log, moved = self._closer(axis, np.flatnonzero(near), x, smooth)
            x = log.axis(axis) + moved
            found = {name: log._columns.get(name, Column()) for name in names}
            return {name: drawn(x, column, points, smooth, start, end) for name, column in found.items()}

    def _closer(self, axis: Axis, near: np.ndarray, x: np.ndarray, smooth: float) -> tuple[MetricLog, float]:
        """The rows of some buckets, read again from the file, and how far their axis is moved; the buckets themselves
        where their rows are too many."""
        stride, places = self._columns.stride, self._columns[PLACE].low
        before = math.ceil(math.log(FORGOTTEN) / math.log(smooth) / stride) if smooth else 0
        first, after = max(0, int(near[0]) - before), int(near[-1]) + 1
        if (after - first) * stride > MOST_BUCKETS:
            return self, 0.0
        part = MetricLog(self.path)
        stop = int(places[after]) if after < len(x) else self._end
        try:
            part._take(read_part(self.path, int(places[first]), stop))
        except OSError:  # it went away
            return self, 0.0
        return (part, float(x[first] - part.axis(axis)[:stride].mean())) if part.count else (self, 0.0)


class MetricLogs:
    """The files that were asked for lately, as many as have room."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._logs: OrderedDict[Path, MetricLog] = OrderedDict()
        self._sizes: dict[Path, int] = {}
        self._previews: dict[Path, MetricLog] = {}
        self._lock = threading.Lock()
        self._reader = ThreadPoolExecutor(1, "metric-logs")

    def close(self) -> None:
        self._reader.shutdown(wait=False, cancel_futures=True)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(self._sizes.values())

    def of(self, path: Path) -> MetricLog:
        """A file's columns, up to date."""
        log = self._log(path)
        log.refresh()
        with self._lock:
            self._previews.pop(path, None)
            if path in self._logs:
                self._sizes[path] = log.size
            while self.size > self._most and len(self._logs) > 1:
                gone, _ = self._logs.popitem(last=False)
                self._sizes.pop(gone, None)
        return log

    def soon(self, path: Path) -> MetricLog:
        """As `of`; but of a long file that is not known yet some rows (it is `behind`), while all are being read."""
        with self._lock:
            preview = self._previews.get(path)
        if preview is not None:
            return preview
        if self._log(path).unread < AT_ONCE:
            return self.of(path)
        preview = MetricLog(path)
        preview.sample()
        with self._lock:
            self._previews[path] = preview
        self._reader.submit(self.of, path)
        return preview

    def _log(self, path: Path) -> MetricLog:
        with self._lock:
            log = self._logs.pop(path, None) or MetricLog(path)
            self._logs[path] = log
        return log


def read_spots(path: Path) -> Iterator[bytes]:
    """A whole line here and there, the first and the last among them."""
    with open(path, "rb") as file:
        yield file.readline(SPOT).rstrip()
        length = file.seek(0, os.SEEK_END)
        for part in range(1, SPOTS):
            file.seek(length * part // SPOTS)
            yield from file.read(SPOT).split(b"\n")[1:-1][:1]
        file.seek(max(0, length - SPOT))
        yield from file.read(SPOT).split(b"\n")[1:-1][-1:]


def read_part(path: Path, start: int, stop: int) -> bytes:
    """The whole lines between two places of a file."""
    with open(path, "rb") as file:
        file.seek(start)
        return file.read(stop - start).removesuffix(b"\n")


def check_curve(axis: str, points: int, smooth: float) -> Axis:
    """Refuses what cannot be drawn."""
    if axis not in AXES:
        raise UnknownNameError("axis", axis, AXES)
    if not 2 <= points <= MOST_POINTS:
        raise UsageError(f"points is {points}; expected 2 to {MOST_POINTS:,}.")
    if not 0.0 <= smooth < 1.0:
        raise UsageError(f"smooth is {smooth}; expected 0 (not at all) to below 1.")
    return axis


def trained_seconds(times: np.ndarray, rows: int = 1) -> np.ndarray:
    """Seconds of training until each time, of so many rows each: where a run stood still (stopped, and gone on later)
    no time has passed but the usual.

    >>> trained_seconds(np.array([100.0, 110, 120, 9120, 9130])).tolist()
    [0.0, 10.0, 20.0, 30.0, 40.0]
    """
    passed = np.maximum(np.diff(times), 0.0)
    usual = float(np.median(passed)) if len(passed) else 0.0
    stood = passed - usual * (1 - 1 / rows) > max(PAUSE_SECONDS, PAUSE_ROWS * usual / rows)
    return np.concatenate([[0.0], np.cumsum(np.where(stood, usual, passed))])


def smoothed(y: np.ndarray, share: float) -> np.ndarray:
    """The running mean in which each value counts `share` of the one after it, right from the first.

    >>> smoothed(np.array([1.0, 1.0, 4.0]), 0.5).round(3).tolist()
    [1.0, 1.0, 2.714]
    """
    total, weight, reach = y.astype(float), np.ones(len(y)), 1
    while reach < len(y) and share**reach > 1e-12:  # each sum takes in the one that ends where it begins
        total[reach:] += share**reach * total[:-reach].copy()
        weight[reach:] += share**reach * weight[:-reach].copy()
        reach *= 2
    return total / weight


def drawn(
    x: np.ndarray, column: Column, points: int, smooth: float, start: float | None, end: float | None
) -> dict[str, Any]:
    """The part of a column between two places of its axis."""
    used, mean = column.used, column.mean
    x, count = x[used], column.count[used]
    y = smoothed(mean, smooth ** float(count.mean())) if smooth and len(count) else mean
    part = inside(x, start, end)
    last = _plain(mean[part][-1:]) if not part[-1:].all() else _plain(np.full(min(1, len(x)), column.last))
    found = downsampled(x[part], y[part], column.low[used][part], column.high[used][part], count[part], points)
    return {**found, "last": last[0] if last else None}


def downsampled(
    x: np.ndarray, y: np.ndarray, low: np.ndarray, high: np.ndarray, count: np.ndarray, points: int
) -> dict[str, Any]:
    """At most so many points: means, with the range of the values of each part; `count` are the rows of each value.

    >>> y = np.array([0, 2, 4, 6, 8, 90.0])
    >>> found = downsampled(np.arange(6.0), y, y, y, np.ones(6), 2)
    >>> found["x"], found["y"], found["high"], found["exact"]
    ([1.0, 4.0], [2.0, 34.6667], [4.0, 90.0], False)
    """
    rows = int(count.sum())
    exact = len(x) <= points
    if not exact:
        first = np.linspace(0, len(x), points, endpoint=False).astype(np.int64)
        weight = np.add.reduceat(count, first, dtype=float)
        x, y = np.add.reduceat(x * count, first) / weight, np.add.reduceat(y * count, first) / weight
        low, high = np.minimum.reduceat(low, first), np.maximum.reduceat(high, first)
    ranges = {"low": _plain(low), "high": _plain(high)}
    return {"x": _plain(x, 10), "y": _plain(y), **ranges, "exact": exact and rows == len(x), "rows": rows}


def inside(x: np.ndarray, start: float | None, end: float | None) -> np.ndarray:
    """(x,) bool: between two places, and one more at each side, so that a line runs to the edge of its picture, or
    through it."""
    found = np.ones(len(x), bool)
    if start is not None:
        found &= x >= start
    if end is not None:
        found &= x <= end
    places = np.flatnonzero(found)
    if len(places):
        found[max(0, places[0] - 1) : places[-1] + 2] = True
    elif start is not None and len(x):
        next_one = int(np.searchsorted(x, start))
        found[max(0, next_one - 1) : next_one + 1] = True
    return found


def _plain(values: np.ndarray, digits: int = 6) -> list[float]:
    return [float(f"{value:.{digits}g}") if math.isfinite(value) else 0.0 for value in values.tolist()]
