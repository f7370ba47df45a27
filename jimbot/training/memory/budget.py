"""`memory_limit_gb` and what of it belongs to whom."""

from __future__ import annotations

from dataclasses import dataclass

GIGABYTE = 1e9

# Shares of the limit; of the default of 8 GB they are 2.5, 3.5, 1 and 1.
PARTS = {"object_store": 2.5 / 8, "workers": 3.5 / 8, "checkpoints": 1 / 8, "buffer": 1 / 8}
"""object_store: Ray's shared memory; workers: learner and env runners; checkpoints: what saving takes while it lasts;
buffer: the replay."""

WARNING_SHARE = 0.8
RELIEF_SHARE = 0.9


@dataclass(frozen=True)
class MemoryBudget:
    """A limit in GB, split by `PARTS`.

    >>> MemoryBudget(4).part("workers") / GIGABYTE
    1.75
    """

    limit_gb: float = 8.0

    @property
    def limit(self) -> int:
        """Bytes."""
        return int(self.limit_gb * GIGABYTE)

    def part(self, name: str) -> int:
        """Bytes of one of `PARTS`."""
        return int(PARTS[name] * self.limit_gb * GIGABYTE)
