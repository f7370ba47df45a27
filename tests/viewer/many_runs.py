"""A folder of very many runs, some of them very long, in seconds: one long file is written and lent to several runs.

By hand: python -m tests.viewer.many_runs FOLDER [runs] [long ones] [rows of those]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.viewer.making import make_run

ROW = (
    b'{"step": %d, "time": %.1f, "train/mean_episode_return": %.4f, "train/entropy": %.4f, "stats/won": 0.0%03d, '
    b'"speed/steps_per_second": 5%03d.0}\n'
)
STEPS, SECONDS, FIRST = 2_048, 0.5, 1_700_000_000.0
PERIOD = 997
"""Rows after which a long curve begins again: a prime, so that no even division of it falls in step."""
AT_ONCE = 50_000  # rows


def long_rows(first: int, many: int) -> bytes:
    """Rows of a long run, numbered from `first`."""
    wave = [number % PERIOD for number in range(first, first + many)]
    return b"".join(
        ROW % (STEPS * (first + i + 1), FIRST + SECONDS * (first + i), at / PERIOD, 2 - at / PERIOD, at, at)
        for i, at in enumerate(wave)
    )


def write_long(path: Path, rows: int) -> None:
    with open(path, "wb") as file:
        for first in range(0, rows, AT_ONCE):
            file.write(long_rows(first, min(AT_ONCE, rows - first)))


def append_rows(path: Path, first: int, many: int) -> int:
    """What a live run does; the bytes it wrote. A lent file becomes its own first."""
    if path.stat().st_nlink > 1:
        mine = path.read_bytes()
        path.unlink()
        path.write_bytes(mine)
    with open(path, "ab") as file:
        return file.write(long_rows(first, many))


def make_many(root: Path, runs: int = 1_000, long: int = 200, rows: int = 1_000_000, files: int = 1) -> None:
    """Runs `0000`, `0001`, …, of which the first `long` have so many rows, in `files` files that they share (disk)."""
    for number in range(runs):
        make_run(root, f"{number:04}", rows=2 if number < long else 40, age=60.0 * number, judged=number % 3 == 0)
    lent = list(_lent(root, min(files, long), rows))
    for number in range(long):
        path = root / f"{number:04}" / "metrics.jsonl"
        path.unlink()
        os.link(lent[number % len(lent)], path)
    for path in lent:
        path.unlink()


def _lent(root: Path, files: int, rows: int) -> Iterator[Path]:
    for number in range(files):
        path = root / f".long-{number}"
        write_long(path, rows)
        yield path


if __name__ == "__main__":
    began = time.monotonic()
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    make_many(Path(sys.argv[1]), *map(int, sys.argv[2:]))
    print(f"{time.monotonic() - began:.1f} s")
