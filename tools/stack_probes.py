"""Questions asked at a steady beat while everything runs: how long answers take, which failed though all was well."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import urllib.request
from array import array
from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any

import numpy as np

from jimbot.background import LoopThread, Repeating
from jimbot.clients import DecisionClient, EventBusClient
from jimbot.clients.resilience import RetryPolicy
from jimbot.errors import JimbotError
from jimbot.games import make
from jimbot.proto.events_pb2 import Event, Heartbeat, LearningDecisionRequest

SECONDS = 5.0  # of patience with an answer
HEARD_SECONDS = 5.0
GAME_SECONDS = 60.0  # until the first position of a game is drawn: the page loads the game's rules
SCENE = '"scene":{"kind"'
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Probe:
    """Asks every `beat` seconds from a thread, until closed. `ask` gives the milliseconds that count, or raises."""

    def __init__(self, name: str, needs: str | tuple[str, ...], ask: Callable[[], float], beat: float) -> None:
        self.name, self.needs = name, (needs,) if isinstance(needs, str) else needs
        """`needs` are the components that must be well for an answer."""
        self.taken: array[float] = array("d")
        self.failed = self.unexplained = 0
        self.problem = ""
        """Of the last failure that nothing explains."""
        self.calm: Callable[[str], bool] = lambda needs: True
        """Whether a component was well, and has been for a moment."""
        self._ask = ask
        self._beats = Repeating(f"jimbot-probe-{name}", beat, self._asked, 2 * SECONDS)
        self.start, self.close = self._beats.start, self._beats.close

    def _asked(self) -> None:
        calm = self._calm()
        try:
            self.taken.append(self._ask())
        except (JimbotError, OSError, ValueError) as problem:
            self.failed += 1
            if calm and self._calm() and not self._beats.is_over:
                self.unexplained += 1
                self.problem = f"{type(problem).__name__}: {problem}"

    def _calm(self) -> bool:
        return all(map(self.calm, self.needs))

    def milliseconds(self, percentile: float) -> float:
        return float(np.percentile(self.taken, percentile)) if self.taken else float("nan")


def timed(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)


def _questions(game: str) -> Callable[[], LearningDecisionRequest]:
    """Positions of a game that is played at random, so that no answer is one that was remembered."""
    rows = make(game, 1, seed=time.monotonic_ns() % 2**32, checked=True)
    rows.reset()
    luck = np.random.default_rng()

    def question() -> LearningDecisionRequest:
        rows.step(np.array([luck.choice(np.flatnonzero(rows.legal_mask[0]))]))
        request = LearningDecisionRequest(game=game)
        request.game_state.observation.values = np.asarray(rows.observation[0], "<f4").tobytes()
        request.game_state.observation.legal_mask = np.packbits(rows.legal_mask[0], bitorder="little").tobytes()
        return request

    return question


def decisions(address: str, game: str) -> Callable[[], float]:
    """A decision over gRPC."""
    question = _questions(game)
    client = DecisionClient(address, patience=RetryPolicy(deadline=SECONDS, cap=SECONDS))

    def ask() -> float:
        request = question()
        return timed(lambda: client.decide(request))

    return ask


def decisions_over_bus(address: str, game: str) -> Callable[[], float]:
    """What the bus adds to a decision: the time until the answer is back, less what the service says it took."""
    question, bus = _questions(game), EventBusClient(address)

    async def asked() -> float:
        await bus.connect()
        request, began = question(), time.perf_counter()
        answer = await bus.publish_and_wait(request, SECONDS)
        if answer.HasField("refusal"):
            raise ValueError(answer.refusal.message)
        return 1000 * (time.perf_counter() - began) - answer.timing.total_ms

    return lambda: _soon(asked())


def heartbeats(address: str) -> Callable[[], float]:
    """From publishing an event until a subscriber has it."""
    bus, heard, subscribed = EventBusClient(address), asyncio.Queue[str](), []

    async def hear(event: Event) -> None:
        beat = Heartbeat()
        event.payload.Unpack(beat)
        heard.put_nowait(beat.instance)

    async def beaten() -> float:
        if not subscribed:
            subscribed.append(await bus.subscribe(["system.heartbeat"], hear))
        name = f"soak-{time.monotonic_ns()}"
        event = Event(topic="system.heartbeat")
        event.payload.Pack(Heartbeat(component="soak", instance=name))
        began = time.perf_counter()
        await bus.publish(event)
        async with asyncio.timeout(HEARD_SECONDS):
            while await heard.get() != name:
                continue
        return 1000 * (time.perf_counter() - began)

    return lambda: _soon(beaten())


_starting = threading.Lock()


@cache
def _started_loop() -> LoopThread:
    return LoopThread("jimbot-probes")


def _loop() -> LoopThread:
    """One for all questions over the bus, in a thread of its own: clients stay open, as those of programs do. Probes
    begin at the same moment, and a second loop would get clients that belong to the first."""
    with _starting:
        return _started_loop()


def _soon(answer: Coroutine[Any, Any, float]) -> float:
    return _loop().submit(answer).result(2 * SECONDS)


def page(url: str, found: str, body: dict[str, Any] | None = None) -> Callable[[], float]:
    """A page whose answer must hold a text; with a body it is sent there."""

    def ask() -> float:
        began = time.perf_counter()
        text = _answer(url, body)
        taken = 1000 * (time.perf_counter() - began)
        _require(found, text, url)
        return taken

    return ask


def shown_game(address: str, game: str, host: str) -> Callable[[], float]:
    """The page looks on at the hosted game, opened anew where it was forgotten; a scene must be on the table."""
    wish = {"kind": "follow", "game": game, "address": host}

    def ask() -> float:
        name = json.loads(_answer(f"{address}/api/tables", wish))["id"]
        url, ends = f"{address}/api/tables/{name}", time.monotonic() + GAME_SECONDS
        while True:
            began = time.perf_counter()
            text = _answer(url)
            taken = 1000 * (time.perf_counter() - began)
            if SCENE in text or time.monotonic() > ends:
                _require(SCENE, text, url)
                return taken
            time.sleep(0.5)

    return ask


def _answer(url: str, body: dict[str, Any] | None = None) -> str:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with _opener.open(request, timeout=SECONDS) as answer:
        return answer.read().decode()


def _require(found: str, text: str, url: str) -> None:
    if found not in text:
        raise ValueError(f"{url} answered without '{found}': {text[:200]}")
