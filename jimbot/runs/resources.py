"""Who may use a device or memory now: components ask, are granted a slice of time or bytes, and give it back.

One coordinator per process, cooperative; what processes of one machine share (its GPU, see `SHARED`) they take turns in
through a table in a file (`leases`). A grant is a promise, not a lock on hardware: its holder looks at
`grant.wanted_back` between two pieces of work and lets go when a more important component waits. One that neither works
on nor lets go loses its grant when it expires, and one whose process is gone loses it at once, so a component that died
cannot block the others for ever.

    with default_coordinator().request("cpu", owner="learner", priority=TRAINING) as grant:
        ...  # one update

Devices (`cpu`, and `gpu` where there is one) are given to one holder at a time, `memory` is shared in bytes. A request
that is a mapping is awaited, and answered yes or no (`approved`, `reason`). See docs/operations/memory.md.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import os
import sys
import threading
import time
from bisect import insort
from collections.abc import Callable, Collection, Coroutine, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from jimbot.errors import JimbotError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from jimbot.runs.leases import LeaseTable, Row

_numbers = itertools.count(1)  # of grants, in this process

TRAINING, INFERENCE = 0, 10
"""Priorities; a higher one is served first and is what `wanted_back` gives way to."""
CPU, GPU, MEMORY = "cpu", "gpu", "memory"
DEFAULT_SECONDS = 60.0  # of a grant, before it expires
PATIENCE_SECONDS = 10.0  # of a described request, before the answer is no
_LOOK_SECONDS = 0.002  # between two looks of a request that waits and cannot be woken
SHARED = "JIMBOT_SHARED"
"""The variable that says which resources the processes of this machine share: gpu (the usual), cpu,gpu or none."""
_log = logging.getLogger("jimbot.runs")


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
    seconds: float
    _coordinator: ResourceCoordinator = field(repr=False)
    expires: float = 0.0
    """Clock time (`time.monotonic`); `renew` moves it."""
    reason: str = ""
    """Why a described request was not approved."""
    number: int = field(default_factory=lambda: next(_numbers), repr=False)
    """Of the grant, in this process."""

    @property
    def row(self) -> Row:
        """As other processes see it."""
        from jimbot.runs.leases import own_row

        return own_row(self.number, self.amount, self.priority)

    @property
    def approved(self) -> bool:
        return not self.reason

    @property
    def active(self) -> bool:
        with self._coordinator._changed:
            return self in self._coordinator._held[self.resource] and self.expires > time.monotonic()

    @property
    def wanted_back(self) -> bool:
        """A more important component waits for it, or it has expired: finish the work at hand and release."""
        with self._coordinator._changed:
            line = self._coordinator._waiting[self.resource]
            if not self.active or (bool(line) and line[0].priority > self.priority):
                return True
        return bool(self._coordinator.with_table(self.resource, lambda table: table.wanted(self.priority), False))

    def renew(self) -> None:
        """Goes on for as long again; an error if it has expired already."""
        with self._coordinator._changed:
            if not self.active or not self._coordinator.with_table(
                self.resource, lambda table: table.renew(self.row, self.seconds), True
            ):
                raise ResourceError(
                    f"The grant of resource '{self.resource}' to {self.owner} has expired after {self.seconds:g} s. "
                    "Renew it in time, or ask for more seconds."
                )
            self.expires = time.monotonic() + self.seconds

    def release(self) -> None:
        """Gives it back; once is enough, more does no harm."""
        with self._coordinator._changed:
            for grants in (self._coordinator._held[self.resource], self._coordinator._waiting[self.resource]):
                if self in grants:
                    grants.remove(self)
                    self._coordinator.with_table(self.resource, lambda table: table.leave(self.row), None)
            self._coordinator._changed.notify_all()

    def __enter__(self) -> Self:
        if self.reason:
            raise ResourceError(f"The request was not approved: {self.reason} Look at `approved` before using a grant.")
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class ResourceCoordinator:
    """`capacities`: how much there is of each resource; a device has 1. Safe to use from any thread. `shared` are those
    that other processes use as well, whose coordinators meet in the same `folder`."""

    def __init__(
        self, capacities: dict[str, int], shared: Collection[str] = (), folder: str | Path | None = None
    ) -> None:
        self.capacities = dict(capacities)
        self._tables = _open_tables(shared, folder)
        self._changed = threading.Condition()
        self._held: dict[str, list[Grant]] = {name: [] for name in capacities}
        self._waiting: dict[str, list[Grant]] = {name: [] for name in capacities}  # in the order they are served

    @overload
    def request(self, resource: Mapping[str, Any]) -> Coroutine[Any, Any, Grant]: ...

    @overload
    def request(
        self, resource: str, owner: str, amount: int = 1, priority: int = TRAINING, seconds: float = DEFAULT_SECONDS,
        timeout: float | None = None,
    ) -> Grant: ...  # fmt: skip

    def request(
        self, resource: str | Mapping[str, Any], owner: str = "", amount: int = 1, priority: int = TRAINING,
        seconds: float = DEFAULT_SECONDS, timeout: float | None = None,
    ) -> Grant | Coroutine[Any, Any, Grant]:  # fmt: skip
        """Waits for its turn and returns the grant; `timeout` seconds at most, if given. A GPU that is not there is the
        CPU. A mapping (type, amount, component; priority and timeout if wanted) is to be awaited."""
        if isinstance(resource, Mapping):
            return self._answer(resource)
        resource = CPU if resource == GPU and GPU not in self.capacities else resource
        grant = Grant(resource, amount, owner, priority, seconds, self)
        with self._changed:
            free = amount == 1 and self._held.get(resource) == [] and not self._waiting[resource]
            if free and (resource not in self._tables or self._claimed(grant)):
                grant.expires = time.monotonic() + seconds  # the usual case, and short: every decision passes here
                self._held[resource].append(grant)
                return grant
            with closing(self._turn(grant, math.inf if timeout is None else timeout)) as turn:
                longest = _LOOK_SECONDS if resource in self._tables else threading.TIMEOUT_MAX
                for pause in turn:
                    self._changed.wait(min(pause, longest))
        return grant

    async def _answer(self, wish: Mapping[str, Any]) -> Grant:
        grant = Grant(**_described(wish), _coordinator=self)
        if grant.resource == GPU and GPU not in self.capacities:
            grant.resource = CPU
        try:
            with closing(self._turn(grant, wish.get("timeout", PATIENCE_SECONDS))) as turn:
                for pause in turn:
                    await asyncio.sleep(min(pause, _LOOK_SECONDS))
        except (ResourceError, UsageError) as problem:
            grant.reason = str(problem)
        return grant

    def _turn(self, grant: Grant, timeout: float) -> Generator[float]:
        """Lets a grant wait in line, and yields for how many seconds, until it is given; closed before, it is not."""
        resource, until = grant.resource, time.monotonic() + timeout
        if resource not in self.capacities:
            raise UnknownNameError("resource", resource, self.capacities)
        if not 1 <= grant.amount <= self.capacities[resource]:
            raise UsageError(
                f"{grant.owner} asked for {grant.amount:,} of resource '{resource}', which has "
                f"{self.capacities[resource]:,}. Ask for less."
            )
        with self._changed:
            insort(self._waiting[resource], grant, key=lambda waiting: -waiting.priority)
            self._changed.notify_all()
        try:
            while not self._given(grant):
                held, now = self._held[resource], time.monotonic()
                if now >= until:
                    raise ResourceError(
                        f"{grant.owner} waited {timeout:g} s for resource '{resource}', which "
                        f"{', '.join(other.owner for other in held) or self._elsewhere(resource)} holds. Ask again "
                        "later, or with a higher priority."
                    )
                yield max(0.0, min([until, *(other.expires for other in held)]) - now)
        except BaseException:
            grant.release()
            raise

    def _given(self, grant: Grant) -> bool:
        """Whether it is the first in line and there is room. Nobody overtakes: a large request is not starved."""
        with self._changed:
            line = self._waiting[grant.resource]
            room = self.capacities[grant.resource] - self._in_use_here(grant.resource)
            if line[0] is not grant or grant.amount > room or not self._claimed(grant):
                return False
            grant.expires = time.monotonic() + grant.seconds
            self._held[grant.resource].append(line.pop(0))
            self._changed.notify_all()
            return True

    def with_table(self, resource: str, do: Callable[[LeaseTable], Any], otherwise: Any) -> Any:
        """What is done in the table other processes share; `otherwise` where there is none. One that cannot be used
        (a full disk) is given up, with a warning: each process goes on by itself."""
        table = self._tables.get(resource)
        if table is None:
            return otherwise
        try:
            return do(table)
        except OSError as problem:
            self._tables.pop(resource, None)
            _log.warning("Processes take no turns in resource '%s' any more: %s.", resource, problem)
            return otherwise

    def _claimed(self, grant: Grant) -> bool:
        """Whether no other process is before it."""
        capacity, seconds = self.capacities[grant.resource], grant.seconds
        return self.with_table(grant.resource, lambda table: table.claim(grant.row, capacity, seconds), True)

    def _elsewhere(self, resource: str) -> str:
        return "another process" if self.with_table(resource, lambda table: table.in_use(), 0) else "nobody"

    def in_use(self, resource: str) -> int:
        """How much of a resource is granted now, here and by other processes that share it."""
        here = self._in_use_here(resource)
        return max(here, self.with_table(resource, lambda table: table.in_use(), here))

    def _in_use_here(self, resource: str) -> int:
        with self._changed:
            now = time.monotonic()
            self._held[resource] = [grant for grant in self._held[resource] if grant.expires > now]
            return sum(grant.amount for grant in self._held[resource])


_KEYS = ("type", "amount", "component", "priority", "timeout")


def _described(wish: Mapping[str, Any]) -> dict[str, Any]:
    """A described request in the words of `Grant`: of a device one is held, for `amount` milliseconds."""
    for name in wish:
        if name not in _KEYS:
            raise UnknownNameError("entry of a resource request", str(name), _KEYS)
    missing = [name for name in _KEYS[:3] if name not in wish]
    if missing:
        raise UsageError(f"The resource request {dict(wish)} has no '{missing[0]}'; expected type, amount, component.")
    resource, amount, owner = (wish[name] for name in _KEYS[:3])
    if resource not in list(ResourceType):
        raise UnknownNameError("resource type", str(resource), list(ResourceType))
    if not isinstance(amount, int | float) or not 0 < amount < math.inf:
        raise UsageError(
            f"The resource request of {owner} has amount {amount!r}; expected a number above 0: "
            "milliseconds of a device, bytes of memory."
        )
    held, seconds = (int(amount), DEFAULT_SECONDS) if resource == MEMORY else (1, amount / 1000)
    priority = wish.get("priority", TRAINING)
    return {"resource": str(resource), "amount": held, "owner": str(owner), "priority": priority, "seconds": seconds}


_making = threading.Lock()


def default_coordinator() -> ResourceCoordinator:
    """The one of this process: its CPUs, its GPUs if there are any, the memory of the machine."""
    with _making:
        return _made()


@cache
def _made() -> ResourceCoordinator:
    import psutil

    capacities = {CPU: 1, **({GPU: 1} if _has_gpu() else {}), MEMORY: psutil.virtual_memory().total}
    named = [name.strip() for name in os.environ.get(SHARED, GPU).split(",")]
    return ResourceCoordinator(capacities, [name for name in named if name in capacities])


def _open_tables(shared: Collection[str], folder: str | Path | None) -> dict[str, LeaseTable]:
    if not shared:  # as on a machine without a GPU
        return {}
    from jimbot.runs.leases import LeaseTable, runtime_dir

    try:
        where = runtime_dir() if folder is None else Path(folder)
        return {name: LeaseTable(where, name) for name in shared}
    except OSError as problem:
        _log.warning("Processes take no turns in %s: %s.", ", ".join(shared), problem)
        return {}


def _has_gpu() -> bool:
    """Whether a library that is loaded already sees one; nothing is imported for the question."""
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    return bool(torch and torch.cuda.is_available()) or bool(jax and jax.default_backend() == "gpu")
