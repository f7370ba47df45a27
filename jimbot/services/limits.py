"""What one client may do: so many calls at once, so many per second. Clients are told apart by their address."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from jimbot.services.decision.refusal import Code, RefusedError

MOST_CLIENTS = 4096  # remembered; the one that was quiet longest is forgotten first
BURST_SECONDS = 1.0  # a client that was quiet may make up for so much at once


class ClientLimits:
    """Used in one event loop."""

    def __init__(self, at_once: int, per_second: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        """`per_second` 0: as many as it likes."""
        self._at_once, self._per_second, self._clock = at_once, per_second, clock
        self._open: Counter[str] = Counter()
        self._saved: OrderedDict[str, tuple[float, float]] = OrderedDict()  # client → (calls saved up, when)

    def open(self, peer: str) -> str:
        """One more call from a peer as gRPC names it ("ipv4:127.0.0.1:4711"); a refusal with a hint when to come
        again. The client it comes from, to `close` it."""
        client = peer.rpartition(":")[0] or peer
        if self._open[client] >= self._at_once:
            raise RefusedError(Code.RESOURCE_EXHAUSTED, f"{self._at_once} calls of this client are open; wait.", 50)
        if self._per_second:
            self.spend(client)
        self._open[client] += 1
        return client

    def close(self, client: str) -> None:
        """A call is over."""
        self._open[client] -= 1
        if not self._open[client]:
            del self._open[client]

    def spend(self, client: str) -> None:
        """One call of what a client may make per second."""
        if not self._per_second:
            return
        now, most = self._clock(), max(1.0, self._per_second * BURST_SECONDS)
        saved, since = self._saved.pop(client, (most, now))
        saved = min(most, saved + (now - since) * self._per_second)
        if saved < 1:
            self._saved[client] = saved, now
            wait = max(1, round((1 - saved) / self._per_second * 1000))
            raise RefusedError(
                Code.RESOURCE_EXHAUSTED,
                f"This client makes more than {self._per_second:g} calls a second; ask again in {wait} ms.",
                wait,
            )
        self._saved[client] = saved - 1, now
        while len(self._saved) > MOST_CLIENTS:
            self._saved.popitem(last=False)
