"""Spreading rows over threads: kernels leave the interpreter lock, so slices of a batch run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from jimbot.errors import UsageError
from jimbot.machine import usable_cores

THREADS_VARIABLE = "JIMBOT_THREADS"
_SLICES_PER_WORKER = 3


def thread_count() -> int:
    """Threads a batch is spread over: the cores this process may use, or what the environment says."""
    chosen = os.environ.get(THREADS_VARIABLE, "")
    if not chosen:
        return usable_cores()
    if not chosen.isdigit() or int(chosen) < 1:
        raise UsageError(f"{THREADS_VARIABLE} is '{chosen}'; expected a number of threads, at least 1.")
    return int(chosen)


class Threads:
    """Workers that share out rows; the caller is the first of them, so a batch too small for two needs no thread."""

    def __init__(self, workers: int, rows_worth_one: int) -> None:
        self.workers = workers
        self._rows_worth_one = rows_worth_one
        self._pool: ThreadPoolExecutor | None = None

    def spread(self, rows: int, task: Callable[[int, int, int], None]) -> None:
        """Calls task(worker, first row, last row) for slices of the rows, and waits for all of them.

        Rows differ in what they cost (held ones nothing, hands most): there are more slices than workers, and who is
        done takes the next.
        """
        parts = max(1, min(self.workers, rows // self._rows_worth_one))
        if parts == 1:
            task(0, 0, rows)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.workers - 1, thread_name_prefix="rows")
        size = -(-rows // (parts * _SLICES_PER_WORKER))
        firsts = iter(range(0, rows, size))

        def work(worker: int) -> None:
            for first in firsts:
                task(worker, first, min(first + size, rows))

        waiting = [self._pool.submit(work, worker) for worker in range(1, parts)]
        work(0)
        for done in waiting:
            done.result()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
