"""Micro-batching: requests for one policy wait in a bounded queue and are computed together.

A lane has one thread. It takes whatever waits (up to the batch size), drops what has expired, computes, and answers.
With a window it first gives others the chance to join, counted from the arrival of the oldest. Nothing else is delayed:
while a batch is computed the next one gathers by itself.

A caller in the same process that finds the lane idle computes its own request at once, without waking the thread: a
decision then costs an inference and no more.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from jimbot.policies.contract import Decision
from jimbot.runs.resources import GPU, INFERENCE, ResourceCoordinator, ResourceError
from jimbot.services.decision.figures import Figures
from jimbot.services.decision.refusal import Code, RefusedError
from jimbot.services.decision.served import ServedPolicy, fault_of, illegal_of
from jimbot.services.decision.settings import ServiceSettings

_DEVICE_SECONDS = 5.0  # a batch takes milliseconds; a lane that died must not keep the device


class Item:
    """Rows of one request on their way through a lane, and afterwards their answer."""

    __slots__ = ("arrived", "batch_rows", "deadline", "decision", "error", "future", "illegal", "inference_ms", "legal",
                 "loop", "observation", "queue_ms", "served")  # fmt: skip

    def __init__(self, observation: np.ndarray, legal: np.ndarray, deadline: float) -> None:
        self.observation = observation  # (n, D) float32
        self.legal = legal  # (n, A) bool
        self.deadline = deadline  # time.perf_counter
        self.arrived = time.perf_counter()
        self.decision: Decision | None = None
        self.error: RefusedError | None = None
        self.served: ServedPolicy | None = None
        self.queue_ms = self.inference_ms = 0.0
        self.batch_rows = 0
        self.illegal = False
        self.loop: asyncio.AbstractEventLoop | None = None
        self.future: Any = None  # of `loop`, or of threads where there is no loop


class Lane:
    """The queue of one policy and the thread that works it off."""

    def __init__(
        self,
        served: ServedPolicy,
        settings: ServiceSettings,
        figures: Figures,
        coordinator: ResourceCoordinator | None = None,
        after: Callable[[list[Item]], None] | None = None,
    ) -> None:
        self.served = served
        self._settings, self._figures, self._coordinator, self._after = settings, figures, coordinator, after
        self._queue: deque[Item] = deque()
        self._changed = threading.Condition()
        self._busy = threading.Lock()
        self._closed = False
        self._milliseconds_per_item = 1.0  # of late, for the hint when to ask again
        self._thread = threading.Thread(target=self._work, name=f"decide {served.spec.id}/{served.name}", daemon=True)
        self._thread.start()

    @property
    def depth(self) -> int:
        return len(self._queue)

    def require_room(self) -> None:
        """Refuses where the queue is full, with a hint when to ask again."""
        if len(self._queue) < self._settings.queue_size:
            return
        wait = max(1, round(len(self._queue) * self._milliseconds_per_item))
        raise RefusedError(
            Code.RESOURCE_EXHAUSTED,
            f"{len(self._queue)} requests wait for policy '{self.served.name}' of game '{self.served.spec.id}'; no "
            f"more are taken. Ask again in {wait} ms.",
            wait,
        )

    def ask(self, item: Item) -> None:
        """Computes a request for a caller that waits; `item` holds the answer afterwards."""
        item.future = Future()
        self._put(item)
        if not self._settings.window_ms and self._busy.acquire(blocking=False):
            try:
                while item.decision is None and item.error is None and (items := self._take()):
                    self._process(items)
            finally:
                self._busy.release()
            if self._queue:
                self._wake()
        else:
            self._wake()
        try:
            item.future.result(max(0.0, item.deadline - time.perf_counter()))
        except TimeoutError:
            item.error = item.error or too_late(self.served.spec.id)

    def submit(self, item: Item) -> asyncio.Future[None]:
        """The same for a caller in an event loop: resolved when `item` holds the answer, at its deadline at the
        latest."""
        item.loop = asyncio.get_running_loop()
        item.future = item.loop.create_future()
        self._put(item)
        self._wake()
        remaining = max(0.0, item.deadline - time.perf_counter())
        alarm = item.loop.call_later(remaining, _expire, item, self.served.spec.id)
        item.future.add_done_callback(lambda _: alarm.cancel())
        return item.future

    def send(self, item: Item) -> bool:
        """Without waiting, for shadows; whether there was room. `after` is told."""
        try:
            self._put(item)
        except RefusedError:
            return False
        self._wake()
        return True

    def swap(self, served: ServedPolicy) -> ServedPolicy:
        """Takes another policy between two batches; the old one is returned."""
        with self._busy:
            old, self.served = self.served, served
        return old

    def close(self) -> None:
        """Answers what waits, then stops."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(10)

    # --- inner parts ---

    def _put(self, item: Item) -> None:
        with self._changed:
            if self._closed:
                raise RefusedError(Code.UNAVAILABLE, "The service is stopping; ask another one.", 1000)
            self.require_room()
            self._queue.append(item)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._closed:
                    self._changed.wait()
                if not self._queue:
                    return
                self._wait_for_company()
            with self._busy:
                if items := self._take():
                    self._process(items)

    def _wait_for_company(self) -> None:
        """Until the window of the oldest request ends or a batch is full; the condition is held."""
        window = self._settings.window_ms / 1000
        while window and self._queue and len(self._queue) < self._settings.batch_size and not self._closed:
            remaining = self._queue[0].arrived + window - time.perf_counter()
            if remaining <= 0:
                return
            self._changed.wait(remaining)

    def _take(self) -> list[Item]:
        """What goes into the next batch: as many as fit, and at least one."""
        taken: list[Item] = []
        rows = 0
        with self._changed:
            while self._queue and (not taken or rows + len(self._queue[0].legal) <= self._settings.batch_size):
                taken.append(self._queue.popleft())
                rows += len(taken[-1].legal)
        return taken

    def _process(self, items: list[Item]) -> None:
        began = time.perf_counter()
        live = [item for item in items if item.error is None and item.deadline > began]
        for item in items:
            item.queue_ms = (began - item.arrived) * 1000
            if item.deadline <= began:
                item.error = item.error or too_late(self.served.spec.id)
                self._figures.count(self._figures.expired, self.served.spec.id)
        if live:
            with self._device():
                self._infer(live)
            each = (time.perf_counter() - began) * 1000 / len(live)
            self._milliseconds_per_item += 0.05 * (each - self._milliseconds_per_item)
        _finish(items)
        if self._after is not None:
            self._after(items)

    def _device(self) -> AbstractContextManager[Any]:
        """The device, before any training of this process; after a little patience beside it."""
        if self._coordinator is None:
            return nullcontext()
        try:
            patience = self._settings.device_patience_ms / 1000
            return self._coordinator.request(GPU, "serve", 1, INFERENCE, _DEVICE_SECONDS, patience)
        except ResourceError:
            self._figures.beside_training += 1
            return nullcontext()

    def _infer(self, items: list[Item]) -> None:
        served, began = self.served, time.perf_counter()
        one = len(items) == 1
        observation = items[0].observation if one else np.concatenate([item.observation for item in items])
        legal = items[0].legal if one else np.concatenate([item.legal for item in items])
        try:
            decision: Decision | None = served.ask(observation, legal)
        except Exception as problem:  # whatever a model's runtime raises; the requests are asked one by one
            decision = None
            if one:
                self._fail(items[0], f"{type(problem).__name__}: {problem}")
        took = (time.perf_counter() - began) * 1000
        start = 0
        for item in items:
            item.served, item.inference_ms, item.batch_rows = served, took, len(legal)
            stop = start + len(item.legal)
            if decision is not None:
                item.decision = Decision(*(part[start:stop] for part in decision))
                if illegal_of(item.decision, item.legal).any():
                    item.illegal = True
                    self._figures.count(self._figures.illegal, served.spec.id)
                    self._fail(item, "it chose what is not legal")
                elif fault_of(item.decision, item.legal).any():
                    self._fail(item, "its answer is not a number")
            start = stop
        if decision is None and not one:
            for item in items:
                self._infer([item])
            return
        self._figures.batch(len(legal))

    def _fail(self, item: Item, why: str) -> None:
        served = self.served
        item.decision = None
        item.served = served
        self._figures.count(self._figures.faults, served.spec.id, served.name)
        item.error = RefusedError(
            Code.INTERNAL, f"Policy '{served.name}' of game '{served.spec.id}' failed: {why.splitlines()[0][:300]}."
        )


def too_late(game: str) -> RefusedError:
    return RefusedError(
        Code.DEADLINE_EXCEEDED, f"The time of the request for game '{game}' was over before it could be computed."
    )


def _expire(item: Item, game: str) -> None:
    if not item.future.done():
        item.error = item.error or too_late(game)
        item.future.set_result(None)


def _finish(items: list[Item]) -> None:
    """Tells those who wait; an event loop is woken once per batch, not once per request."""
    loops: dict[asyncio.AbstractEventLoop, list[Item]] = defaultdict(list)
    for item in items:
        if item.loop is not None:
            loops[item.loop].append(item)
        elif item.future is not None and not item.future.done():
            item.future.set_result(None)
    for loop, waiting in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve, waiting)
        except RuntimeError:  # the loop is over; nobody waits any more
            continue


def _resolve(items: list[Item]) -> None:
    for item in items:
        if not item.future.done():
            item.future.set_result(None)
