"""What a bus promises."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from jimbot.clients import EventBusClient
from jimbot.clients.event_bus import answer_to, enveloped
from jimbot.errors import BusError, UnknownNameError, UsageError
from jimbot.proto import events_pb2
from jimbot.services.bus.embedded import store_of
from jimbot.services.bus.local_server import stop
from tests.services.buses import QUICK, Heard, client, in_loop, nats_program, result, steps, until

pytest.importorskip("nats")
pytestmark = pytest.mark.skipif(nats_program() is None, reason="nats-server is not installed")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """This machine's own bus, one for all tests here."""
    found = f"embedded:{tmp_path_factory.mktemp('bus') / 'bus.sqlite'}"
    yield found
    stop(store_of(found))


@pytest.fixture
def name() -> str:
    """A durable name of the test's own: the server is shared."""
    return uuid.uuid4().hex[:12]


def test_an_event_reaches_everybody_who_subscribed_and_nobody_else(address: str) -> None:
    async def work() -> None:
        async with client(address) as publisher, client(address) as reader:
            first, second, other = Heard(), Heard(), Heard()
            await publisher.subscribe(["game.result"], first)
            await reader.subscribe(topics=["game.*"], handler=second)
            await reader.subscribe(["knowledge.update"], other)
            place = await publisher.publish(result(7))
            await until(lambda: bool(first.events and second.events))
            assert place > 0
            assert first.numbers == second.numbers == [7]
            assert first.events[0].sequence in (0, place)  # core NATS does not tell
            assert first.events[0].attempt == 1
            assert first.events[0].source
            assert first.events[0].timestamp_ns
            assert not other.events

    in_loop(work)


def test_a_plain_function_is_a_handler_too_and_may_take_its_time(address: str) -> None:
    async def work() -> None:
        seen: list[int] = []

        def slow(event: events_pb2.Event) -> None:
            time.sleep(0.05)
            seen.append(steps(event))

        async with client(address) as bus:
            await bus.subscribe(["game.result"], slow)
            for number in range(3):
                await bus.publish(result(number))
            assert len(seen) < 3  # publishing waited for nobody
            await until(lambda: len(seen) == 3)
            assert seen == [0, 1, 2]

    in_loop(work)


def test_a_durable_reader_goes_on_where_it_was(address: str, name: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            first = Heard()
            await bus.subscribe(["game.result"], first, durable=name)
            await bus.publish(result(1))
            await until(lambda: len(first.events) == 1)
        async with client(address) as bus:
            await bus.publish(result(2))
            await bus.publish(result(3))
            second = Heard()
            await bus.subscribe(["game.result"], second, durable=name)
            await until(lambda: len(second.events) == 2)
            assert second.numbers == [2, 3]

    in_loop(work)


def test_an_event_id_is_taken_once(address: str, name: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            heard, same = Heard(), uuid.uuid4().hex
            await bus.subscribe(["game.result"], heard, durable=name)
            places = {await bus.publish(result(4, event_id=same)) for _ in range(3)}
            await bus.publish(result(5))
            await until(lambda: 5 in heard.numbers)
            assert heard.numbers == [4, 5]
            assert len(places) == 1
            assert bus.metrics.repeated["game.result"] == 2

    in_loop(work)


def test_a_handler_that_fails_gets_the_event_again_before_the_next(address: str, name: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            heard = Heard(fails=lambda event: steps(event) == 1 and event.attempt < 3)
            await bus.subscribe(["game.result"], heard, durable=name)
            for number in range(3):
                await bus.publish(result(number))
            await until(lambda: len(heard.events) == 3)
            assert heard.tries == [0, 1, 1, 1, 2]
            assert heard.events[1].attempt == 3
            assert bus.metrics.redelivered["game.result"] == 2

    in_loop(work)


def test_after_so_many_tries_an_event_is_a_dead_letter_and_the_others_go_on(address: str, name: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            dead, heard = Heard(), Heard(fails=lambda event: steps(event) == 1)
            await bus.subscribe(["dead.*"], dead)
            await bus.subscribe(["game.result"], heard, durable=name)
            for number in range(3):
                await bus.publish(result(number))
            await until(lambda: len(heard.events) == 2 and bool(dead.events))
            letter = events_pb2.DeadLetter()
            dead.events[0].payload.Unpack(letter)
            assert dead.events[0].topic == "dead.game.result"
            assert (letter.consumer, letter.attempts, letter.topic) == (name, QUICK.attempts, "game.result")
            assert "not today" in letter.error
            assert steps(events_pb2.Event.FromString(letter.event)) == 1
            assert heard.numbers == [0, 2]

    in_loop(work)


def test_a_dead_letter_nobody_can_read_makes_no_further_ones(address: str, name: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            reader, heard = Heard(fails=lambda event: True), Heard(fails=lambda event: True)
            await bus.subscribe(["dead.*"], reader, durable=name)
            await bus.subscribe(["game.result"], heard, durable=f"{name}-2")
            await bus.publish(result(1))
            await until(lambda: len(reader.tries) == QUICK.attempts)
            await asyncio.sleep(0.1)
            assert bus.metrics.dead == {"game.result": 1}

    in_loop(work)


def test_members_of_a_queue_share_the_events_and_a_game_stays_in_order(address: str, name: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            members = [Heard(seconds=0.001), Heard(seconds=0.001)]
            for member in members:
                await bus.subscribe(["game.result"], member, queue=name)
            for number in range(40):
                await bus.publish(result(number, game=f"{name}{number % 8}"))
            await until(lambda: sum(len(member.events) for member in members) == 40)
            assert sorted(members[0].numbers + members[1].numbers) == list(range(40))
            assert members[0].events
            assert members[1].events

    in_loop(work)


def test_many_at_once_keep_the_order_of_each_game(address: str, name: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            running, most, seen = 0, 0, []

            async def handler(event: events_pb2.Event) -> None:
                nonlocal running, most
                running += 1
                most = max(most, running)
                await asyncio.sleep(0.02 if steps(event) % 2 else 0.001)
                seen.append((event.order_key, steps(event)))
                running -= 1

            await bus.subscribe(["game.result"], handler, durable=name, at_once=8)
            for number in range(32):
                await bus.publish(result(number, game=f"g{number % 4}"))
            await until(lambda: len(seen) == 32)
            assert most > 1
            for game in range(4):
                mine = [number for key, number in seen if key == f"g{game}"]
                assert mine == sorted(mine)

    in_loop(work)


def test_a_question_is_answered_and_a_question_to_nobody_says_so(address: str) -> None:
    async def work() -> None:
        async with client(address) as adviser, client(address) as bus:

            async def advise(event: events_pb2.Event) -> None:
                request = events_pb2.StrategyRequest()
                event.payload.Unpack(request)
                answer = events_pb2.Event(topic="strategy.response", correlation_id=event.event_id)
                answer.payload.Pack(events_pb2.StrategyResponse(request_id=request.request_id, advice=request.context))
                await adviser.publish(answer)

            subscription = await adviser.subscribe(["strategy.request"], advise)
            asked = events_pb2.StrategyRequest(game="probe", context="low_confidence_decision")
            answers = await asyncio.gather(*(bus.publish_and_wait(asked) for _ in range(5)))
            assert {answer.advice for answer in answers} == {"low_confidence_decision"}
            await subscription.close()
            with pytest.raises(BusError, match=r"Nobody answered the strategy\.request"):
                await bus.publish_and_wait(asked, seconds=0.05)
            with pytest.raises(UsageError, match="questions are asked on"):
                await bus.publish_and_wait(result(1))

    in_loop(work)


def test_the_log_is_read_again_from_a_place_or_a_time(address: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            places = [await bus.publish(result(number)) for number in range(4)]
            await asyncio.sleep(0.02)
            middle = time.time()
            await asyncio.sleep(0.02)
            await bus.publish(result(4))
            again = [steps(event) async for event in bus.replay(["game.result"], places[2])]
            later = [steps(event) async for event in bus.replay(["game.*"], middle)]
            assert again == [2, 3, 4]
            assert later == [4]
            heard = Heard()
            await bus.subscribe(["game.result"], heard, durable=uuid.uuid4().hex[:8], start=places[3])
            await until(lambda: len(heard.events) == 2)
            assert heard.numbers == [3, 4]

    in_loop(work)


def test_a_slow_subscriber_misses_events_which_are_counted_and_blocks_nobody(address: str) -> None:
    async def work() -> None:
        async with client(address, replace(QUICK, queue_size=20)) as bus:
            gate, slow, quick = asyncio.Event(), [], Heard()

            async def stuck(event: events_pb2.Event) -> None:
                await gate.wait()
                slow.append(steps(event))

            await bus.subscribe(["game.result"], stuck)
            await bus.publish(result(0))
            await asyncio.sleep(0.05)
            await bus.subscribe(["game.result"], quick)
            for number in range(1, 101):
                await bus.publish(result(number))
            await until(lambda: len(quick.events) == 100)
            gate.set()
            await until(lambda: 100 in slow or bus.metrics.dropped["game.result"] + len(slow) == 101)
            assert 0 < len(slow) < 60
            assert bus.metrics.dropped["game.result"] == 101 - len(slow)

    in_loop(work)


def test_figures_are_published_without_waiting_and_kept_for_a_while(address: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            heard = Heard()
            await bus.subscribe(["metrics.*"], heard)
            event = events_pb2.Event(topic="metrics.train")
            event.payload.Pack(events_pb2.MetricEvent(run="r", step=1, values={"loss": 1.0}))
            began = time.time()
            assert await bus.publish(event) == 0
            await until(lambda: len(heard.events) == 1)
            assert [found.topic async for found in bus.replay(["metrics.*"], began)] == ["metrics.train"]

    in_loop(work)


def test_what_does_not_belong_is_refused_at_the_door(address: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            foreign = events_pb2.Event(topic="game.state")
            foreign.payload.Pack(events_pb2.GameResultEvent())
            with pytest.raises(UsageError, match="expected GameStateEvent"):
                await bus.publish(foreign)
            with pytest.raises(UnknownNameError, match=r"game\.result"):
                await bus.publish(events_pb2.Event(topic="game.reslt"))
            with pytest.raises(UnknownNameError):
                await bus.subscribe(["games.*"], Heard())
            with pytest.raises(UsageError, match="expected a list"):
                await bus.subscribe("game.result", Heard())
            with pytest.raises(UsageError, match="not kept"):
                await bus.subscribe(["metrics.*"], Heard(), durable="figures")
            with pytest.raises(UsageError, match="durable name"):
                await bus.subscribe(["game.result"], Heard(), durable="a b")
            huge = result(1)
            huge.headers["x"] = "y" * 2_000_000
            with pytest.raises(UsageError, match="at most"):
                await bus.publish(huge)
            await bus.publish(result(1))

    in_loop(work)


def test_stats_tell_what_is_in_the_log_and_who_lies_behind(address: str, name: str) -> None:
    async def work() -> None:
        async with client(address) as bus:
            gate = asyncio.Event()

            async def stuck(event: events_pb2.Event) -> None:
                await gate.wait()

            await bus.subscribe(["game.result"], stuck, durable=name)
            for number in range(5):
                await bus.publish(result(number))
            stats = await bus.stats()
            assert stats["topics"]["game.result"]["events"] >= 5
            assert stats["readers"][name]["lag"] >= 4

    in_loop(work)


def test_an_unknown_kind_of_bus_is_an_error_with_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match="embedded"):
        EventBusClient("kafka://localhost")


def test_a_question_asked_again_is_one_question_and_its_answer_is_found(address: str) -> None:
    """The answer came while nobody listened, or who asked was killed and asks again."""

    async def work() -> None:
        async with client(address) as asking, client(address) as answering:
            asked: list[str] = []

            async def answer(event: events_pb2.Event) -> None:
                asked.append(event.event_id)
                await answering.publish(answer_to(event, events_pb2.StrategyResponse(advice="run")))

            await answering.subscribe(["strategy.request"], answer)
            question = enveloped(events_pb2.StrategyRequest(context="again"))
            first = await asking.publish_and_wait(question, 10)
            async with client(address) as another:
                again = await another.publish_and_wait(question, 10)
            assert first.event_id == again.event_id
            assert asked == [question.event_id]

    in_loop(work)
