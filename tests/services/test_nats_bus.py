"""What is NATS's own: a server that is killed and comes back, foreign bytes on its subjects, workers that share."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jimbot.clients import nats_bus
from jimbot.clients.event_bus import open_bus
from jimbot.errors import BusError
from jimbot.proto.events_pb2 import Event
from jimbot.services.orchestrator import RayLearningOrchestrator
from tests.services.asking import Scripted, probe_request, serve, service_of
from tests.services.buses import (
    QUICK,
    Heard,
    NatsServer,
    client,
    foreign_protobuf,
    in_loop,
    nats_program,
    result,
    steps,
    until,
)

pytest.importorskip("nats")
pytestmark = pytest.mark.skipif(nats_program() is None, reason="nats-server is not installed")
PATIENT = replace(QUICK, publish_seconds=30.0, ack_wait=1.0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    running = NatsServer(tmp_path_factory.mktemp("nats"))
    yield running
    running.kill()


async def through_crashes(server: NatsServer, name: str, crashes: int, every: float, pause: float) -> None:
    """Publishes and reads while the server is killed again and again, with a poison message in every hundred and a
    subscriber that never gets ready; then everything acknowledged was handled once, each game in order."""
    handled: list[tuple[str, int]] = []
    acknowledged: list[tuple[str, int]] = []
    over = asyncio.Event()

    async def handle(event: Event) -> None:
        if steps(event) % 100 == 99:
            raise ValueError("poison")
        handled.append((event.order_key, steps(event)))

    async def publish(game: str) -> None:
        number = 0
        async with client(server.address, PATIENT) as bus:
            while not over.is_set():
                await bus.publish(result(number, game))
                acknowledged.append((game, number))
                number += 1
                await asyncio.sleep(pause)

    async def stuck(event: Event) -> None:
        await over.wait()

    async with client(server.address, PATIENT) as reader:
        await reader.subscribe(["game.result"], handle, durable=name)
        await reader.subscribe(["game.result"], stuck)
        publishers = [asyncio.create_task(publish(f"{name}-{game}")) for game in range(3)]
        for _ in range(crashes):
            await asyncio.sleep(every)
            server.kill()
            await asyncio.sleep(0.2)
            await asyncio.to_thread(server.start)
        await asyncio.sleep(every)
        over.set()
        await asyncio.gather(*publishers)
        wanted = {one for one in acknowledged if one[1] % 100 != 99}
        await until(lambda: wanted <= set(handled), 60)
        assert reader.metrics.reconnects >= crashes
    assert len(acknowledged) > 20
    assert max(Counter(handled).values()) == 1
    for game in range(3):
        mine = [number for key, number in handled if key == f"{name}-{game}"]
        assert mine == sorted(mine)


def test_a_killed_server_loses_nothing_acknowledged_and_keeps_the_order(server: NatsServer) -> None:
    in_loop(lambda: through_crashes(server, "short", 1, 0.5, 0.005))


@pytest.mark.long
def test_a_server_killed_for_two_minutes_loses_nothing(server: NatsServer) -> None:
    in_loop(lambda: through_crashes(server, "long", 12, 10.0, 0.01))


def test_foreign_bytes_on_a_subject_are_dead_letters_and_stop_nobody(server: NatsServer) -> None:
    import nats

    async def work() -> None:
        async with client(server.address) as bus:
            heard, live = Heard(), Heard()
            await bus.subscribe(["game.result"], heard, durable="foreign")
            await bus.subscribe(["game.result"], live)
            other = await nats.connect(server.address)
            for body in (b"\xff\xff", b"", b"{}", foreign_protobuf()):
                await other.jetstream().publish("jimbot.game.result", body)
            await other.close()
            await bus.publish(result(3))
            await until(lambda: heard.numbers == [3] and live.numbers == [3])
            assert bus.metrics.unreadable["game.result"] == 8  # four for each of the two
            assert bus.metrics.dead["game.result"] == 4

    in_loop(work)


def test_workers_share_questions_and_one_that_leaves_is_not_missed(server: NatsServer) -> None:
    services = [service_of(serve(Scripted())) for _ in range(2)]

    async def work() -> None:
        settings = replace(QUICK, ack_wait=0.5)
        buses = [client(server.address, settings) for _ in services]
        workers = [RayLearningOrchestrator(bus, service) for bus, service in zip(buses, services, strict=True)]
        async with client(server.address, settings) as bus:
            for worker in workers:
                await worker.start()
            answers = await asyncio.gather(*(bus.publish_and_wait(probe_request(n), 10) for n in range(40)))
            assert {answer.selected_action.number for answer in answers} == {5}
            assert all(worker.answers["OK"] for worker in workers)
            await workers[0].stop()
            again = await asyncio.gather(*(bus.publish_and_wait(probe_request(n), 10) for n in range(5)))
            assert len(again) == 5
        for worker, opened in zip(workers, buses, strict=True):
            await worker.stop()
            await opened.close()

    in_loop(work)
    for service in services:
        service.close()


def test_a_server_that_is_slow_is_not_sent_everything_again(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many events under way at once wait for each other; asking again for each would bury the server. The clock of the
    bus is ours, so that it does not matter what else the machine does."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(nats_bus, "time", SimpleNamespace(monotonic=lambda: clock.now, time_ns=time.time_ns))
    monkeypatch.setattr(nats_bus, "ATTEMPT_SECONDS", 0.01)

    async def publish() -> None:
        async with client(server.address) as bus:
            opened: Any = await bus.connect()
            real, sent = opened._stream.publish_async, []

            async def slowly(*arguments: Any, **rest: Any) -> asyncio.Future[Any]:
                sent.append((rest["headers"]["Nats-Msg-Id"], await real(*arguments, **rest), loop.create_future()))
                return sent[-1][2]

            async def tell() -> None:
                while len(sent) < 30:
                    await asyncio.sleep(0)
                for _, acknowledged, told in sent[:30]:
                    for _ in range(3):  # all of them look at the clock again, and again
                        await asyncio.sleep(0.01)
                    clock.now += 0.004
                    told.set_result(await acknowledged)

            loop = asyncio.get_running_loop()
            opened._stream.publish_async = slowly
            await asyncio.gather(tell(), *(bus.publish(result(number)) for number in range(30)))
            assert len(sent) == len({name for name, _, _ in sent}) == 30

    in_loop(publish)


def test_without_a_server_there_is_one_sentence_and_no_secret_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jimbot.clients.nats_bus.CONNECT_SECONDS", 0.3)
    with pytest.raises(BusError, match="nats-server -js") as problem:
        asyncio.run(open_bus("nats://secret-token@127.0.0.1:9"))
    assert "secret" not in str(problem.value)


def test_a_publisher_is_told_when_the_server_stays_away(tmp_path: Path) -> None:
    server = NatsServer(tmp_path)

    async def work() -> None:
        bus = await open_bus(server.address, replace(QUICK, publish_seconds=0.5))
        server.kill()
        with pytest.raises(BusError, match="took no event"):
            await bus.publish(result(1))
        await bus.close()

    in_loop(work)
