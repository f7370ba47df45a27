"""What the service counts while it works: plain numbers, cheap enough for every request, readable by any thread.

`services/prometheus.py` shows them on `/metrics`; tests, benchmarks and `GetPolicies` read them directly. Labels have
few values: games and policies that are served, status codes, reasons. What a caller typed is never a label.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

MILLISECONDS = (0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 25, 50, 100, 250, 500, 1000, 2500, 10_000)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096)


class Histogram:
    """Counts below each bound, as Prometheus wants them."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    @property
    def count(self) -> int:
        return sum(self.counts)


class ServiceMetrics:
    """All metrics of one service."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str]] = Counter()  # (game, code)
        self.decisions: Counter[tuple[str, str]] = Counter()  # (game, policy): rows decided
        self.fallbacks: Counter[tuple[str, str]] = Counter()  # (game, reason)
        self.shed: Counter[str] = Counter()  # game
        self.expired: Counter[str] = Counter()  # game: dropped before inference
        self.cache_hits: Counter[str] = Counter()  # game
        self.repeats: Counter[str] = Counter()  # game: answered by the window of request ids
        self.illegal: Counter[str] = Counter()  # game: illegal moves of a policy, none of which was sent
        self.faults: Counter[tuple[str, str]] = Counter()  # (game, policy)
        self.reloads: Counter[tuple[str, str]] = Counter()  # (game, swapped | refused)
        self.steps_back: Counter[str] = Counter()  # game: canaries withdrawn
        self.shadows: Counter[tuple[str, str]] = Counter()  # (game, same | other | failed | dropped)
        self.hints: Counter[tuple[str, str]] = Counter()  # (game, answered | late | failed | resting)
        self.plans: Counter[tuple[str, str]] = Counter()  # (game, changed | kept | sure | no_game | busy | failed)
        self.in_flight = 0  # requests and messages being answered now
        self.beside_training = 0  # batches computed although training had not given way
        self.queue_ms = Histogram(MILLISECONDS)
        self.inference_ms = Histogram(MILLISECONDS)
        self.total_ms = Histogram(MILLISECONDS)
        self.batch_rows = Histogram(SIZES)
        self.gauges: dict[str, Callable[[], dict[tuple[str, ...], float]]] = {}
        """Read at every scrape: name → labels → value."""
        self._lock = threading.Lock()

    def decided(self, game: str, policy: str, rows: int, queue_ms: float, inference_ms: float, total_ms: float) -> None:
        """What one request came to."""
        with self._lock:
            self.decisions[game, policy] += rows
            for histogram, value in (
                (self.queue_ms, queue_ms), (self.inference_ms, inference_ms), (self.total_ms, total_ms)
            ):  # fmt: skip
                histogram.counts[bisect_left(histogram.bounds, value)] += 1
                histogram.total += value

    def computed(self, rows: int) -> None:
        """What one inference computed."""
        with self._lock:
            self.batch_rows.counts[bisect_left(self.batch_rows.bounds, rows)] += 1
            self.batch_rows.total += rows

    @contextmanager
    def answering(self) -> Generator[None]:
        """Around one request."""
        with self._lock:
            self.in_flight += 1
        try:
            yield
        finally:
            with self._lock:
                self.in_flight -= 1

    def count(self, counter: Counter, *labels: str, amount: int = 1) -> None:
        with self._lock:
            counter[labels if len(labels) > 1 else labels[0]] += amount
