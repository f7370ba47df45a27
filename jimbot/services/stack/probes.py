"""Questions asked at a steady beat while everything runs: how long answers take, which failed though all was well."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import urllib.request
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np

from jimbot.clients import DecisionClient, EventBusClient
from jimbot.clients.resilience import Patience
from jimbot.errors import JimbotError
from jimbot.games import make
from jimbot.proto.events_pb2 import Event, Heartbeat, LearningDecisionRequest

SECONDS = 5.0  # of patience with an answer
HEARD_SECONDS = 5.0


class Probe:
    """Asks every `beat` seconds from a thread, until closed. `ask` gives the milliseconds that count, or raises."""

    def __init__(self, name: str, needs: str, ask: Callable[[], float], beat: float) -> None:
        self.name, self.needs = name, needs
        """`needs` is the component that must be well for an answer."""
        self.taken: array[float] = array("d")
        self.failed = self.unexplained = 0
        self.problem = ""
        """Of the last failure that nothing explains."""
        self.calm: Callable[[str], bool] = lambda needs: True
        """Whether a component was well, and has been for a moment."""
        self._ask, self._beat = ask, beat
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"jimbot-probe-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join(2 * SECONDS)

    def _run(self) -> None:
        while not self._over.wait(self._beat):
            calm = self.calm(self.needs)
            try:
                self.taken.append(self._ask())
            except (JimbotError, OSError, ValueError) as problem:
                self.failed += 1
                if calm and self.calm(self.needs) and not self._over.is_set():
                    self.unexplained += 1
                    self.problem = f"{type(problem).__name__}: {problem}"

    def milliseconds(self, percentile: float) -> float:
        return float(np.percentile(self.taken, percentile)) if self.taken else float("nan")


def timed(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)


def decisions(address: str, game: str) -> Callable[[], float]:
    """Positions of a game that is played at random, so that no answer is one that was remembered."""
    rows = make(game, 1, seed=7, checked=True)
    rows.reset()
    luck = np.random.default_rng(7)
    client = DecisionClient(address, patience=Patience(deadline=SECONDS, cap=SECONDS))

    def ask() -> float:
        request = LearningDecisionRequest(game=game)
        request.game_state.observation.values = np.asarray(rows.observation[0], "<f4").tobytes()
        request.game_state.observation.legal_mask = np.packbits(rows.legal_mask[0], bitorder="little").tobytes()
        taken = timed(lambda: client.decide(request))
        rows.step(np.array([luck.choice(np.flatnonzero(rows.legal_mask[0]))]))
        return taken

    return ask


def heartbeats(address: str) -> Callable[[], float]:
    """From publishing an event until a subscriber has it."""

    async def heard() -> float:
        there = asyncio.Event()
        async with EventBusClient(address) as bus:
            name = f"soak-{time.monotonic_ns()}"

            async def hear(event: Event) -> None:
                beat = Heartbeat()
                event.payload.Unpack(beat)
                if beat.instance == name:
                    there.set()

            await bus.subscribe(["system.heartbeat"], hear)
            event = Event(topic="system.heartbeat")
            event.payload.Pack(Heartbeat(component="soak", instance=name))
            began = time.perf_counter()
            await bus.publish(event)
            async with asyncio.timeout(HEARD_SECONDS):
                await there.wait()
            return 1000 * (time.perf_counter() - began)

    return lambda: asyncio.run(heard())


def page(url: str, found: str, body: dict[str, Any] | None = None) -> Callable[[], float]:
    """A page whose answer must hold a text; with a body it is sent there."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    data = None if body is None else json.dumps(body).encode()

    def ask() -> float:
        text = ""

        def read() -> None:
            nonlocal text
            request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
            with opener.open(request, timeout=SECONDS) as answer:
                text = answer.read().decode()

        taken = timed(read)
        if found not in text:
            raise ValueError(f"{url} answered without '{found}': {text[:200]}")
        return taken

    return ask
