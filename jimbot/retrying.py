"""How long to wait before the next try: one policy for all who try again.

A pause doubles with every failure, up to a longest one. With `jitter` it is drawn from its upper half, so that many who
failed together do not come back together.
"""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """Seconds."""

    first: float
    longest: float
    jitter: bool = False

    def pause(self, failures: int) -> float:
        """After so many failures in a row, one at least.

        >>> [Backoff(0.5, 30.0).pause(failures) for failures in (1, 2, 3, 100)]
        [0.5, 1.0, 2.0, 30.0]
        """
        pause = min(self.longest, self.first * 2.0 ** min(failures - 1, 60))
        return random.uniform(0.5, 1.0) * pause if self.jitter else pause
