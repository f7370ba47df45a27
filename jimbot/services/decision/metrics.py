"""What the service counts while it works: plain numbers, cheap enough for every request, readable by any thread.

`services/prometheus.py` shows them on `/metrics`; tests, benchmarks and `GetPolicies` read them directly. Labels have
few values: games and policies that are served, status codes, reasons. What a caller typed is never a label.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Sequence

MILLISECONDS = (0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 25, 50, 100, 250, 500, 1000, 2500, 10_000)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096)


_MOST_NOTED = 4096


class Histogram:
    """Counts below each bound, as Prometheus wants them. What is `noted` is counted when somebody looks, or when it has
    become much (`fold`)."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0
        self.noted: deque[float] = deque()
        self._lock = threading.Lock()

    @property
    def counts(self) -> list[int]:
        self.fold()
        return self._counts

    @property
    def total(self) -> float:
        self.fold()
        return self._total

    @property
    def count(self) -> int:
        return sum(self.counts)

    def fold(self) -> None:
        with self._lock:
            for _ in range(len(self.noted)):
                value = self.noted.popleft()
                self._counts[bisect_left(self.bounds, value)] += 1
                self._total += value


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
        self.answering: deque[None] = deque()  # one for each request and message being answered now
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
        self.queue_ms.noted.append(queue_ms)
        self.inference_ms.noted.append(inference_ms)
        self.total_ms.noted.append(total_ms)
        if len(self.total_ms.noted) >= _MOST_NOTED:
            for histogram in (self.queue_ms, self.inference_ms, self.total_ms):
                histogram.fold()

    def computed(self, rows: int) -> None:
        """What one inference computed."""
        self.batch_rows.noted.append(rows)
        if len(self.batch_rows.noted) >= _MOST_NOTED:
            self.batch_rows.fold()

    def count(self, counter: Counter, *labels: str, amount: int = 1) -> None:
        with self._lock:
            counter[labels if len(labels) > 1 else labels[0]] += amount
