"""Micro-batching: requests for one policy wait in a bounded queue and are computed together.

Who computes takes what waits (up to the batch size), drops what has expired, computes, and answers. Who that is
decides how fast it goes: every hand-over between two Python threads costs up to a switch interval (milliseconds, many
inferences). So the caller that brings a request computes it, where that is quick:

- a thread that finds the batcher idle computes its own request;
- an event loop lets its requests gather as long as its turns bring others, then computes them itself;
- the batcher's own thread does the rest: batches that would hold an event loop up, whatever waits while another
  computes, and everything where a window is set (then the oldest waits so long for company).
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np

from jimbot.games.spec import GameSpec
from jimbot.policies.contract import Decision
from jimbot.runs.resources import GPU, INFERENCE, Grant, ResourceCoordinator, ResourceError, default_coordinator
from jimbot.services.decision.metrics import ServiceMetrics
from jimbot.services.decision.refusal import Code, RefusedError, invalid, stopping
from jimbot.services.decision.served import ServedPolicy, faults_of
from jimbot.services.decision.states import check_rows
from jimbot.services.settings import ServiceSettings

_DEVICE_SECONDS = 5.0  # a batch takes milliseconds; a batcher that died must not keep the device
LONGEST_IN_LOOP_MS = 5.0  # a batch that takes longer is not computed in an event loop
_QUIET_TURNS = 24  # of an event loop without another request, after which a batch is computed under pressure
LARGEST_VALUE = 1e6
"""Of an observation: where a larger one makes an answer that is not a number, that is not the policy's fault."""
_CLOSE = 4.0  # pressure: requests follow each other within so many inferences


class Cost:
    """What a batch takes, learned from those before: milliseconds of one row, and of every further one."""

    def __init__(self) -> None:
        self.one = self._further = 0.0

    def note(self, rows: int, milliseconds: float) -> None:
        if rows == 1:
            self.one += (milliseconds - self.one) * (0.1 if self.one else 1.0)
        elif self.one:
            further = max(0.0, milliseconds - self.one) / (rows - 1)
            self._further += (further - self._further) * (0.1 if self._further else 1.0)

    def of(self, rows: int) -> float:
        """Infinite while nothing is known."""
        if not self.one:
            return float("inf")
        return self.one + (rows - 1) * (self._further or self.one / 4)


class Item:
    """Rows of one request on their way through a batcher, and afterwards their answer."""

    __slots__ = ("alarm", "arrived", "batch_rows", "deadline", "decision", "error", "future", "illegal", "inference_ms",
                 "legal", "loop", "observation", "queue_ms", "served", "unchecked")  # fmt: skip

    def __init__(
        self, observation: np.ndarray, legal: np.ndarray, deadline: float, unchecked: GameSpec | None = None
    ) -> None:
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
        self.alarm: asyncio.TimerHandle | None = None  # at the deadline, where it waits for another thread
        self.unchecked = unchecked  # what the rows should be, where nobody has looked at them

    def wait_on(self) -> asyncio.Future[None]:
        """Another future in place of one that was cancelled."""
        assert self.loop is not None
        self.future = self.loop.create_future()
        if self.decision is not None or self.error is not None:
            self.future.set_result(None)
        return self.future


class Batcher:
    """The queue of one policy and the thread that works it off."""

    def __init__(
        self,
        served: ServedPolicy,
        settings: ServiceSettings,
        metrics: ServiceMetrics,
        coordinator: ResourceCoordinator | None = None,
    ) -> None:
        self.served = served
        self._settings, self._metrics = settings, metrics
        self._coordinator = coordinator or default_coordinator()
        self.queue: deque[Item] = deque()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._busy = threading.Lock()
        self._closed = False
        self._cost = Cost()
        self._gap_ms, self._last = 100.0, 0.0  # between two arrivals, of late; the last one
        self._gathering: dict[asyncio.AbstractEventLoop, list[Item]] = {}  # loops that will compute what waits
        self._milliseconds_per_item = 1.0  # of late, for the hint when to ask again
        self._thread = threading.Thread(target=self._work, name=f"decide {served.spec.id}/{served.name}", daemon=True)
        self._thread.start()

    def full(self) -> RefusedError:
        """Why no more requests are taken, with a hint when to ask again."""
        wait = max(1, round(len(self.queue) * self._milliseconds_per_item))
        return RefusedError(
            Code.RESOURCE_EXHAUSTED,
            f"{len(self.queue)} requests wait for policy '{self.served.name}' of game '{self.served.spec.id}'; no "
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
                    self._process(items, self._device())
            finally:
                self._busy.release()
            if self.queue:
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
        loop = asyncio.get_running_loop()
        item.loop, item.future = loop, loop.create_future()
        self._put(item)
        if self._settings.window_ms:
            self._wake()
            self._set_alarm(loop, item)
        elif (gathered := self._gathering.get(loop)) is not None:
            gathered.append(item)
        else:
            self._gathering[loop] = [item]
            loop.call_soon(self._gather, loop, len(self.queue), 0)
        return item.future

    def send(self, item: Item) -> bool:
        """Without waiting, for shadows; whether there was room."""
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
            self._cost = Cost()  # what the new one takes is learned anew
        return old

    def close(self) -> None:
        """Answers what waits, then stops."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(10)

    # --- in an event loop ---

    def _gather(self, loop: asyncio.AbstractEventLoop, seen: int, quiet: int) -> None:
        """Another turn of the loop for company, as long as the last ones brought some; then one batch is computed, if
        that is quick and nothing has to be waited for."""
        waiting = len(self.queue)
        quiet = 0 if waiting > seen else quiet + 1
        pressed = self._gap_ms < _CLOSE * self._cost.one  # requests follow so closely that company is to be expected
        if waiting < self._settings.batch_size and quiet < (_QUIET_TURNS if pressed else 1):
            loop.call_soon(self._gather, loop, waiting, quiet)
            return
        gathered = self._gathering.pop(loop, ())
        rows = 0
        with self._lock:  # the batcher's own thread may be taking a batch at this moment
            for item in itertools.islice(self.queue, self._settings.batch_size):
                rows += len(item.legal)
        if rows and self._cost.of(rows) <= LONGEST_IN_LOOP_MS and self._busy.acquire(blocking=False):
            try:
                grant = self._coordinator.request(GPU, "serve", 1, INFERENCE, _DEVICE_SECONDS, 0.0)
                self._process(self._take(), grant, loop)
            except ResourceError:  # the batcher's own thread can wait for the device, an event loop cannot
                pass
            finally:
                self._busy.release()
        if self.queue:
            self._wake()
        for item in gathered:
            if not item.future.done():  # another thread computes it; what the loop computes itself needs no alarm
                self._set_alarm(loop, item)

    def _set_alarm(self, loop: asyncio.AbstractEventLoop, item: Item) -> None:
        remaining = max(0.0, item.deadline - time.perf_counter())
        item.alarm = loop.call_later(remaining, _expire, item, self.served.spec.id)

    # --- inner parts ---

    def _put(self, item: Item) -> None:
        self._gap_ms += 0.05 * (min(100.0, (item.arrived - self._last) * 1000) - self._gap_ms)
        self._last = item.arrived
        with self._lock:
            if self._closed:
                raise stopping()
            if len(self.queue) >= self._settings.queue_size:
                raise self.full()
            self.queue.append(item)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self.queue and not self._closed:
                    self._changed.wait()
                if not self.queue:
                    return
                self._wait_for_company()
            with self._busy:
                if items := self._take():
                    self._process(items, self._device())

    def _wait_for_company(self) -> None:
        """Until the window of the oldest request ends or a batch is full; the condition is held."""
        window = self._settings.window_ms / 1000
        while window and self.queue and len(self.queue) < self._settings.batch_size and not self._closed:
            remaining = self.queue[0].arrived + window - time.perf_counter()
            if remaining <= 0:
                return
            self._changed.wait(remaining)

    def _take(self) -> list[Item]:
        """What goes into the next batch: as many as fit, and at least one."""
        taken: list[Item] = []
        rows = 0
        with self._lock:
            while self.queue and (not taken or rows + len(self.queue[0].legal) <= self._settings.batch_size):
                taken.append(self.queue.popleft())
                rows += len(taken[-1].legal)
        return taken

    def _process(self, items: list[Item], grant: Grant | None, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """Computes and answers; `grant` is the device, `loop` the event loop this runs in, if it does."""
        began = time.perf_counter()
        live, unchecked = [], None
        for item in items:
            item.queue_ms = (began - item.arrived) * 1000
            if item.deadline <= began:
                item.error = item.error or too_late(self.served.spec.id)
                self._metrics.count(self._metrics.expired, self.served.spec.id)
            elif item.error is None:
                live.append(item)
                unchecked = item.unchecked or unchecked
        try:
            if live:
                self._infer(live, unchecked)
        finally:
            if grant is not None:
                grant.release()
        if live:
            each = (time.perf_counter() - began) * 1000 / len(live)
            self._milliseconds_per_item += 0.05 * (each - self._milliseconds_per_item)
        _finish(items, loop)

    def _device(self) -> Grant | None:
        """The device, before any training of this process; None where it is used beside training, after a little
        patience."""
        patience = self._settings.device_patience_ms / 1000
        try:
            return self._coordinator.request(GPU, "serve", 1, INFERENCE, _DEVICE_SECONDS, patience)
        except ResourceError:
            self._metrics.beside_training += 1
            return None

    def _infer(self, items: list[Item], unchecked: GameSpec | None = None) -> None:
        """Their answers; `unchecked` as that of items, for all of them."""
        served, began = self.served, time.perf_counter()
        one = len(items) == 1
        observation = items[0].observation if one else np.concatenate([item.observation for item in items])
        legal = items[0].legal if one else np.concatenate([item.legal for item in items])
        if unchecked is not None:
            try:
                check_rows(observation, legal, unchecked)
            except RefusedError:
                self._infer_sound(items, unchecked)
                return
        try:
            decision: Decision | None = served.policy.act(observation, legal)
        except Exception as problem:  # whatever a model's runtime raises; the requests are asked one by one
            decision = None
            if one:
                self._fail(items[0], f"{type(problem).__name__}: {problem}")
        took = (time.perf_counter() - began) * 1000
        for item in items:
            item.served, item.inference_ms, item.batch_rows = served, took, len(legal)
        if decision is not None:
            self._cost.note(len(legal), took)
            self._hand_out(items, decision, legal)
        elif not one:
            for item in items:
                self._infer([item])
            return
        self._metrics.computed(len(legal))

    def _infer_sound(self, items: list[Item], spec: GameSpec) -> None:
        """Those of them that hold what they should, together; the others are told what is wrong."""
        for item in items:
            try:
                check_rows(item.observation, item.legal, spec)
            except RefusedError as own:
                item.error = own
        if sound := [item for item in items if item.error is None]:
            self._infer(sound)

    def _hand_out(self, items: list[Item], decision: Decision, legal: np.ndarray) -> None:
        """Each item its rows; those whose answer must not be used fail, alone."""
        faults, illegal = faults_of(decision, legal)
        start, sound = 0, not faults.any()
        for item in items:
            stop = start + len(item.legal)
            actions, probabilities, values = decision
            item.decision = Decision(actions[start:stop], probabilities[start:stop], values[start:stop])
            if sound:
                pass
            elif faults[start:stop].any() and (problem := _overflow(item)) is not None:
                item.decision, item.error = None, problem
            elif illegal[start:stop].any():
                item.illegal = True
                self._metrics.count(self._metrics.illegal, self.served.spec.id)
                self._fail(item, "it chose what is not legal")
            elif faults[start:stop].any():
                self._fail(item, "its answer is not a number")
            start = stop

    def _fail(self, item: Item, why: str) -> None:
        served = self.served
        item.decision = None
        item.served = served
        self._metrics.count(self._metrics.faults, served.spec.id, served.name)
        item.error = RefusedError(
            Code.INTERNAL, f"Policy '{served.name}' of game '{served.spec.id}' failed: {why.splitlines()[0][:300]}."
        )


def _overflow(item: Item) -> RefusedError | None:
    """The refusal of a question whose answer is not a number because of what it holds; None where that is not so."""
    largest, decision = float(np.abs(item.observation).max()), item.decision
    if decision is None or largest <= LARGEST_VALUE:
        return None
    if np.isfinite(decision.probabilities).all() and np.isfinite(decision.values).all():
        return None
    return invalid(
        f"The observation holds a value of size {largest:g}, and the policy's answer to it is not a number; send "
        "values as the game's own observation has them."
    )


def too_late(game: str) -> RefusedError:
    return RefusedError(
        Code.DEADLINE_EXCEEDED, f"The time of the request for game '{game}' was over before it could be computed."
    )


def _expire(item: Item, game: str) -> None:
    if not item.future.done():
        item.error = item.error or too_late(game)
        item.future.set_result(None)


def _finish(items: list[Item], here: asyncio.AbstractEventLoop | None) -> None:
    """Tells those who wait; another event loop than `here` is woken once per batch, not once per request."""
    loops: dict[asyncio.AbstractEventLoop, list[Item]] = defaultdict(list)
    for item in items:
        if item.loop is not None and item.loop is not here:
            loops[item.loop].append(item)
        elif item.future is not None and not item.future.done():
            item.future.set_result(None)
        if item.alarm is not None and item.loop is here:
            item.alarm.cancel()
    for loop, waiting in loops.items():
        try:
            loop.call_soon_threadsafe(_resolve, waiting)
        except RuntimeError:  # the loop is over; nobody waits any more
            continue


def _resolve(items: list[Item]) -> None:
    for item in items:
        if not item.future.done():
            item.future.set_result(None)
        if item.alarm is not None:
            item.alarm.cancel()


class Caller(NamedTuple):
    """How a caller waits. The chain of a decision is written once, as coroutines; for a caller that blocks nothing
    in it is ever suspended, so that `finished` takes its result at once."""

    compute: Callable[[Batcher, Item], Awaitable[None]]
    start: Callable[..., Awaitable[Any]]
    """Begins a function of its own time, to be awaited later."""
    join: Callable[[Future[Any], float], Awaitable[Any]]
    """The result of a future within so many seconds, else a TimeoutError."""


async def _ask(batcher: Batcher, item: Item) -> None:
    batcher.ask(item)


async def _now(work: Callable[..., Any], *arguments: Any) -> Any:
    return work(*arguments)


async def _result(future: Future[Any], seconds: float) -> Any:
    return future.result(max(0.0, seconds))


def _in_a_thread(work: Callable[..., Any], *arguments: Any) -> asyncio.Task[Any]:
    return asyncio.create_task(asyncio.to_thread(work, *arguments))


async def _result_in_loop(future: Future[Any], seconds: float) -> Any:
    async with asyncio.timeout(max(0.0, seconds)):
        return await asyncio.shield(asyncio.wrap_future(future))


BLOCKING = Caller(_ask, _now, _result)
IN_LOOP = Caller(Batcher.submit, _in_a_thread, _result_in_loop)


def finished(chain: Coroutine[Any, Any, Any]) -> Any:
    """The result of a chain whose caller is `BLOCKING`."""
    try:
        chain.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("A caller that blocks was suspended")
