"""How fast the decision service answers: in the same process, over gRPC, in streams, and when too many ask.

The server is a process of its own on the same machine, and so is a bare gRPC server that answers every question with
the same message (`echo`): what gRPC itself costs here. Arrivals are open-loop: requests are due at times drawn before,
whether or not earlier ones were answered, and a latency counts from when its request was due, so a slow server cannot
hide behind clients that wait for it. Figures of one run belong together; the load of the machine is printed with them.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from jimbot.clients import AsyncDecisionClient
from jimbot.clients.decision_client import DecisionError
from jimbot.clients.resilience import RetryPolicy
from jimbot.errors import JimbotError
from jimbot.games.contract import game_entry
from jimbot.policies.portable import load_policy
from jimbot.proto.decisions_pb2 import DecisionBatch
from jimbot.proto.events_pb2 import LearningDecisionRequest
from jimbot.services.decision import DecisionService, RefusedError, ServedPolicy, ServiceSettings
from jimbot.services.decision.served import golden_states

STATES = 256
IN_FLIGHT = 64
ROWS = 256  # per message of a stream
RATE, DENSE = 500.0, 1000.0  # requests per second of the quiet measurements
OVERLOAD = 3.0
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99_9": 99.9}
ONCE = RetryPolicy(deadline=5.0, cap=5.0, attempts=1, failures=10**9)  # a benchmark does not try again


class Questions:
    """Requests of one game, each with an id of its own."""

    def __init__(self, game: str) -> None:
        self.game = game
        self.observation, self.legal = golden_states(game_entry(game).spec, STATES)
        self._packed = np.packbits(self.legal, axis=1, bitorder="little")

    def one(self, number: int) -> LearningDecisionRequest:
        row = number % STATES
        request = LearningDecisionRequest(game=self.game, request_id=f"{os.getpid()} {time.monotonic_ns()} {number}")
        request.game_state.observation.values = self.observation[row].tobytes()
        request.game_state.observation.legal_mask = self._packed[row].tobytes()
        return request

    def rows(self) -> DecisionBatch:
        batch = DecisionBatch(game=self.game)
        batch.observations.values = self.observation[:ROWS].tobytes()
        batch.observations.legal_mask = self._packed[:ROWS].tobytes()
        batch.observations.rows = ROWS
        return batch


def bench_serve(game: str, seconds: float) -> dict[str, Any]:
    """All figures of the service for one game's shipped policy."""
    questions = Questions(game)
    figures: dict[str, Any] = {"game": game, "load_average": os.getloadavg()[0], "cores": os.cpu_count()}
    figures |= _in_process(questions, seconds)
    figures |= _batched_and_alone(questions, seconds)
    with _server(game) as address:
        figures |= asyncio.run(_over_grpc(questions, address, seconds))
    with tempfile.TemporaryDirectory() as folder, _server(game, "--listen", f"unix:{folder}/s") as address:
        figures |= asyncio.run(_over_a_socket(questions, address, seconds))
    with _server(game, command=[sys.executable, "-m", "benchmarks.echo"]) as address:
        figures["echo_saturated_per_second"] = asyncio.run(_saturated(questions, address, seconds))
    figures["saturated_share_of_echo"] = figures["unary_saturated_per_second"] / figures["echo_saturated_per_second"]
    figures["load_average_after"] = os.getloadavg()[0]
    return figures


# --- in the same process ---


def _service(game: str, **settings: Any) -> DecisionService:
    service = DecisionService(ServiceSettings(cache_size=0, time_limit_ms=10_000, **settings))
    service.add(ServedPolicy.make(game_entry(game), *load_policy(game)))
    return service


def _in_process(questions: Questions, seconds: float) -> dict[str, float]:
    service = _service(questions.game)
    taken: list[float] = []
    end, number = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or number < 200:
        request = questions.one(number)
        began = time.perf_counter()
        service.decide(request)
        taken.append(time.perf_counter() - began)
        number += 1
    service.close()
    return {f"in_process_{name}_ms": value for name, value in _percentiles(taken[50:]).items()}


def _batched_and_alone(questions: Questions, seconds: float) -> dict[str, float]:
    """The same crowd, answered in batches and one by one."""
    found: dict[str, float] = {}
    for name, size in (("one_by_one", 1), ("batched", IN_FLIGHT)):
        service = _service(questions.game, batch_size=size)
        rate, taken = asyncio.run(_crowd(questions, service.decide_async, seconds))
        service.close()
        found |= {f"{name}_per_second": rate, f"{name}_p99_ms": _percentiles(taken)["p99"]}
    found["batching_ratio"] = found["batched_per_second"] / found["one_by_one_per_second"]
    return found


# --- over gRPC ---


async def _over_grpc(questions: Questions, address: str, seconds: float) -> dict[str, float]:
    async with AsyncDecisionClient(address, patience=ONCE) as client:
        await _crowd(questions, client.decide, 0.5)  # warm
        _, taken = await _arrivals(questions, client, RATE, seconds)
        found = {f"unary_{name}_ms": value for name, value in _percentiles(taken).items()}
        found["unary_offered_per_second"] = RATE
        found |= await _dense(questions, client, "unary", seconds)
        capacity, _ = await _crowd(questions, client.decide, seconds)
        found["streamed_decisions_per_second"] = await _streamed(questions, client, seconds)
        good, taken = await _arrivals(questions, client, OVERLOAD * capacity, seconds)
        again, _ = await _crowd(questions, client.decide, seconds)
        found["unary_saturated_per_second"] = max(capacity, again)
        found["overload_goodput_fraction"] = good / max(capacity, again)
        found["overload_accepted_p99_ms"] = _percentiles(taken)["p99"]
    return found


async def _over_a_socket(questions: Questions, address: str, seconds: float) -> dict[str, float]:
    async with AsyncDecisionClient(address, patience=ONCE) as client:
        await _crowd(questions, client.decide, 0.5)  # warm
        return await _dense(questions, client, "unix", seconds)


async def _dense(questions: Questions, client: AsyncDecisionClient, way: str, seconds: float) -> dict[str, float]:
    _, taken = await _arrivals(questions, client, DENSE, seconds)
    return {f"{way}_{DENSE:.0f}_{name}_ms": value for name, value in _percentiles(taken).items()}


async def _saturated(questions: Questions, address: str, seconds: float) -> float:
    async with AsyncDecisionClient(address, patience=ONCE) as client:
        await _crowd(questions, client.decide, 0.5)  # warm
        return (await _crowd(questions, client.decide, seconds))[0]


async def _crowd(
    questions: Questions, ask: Callable[[LearningDecisionRequest], Awaitable[Any]], seconds: float
) -> tuple[float, list[float]]:
    """So many callers, each asking again as soon as it was answered: (answers per second, latencies)."""
    taken: list[float] = []
    began = time.perf_counter()

    async def caller(number: int) -> None:
        while time.perf_counter() < began + seconds:
            asked = time.perf_counter()
            await ask(questions.one(number))
            taken.append(time.perf_counter() - asked)
            number += IN_FLIGHT

    await asyncio.gather(*(caller(number) for number in range(IN_FLIGHT)))
    return len(taken) / (time.perf_counter() - began), taken


async def _arrivals(
    questions: Questions, client: AsyncDecisionClient, rate: float, seconds: float
) -> tuple[float, list[float]]:
    """Requests due at random times, at this rate on average: (answers per second, their latencies since due)."""
    due = np.cumsum(np.random.default_rng(3).exponential(1 / rate, int(rate * seconds)))
    taken: list[float] = []
    began = time.perf_counter() + 0.05

    async def one(number: int, when: float) -> None:
        try:
            await client.decide(questions.one(number))
        except DecisionError:  # refused or too late: not an answer
            return
        taken.append(time.perf_counter() - when)

    tasks = []
    for number, after in enumerate(due.tolist()):
        pause = began + after - time.perf_counter()
        if pause > 0:
            await asyncio.sleep(pause)
        elif number % 32 == 0:
            await asyncio.sleep(0)  # late already: the others must get their turn
        tasks.append(asyncio.create_task(one(number, began + after)))
    await asyncio.gather(*tasks)
    return len(taken) / max(time.perf_counter() - began, float(due[-1])), taken


async def _streamed(questions: Questions, client: AsyncDecisionClient, seconds: float, ahead: int = 4) -> float:
    """Decisions per second over one stream, with a few messages under way."""
    call, batch = client.stream(), questions.rows()
    for _ in range(ahead):
        await call.write(batch)
    answered, began = 0, time.perf_counter()
    while time.perf_counter() < began + seconds:
        answer = await call.read()
        if answer.HasField("refusal"):
            raise RefusedError(answer.refusal.code, answer.refusal.message)
        answered += len(answer.actions)
        await call.write(batch)
    rate = answered / (time.perf_counter() - began)
    call.cancel()
    return rate


@contextmanager
def _server(game: str, *more: str, command: Sequence[str] = ()) -> Generator[str]:
    """`jimbot serve` as people start it, or another server; its address."""
    serve = [sys.executable, "-m", "jimbot", "serve", game, "--port", "0", "--cache-size", "0", *more]
    command = command or serve
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stderr is not None
    told = ""
    try:
        for line in process.stderr:
            told += line
            if found := re.search(r"Listening on (\S+)\.", line):
                break
        else:
            raise JimbotError(f"The service did not start: {told.strip()[-500:]}")
        yield found[1]
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()


def _percentiles(seconds: list[float]) -> dict[str, float]:
    values = np.array(seconds or [float("nan")]) * 1000
    return {name: float(np.percentile(values, share)) for name, share in PERCENTILES.items()}
