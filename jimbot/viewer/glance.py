"""What a list of runs shows of a metrics file: its newest row, and one curve, without parsing everything in between.

A list has thousands of files of megabytes. The values of the one curve are found by their name in the bytes, a tenth of
the cost of parsing, and a file that grows is read from where the last look ended.
"""

from __future__ import annotations

import os
import re
from array import array
from pathlib import Path
from typing import Any

from jimbot.runs.catalogue import RETURN
from jimbot.runs.sinks.jsonl import last_row

BLOCK = 2**22  # bytes read at once
SPARK = 40  # points of the small curve
_VALUE = re.compile(rb'"%s": ?(-?[0-9][0-9.eE+-]*)' % re.escape(RETURN.encode()))


class Glance:
    """One metrics file that may grow, shrink (a resumed run forgets rows) or go away."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last: dict[str, Any] = {}
        self._returns = array("f")
        self._end = 0  # bytes read so far, whole lines only
        self._file = 0  # inode

    def look(self) -> None:
        """Reads what is new."""
        try:
            about = self.path.stat()
        except OSError:
            self._forget()
            return
        if about.st_ino != self._file or about.st_size < self._end:
            self._forget()
        self._file = about.st_ino
        try:
            if about.st_size > self._end:
                self._read()
                self.last = last_row(self.path) or {}
        except OSError:  # it went away between two lines of ours
            self._forget()

    @property
    def best(self) -> float | None:
        return max(self._returns) if self._returns else None

    @property
    def spark(self) -> list[float]:
        """A few points of the curve, first and last included."""
        many = len(self._returns)
        if many <= SPARK:
            return [_short(value) for value in self._returns]
        return [_short(self._returns[round(i * (many - 1) / (SPARK - 1))]) for i in range(SPARK)]

    def _forget(self) -> None:
        self.last, self._returns, self._end = {}, array("f"), 0

    def _read(self) -> None:
        rest = b""
        with open(self.path, "rb") as file:
            file.seek(self._end)
            while block := file.read(BLOCK):
                whole, newline, rest = (rest + block).rpartition(b"\n")
                for found in _VALUE.finditer(whole):
                    try:
                        self._returns.append(float(found[1]))
                    except ValueError:  # digits and dots that are no number
                        continue
                self._end += len(whole) + len(newline)
                if len(rest) > BLOCK:  # no line of ours is so long
                    rest, self._end = b"", os.fstat(file.fileno()).st_size


def _short(value: float) -> float:
    return float(f"{value:.4g}")
