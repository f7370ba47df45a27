"""Who may use a device or memory now: components ask, are granted a slice of time or bytes, and give it back.

Simple on purpose: one coordinator per process, cooperative. A grant is a promise, not a lock on hardware: whoever holds
one looks at `grant.wanted_back` between two pieces of work and lets go when somebody more important waits. Inference
comes before training; among equals it is first come, first served. A holder that neither works on nor lets go loses its
grant when it expires, so a component that died cannot block the others for ever.

    coordinator = default_coordinator()
    with coordinator.request("cpu", owner="learner", priority=TRAINING) as grant:
        ...                      # one update
        if grant.wanted_back:
            ...                  # leave the block soon, ask again

Devices are `cpu` and, where there are any, `gpu`, each given to one holder at a time; `memory` is counted in bytes and
shared up to its capacity. Asking for a GPU where there is none is answered with the CPU.
"""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from jimbot.errors import JimbotError, UnknownNameError, UsageError

TRAINING, INFERENCE = 0, 10
"""Priorities; a higher one is served first and is what `wanted_back` gives way to."""
CPU, GPU, MEMORY = "cpu", "gpu", "memory"
DEFAULT_SECONDS = 60.0  # of a grant, before it expires


class ResourceError(JimbotError):
    """A resource was not granted in time, or was used after its grant had expired."""


@dataclass(eq=False)
class Grant:
    """The right to use `amount` of a resource until `expires`; a context manager that gives it back."""

    resource: str
    amount: int
    owner: str
    priority: int
    expires: float
    """Clock time (`time.monotonic`); `renew` moves it."""
    seconds: float
    _coordinator: ResourceCoordinator = field(repr=False)

    @property
    def active(self) -> bool:
        return self._coordinator._holds(self)

    @property
    def wanted_back(self) -> bool:
        """Somebody more important waits for it, or it has expired: finish the piece of work at hand and release."""
        return self._coordinator._wanted_back(self)

    def renew(self) -> None:
        """Goes on for as long again; an error if it has expired already."""
        self._coordinator._renew(self)

    def release(self) -> None:
        """Gives it back; once is enough, more does no harm."""
        self._coordinator._release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        self.release()


@dataclass(order=True)
class _Request:
    rank: tuple[int, int]  # (−priority, order of arrival)
    amount: int = field(compare=False)


class ResourceCoordinator:
    """`capacities`: how much there is of each resource; a device has 1. Safe to use from any thread."""

    def __init__(self, capacities: dict[str, int]) -> None:
        self.capacities = dict(capacities)
        self._changed = threading.Condition()
        self._grants: dict[str, list[Grant]] = {name: [] for name in capacities}
        self._waiting: dict[str, list[_Request]] = {name: [] for name in capacities}
        self._order = itertools.count()

    def request(
        self,
        resource: str,
        owner: str,
        amount: int = 1,
        priority: int = TRAINING,
        seconds: float = DEFAULT_SECONDS,
        timeout: float | None = None,
    ) -> Grant:
        """Waits for its turn and returns the grant; `timeout` seconds at most, if given."""
        resource = self._known(resource)
        if not 1 <= amount <= self.capacities[resource]:
            raise UsageError(
                f"{owner} asked for {amount:,} of resource '{resource}', which has {self.capacities[resource]:,}. "
                "Ask for less."
            )
        asked = _Request((-priority, next(self._order)), amount)
        until = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            self._waiting[resource].append(asked)
            self._changed.notify_all()
            try:
                while not self._is_next(resource, asked):
                    left = None if until is None else until - time.monotonic()
                    if left is not None and left <= 0:
                        holders = ", ".join(grant.owner for grant in self._grants[resource]) or "nobody"
                        raise ResourceError(
                            f"{owner} waited {timeout:g} s for resource '{resource}', which {holders} holds. "
                            "Ask again later, or with a higher priority."
                        )
                    self._changed.wait(self._pause(resource, left))
                grant = Grant(resource, amount, owner, priority, time.monotonic() + seconds, seconds, self)
                self._grants[resource].append(grant)
                return grant
            finally:
                self._waiting[resource].remove(asked)
                self._changed.notify_all()

    def in_use(self, resource: str) -> int:
        """How much of a resource is granted now."""
        with self._changed:
            self._expire(resource)
            return sum(grant.amount for grant in self._grants[resource])

    def _known(self, resource: str) -> str:
        if resource == GPU and GPU not in self.capacities:
            return CPU
        if resource not in self.capacities:
            raise UnknownNameError("resource", resource, self.capacities)
        return resource

    def _is_next(self, resource: str, asked: _Request) -> bool:
        """Whether it is the first in line and there is room. Nobody overtakes: a large request is not starved."""
        self._expire(resource)
        free = self.capacities[resource] - sum(grant.amount for grant in self._grants[resource])
        return min(self._waiting[resource]) is asked and asked.amount <= free

    def _expire(self, resource: str) -> None:
        now = time.monotonic()
        self._grants[resource] = [grant for grant in self._grants[resource] if grant.expires > now]

    def _pause(self, resource: str, left: float | None) -> float | None:
        """Until the next grant expires, or the caller's own patience does."""
        now = time.monotonic()
        ends = [grant.expires - now for grant in self._grants[resource]] + ([] if left is None else [left])
        return max(0.0, min(ends)) if ends else None

    def _holds(self, grant: Grant) -> bool:
        with self._changed:
            self._expire(grant.resource)
            return any(held is grant for held in self._grants[grant.resource])

    def _wanted_back(self, grant: Grant) -> bool:
        with self._changed:
            if not any(held is grant for held in self._grants[grant.resource]) or grant.expires <= time.monotonic():
                return True
            return any(-asked.rank[0] > grant.priority for asked in self._waiting[grant.resource])

    def _renew(self, grant: Grant) -> None:
        if not self._holds(grant):
            raise ResourceError(
                f"The grant of resource '{grant.resource}' to {grant.owner} has expired after {grant.seconds:g} s. "
                "Renew it in time, or ask for more seconds."
            )
        with self._changed:
            grant.expires = time.monotonic() + grant.seconds

    def _release(self, grant: Grant) -> None:
        with self._changed:
            self._grants[grant.resource] = [held for held in self._grants[grant.resource] if held is not grant]
            self._changed.notify_all()


_default: ResourceCoordinator | None = None
_making = threading.Lock()


def default_coordinator() -> ResourceCoordinator:
    """The one of this process: its CPUs, its GPUs if there are any, the memory of the machine."""
    global _default
    import psutil

    with _making:
        if _default is None:
            gpus = {GPU: 1} if _has_gpu() else {}
            _default = ResourceCoordinator({CPU: 1, **gpus, MEMORY: psutil.virtual_memory().total})
        return _default


def _has_gpu() -> bool:
    """Whether a library that is loaded already sees one; nothing is imported for the question."""
    import sys

    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and torch.cuda.is_available():
        return True
    return jax is not None and jax.default_backend() == "gpu"
