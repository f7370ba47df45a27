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

Asynchronous components describe what they want and are answered yes or no, without blocking their event loop:

    grant = await coordinator.request({"type": ResourceType.GPU_COMPUTE, "amount": 100, "component": "ray_training"})
    if grant.approved:           # no: `grant.reason` says why
        with grant:              # a slice of 100 ms
            ...
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any, Self, overload

from jimbot.errors import JimbotError, UnknownNameError, UsageError

TRAINING, INFERENCE = 0, 10
"""Priorities; a higher one is served first and is what `wanted_back` gives way to."""
CPU, GPU, MEMORY = "cpu", "gpu", "memory"
DEFAULT_SECONDS = 60.0  # of a grant, before it expires
PATIENCE_SECONDS = 10.0  # of a described request, before the answer is no


class ResourceType(StrEnum):
    """What a described request may ask for. `amount` is milliseconds of a device, bytes of memory."""

    CPU_COMPUTE = CPU
    GPU_COMPUTE = GPU
    MEMORY = MEMORY


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
    approved = True

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


@dataclass(frozen=True)
class Refusal:
    """The answer no to a described request."""

    reason: str
    approved = False

    def __enter__(self) -> Self:
        raise ResourceError(f"The request was not approved: {self.reason} Look at `approved` before using a grant.")

    def __exit__(self, *_: object) -> None:
        """Never reached: nothing was granted."""


@dataclass(order=True)
class _Request:
    rank: tuple[int, int]  # (−priority, order of arrival)
    resource: str = field(compare=False)
    owner: str = field(compare=False)
    amount: int = field(compare=False)
    seconds: float = field(compare=False)
    timeout: float = field(compare=False)
    bell: Callable[[], object] = field(compare=False)  # rung whenever it may have become its turn
    asked_at: float = field(compare=False, default_factory=time.monotonic)

    @property
    def until(self) -> float:
        """Clock time at which its patience ends."""
        return self.asked_at + self.timeout


class ResourceCoordinator:
    """`capacities`: how much there is of each resource; a device has 1. Safe to use from any thread."""

    def __init__(self, capacities: dict[str, int]) -> None:
        self.capacities = dict(capacities)
        self._changed = threading.Condition()
        self._grants: dict[str, list[Grant]] = {name: [] for name in capacities}
        self._waiting: dict[str, list[_Request]] = {name: [] for name in capacities}
        self._order = itertools.count()

    @overload
    def request(self, resource: Mapping[str, Any]) -> Coroutine[Any, Any, Grant | Refusal]: ...

    @overload
    def request(
        self,
        resource: str,
        owner: str,
        amount: int = 1,
        priority: int = TRAINING,
        seconds: float = DEFAULT_SECONDS,
        timeout: float | None = None,
    ) -> Grant: ...

    def request(
        self,
        resource: str | Mapping[str, Any],
        owner: str = "",
        amount: int = 1,
        priority: int = TRAINING,
        seconds: float = DEFAULT_SECONDS,
        timeout: float | None = None,
    ) -> Grant | Coroutine[Any, Any, Grant | Refusal]:
        """Waits for its turn and returns the grant; `timeout` seconds at most, if given.

        A mapping (type, amount, component; priority and timeout if wanted) is to be awaited, and answered by a grant
        or a refusal.
        """
        if isinstance(resource, Mapping):
            return self._answer(resource)
        with self._changed:
            if grant := self._at_once(resource, owner, amount, priority, seconds):
                return grant
        with self._changed, self._in_line(resource, owner, amount, priority, seconds, timeout) as asked:
            while (grant := self._granted(asked)) is None:
                self._changed.wait(self._pause(asked))
            return grant

    async def _answer(self, wish: Mapping[str, Any]) -> Grant | Refusal:
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def bell() -> None:
            with suppress(RuntimeError):  # the loop is over; nobody waits any more
                loop.call_soon_threadsafe(changed.set)

        wanted = _described(wish)
        try:
            with self._in_line(**wanted, bell=bell) as asked:
                while (grant := self._granted(asked)) is None:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self._pause(asked)):  # wait_for loses cancellations before 3.12
                            await changed.wait()
                    changed.clear()
                return grant
        except (ResourceError, UsageError) as problem:
            return Refusal(str(problem))

    @contextmanager
    def _in_line(
        self,
        resource: str,
        owner: str,
        amount: int,
        priority: int,
        seconds: float,
        timeout: float | None,
        bell: Callable[[], object] | None = None,
    ) -> Generator[_Request]:
        """A place in the line for a resource, left with the block. `bell`: None wakes threads."""
        resource = self._known(resource)
        if not 1 <= amount <= self.capacities[resource]:
            raise UsageError(
                f"{owner} asked for {amount:,} of resource '{resource}', which has {self.capacities[resource]:,}. "
                "Ask for less."
            )
        rank, patience = (-priority, next(self._order)), float("inf") if timeout is None else timeout
        asked = _Request(rank, resource, owner, amount, seconds, patience, bell or self._changed.notify_all)
        with self._changed:
            self._waiting[resource].append(asked)
            self._ring(resource)
        try:
            yield asked
        finally:
            with self._changed:
                self._waiting[resource].remove(asked)
                self._ring(resource)

    def _at_once(self, resource: str, owner: str, amount: int, priority: int, seconds: float) -> Grant | None:
        """A grant where nobody else is: the usual case, and short, as every decision passes here."""
        resource = self._known(resource)
        if self._waiting[resource] or self._grants[resource] or not 1 <= amount <= self.capacities[resource]:
            return None
        grant = Grant(resource, amount, owner, priority, time.monotonic() + seconds, seconds, self)
        self._grants[resource] = [grant]
        return grant

    def _granted(self, asked: _Request) -> Grant | None:
        """Its grant if it is its turn; an error if its patience is over."""
        resource = asked.resource
        with self._changed:
            if self._is_next(asked):
                expires = time.monotonic() + asked.seconds
                grant = Grant(resource, asked.amount, asked.owner, -asked.rank[0], expires, asked.seconds, self)
                self._grants[resource].append(grant)
                return grant
            if time.monotonic() < asked.until:
                return None
            holders = ", ".join(grant.owner for grant in self._grants[resource]) or "nobody"
            raise ResourceError(
                f"{asked.owner} waited {asked.timeout:g} s for resource '{resource}', which {holders} holds. "
                "Ask again later, or with a higher priority."
            )

    def _ring(self, resource: str) -> None:
        for asked in self._waiting[resource]:
            asked.bell()

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

    def _is_next(self, asked: _Request) -> bool:
        """Whether it is the first in line and there is room. Nobody overtakes: a large request is not starved."""
        resource = asked.resource
        self._expire(resource)
        free = self.capacities[resource] - sum(grant.amount for grant in self._grants[resource])
        return min(self._waiting[resource]) is asked and asked.amount <= free

    def _expire(self, resource: str) -> None:
        now = time.monotonic()
        self._grants[resource] = [grant for grant in self._grants[resource] if grant.expires > now]

    def _pause(self, asked: _Request) -> float | None:
        """Until the next grant expires, or the caller's own patience does."""
        with self._changed:
            ends = [asked.until, *(grant.expires for grant in self._grants[asked.resource])]
        pause = max(0.0, min(ends) - time.monotonic())
        return None if pause == float("inf") else pause

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
            self._ring(grant.resource)


_KEYS = ("type", "amount", "component", "priority", "timeout")


def _described(wish: Mapping[str, Any]) -> dict[str, Any]:
    """A described request in the words of `request`: of a device one is held, for `amount` milliseconds."""
    for name in wish:
        if name not in _KEYS:
            raise UnknownNameError("entry of a resource request", str(name), _KEYS)
    missing = [name for name in _KEYS[:3] if name not in wish]
    if missing:
        raise UsageError(f"The resource request {dict(wish)} has no '{missing[0]}'; expected type, amount, component.")
    if wish["type"] not in list(ResourceType):
        raise UnknownNameError("resource type", str(wish["type"]), list(ResourceType))
    resource, amount = str(wish["type"]), wish["amount"]
    if not isinstance(amount, int | float) or not 0 < amount < float("inf"):
        raise UsageError(
            f"The resource request of {wish['component']} has amount {amount!r}; expected a number above 0: "
            "milliseconds of a device, bytes of memory."
        )
    is_device = resource != MEMORY
    return {
        "resource": resource,
        "owner": str(wish["component"]),
        "amount": 1 if is_device else int(amount),
        "seconds": amount / 1000 if is_device else DEFAULT_SECONDS,
        "priority": wish.get("priority", TRAINING),
        "timeout": wish.get("timeout", PATIENCE_SECONDS),
    }


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
