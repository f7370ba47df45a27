"""Work in the background: what is left of a batch comes again in order, and closing waits while something arrives."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from jimbot import background
from jimbot.background import BackgroundSender, Backoff, LoopThread, RefusedError, Repeating
from jimbot.errors import BusError


def test_what_is_left_of_a_batch_is_tried_again_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PAUSES", Backoff(0.001, 0.001))
    arrived: list[int] = []

    def two_at_most(numbers: list[int]) -> list[int]:
        arrived.extend(numbers[:2])
        return numbers[2:]

    sender = BackgroundSender("Narrow", two_at_most, most_waiting=100, batch=10, linger=0.05)
    assert all(sender.offer(number) for number in range(25))
    sender.close()
    assert arrived == list(range(25))
    assert (sender.sent, sender.lost) == (25, {})


def test_one_that_is_hopeless_is_given_up_alone_and_counted_by_its_kind(caplog: pytest.LogCaptureFixture) -> None:
    def picky(words: list[str]) -> None:
        if "bad" in words:
            sender.refuse("bad", RefusedError("no"))

    sender = BackgroundSender("Picky", picky, most_waiting=100, batch=10, linger=0.05, kind=str.upper)
    for word in ("good", "bad", "better"):
        sender.offer(word)
    sender.close()
    assert (sender.sent, sender.refused, sender.lost) == (2, 1, {"BAD": 1})
    assert "Picky did not get 1 of 3: 1 of BAD." in caplog.text


def test_closing_waits_as_long_as_something_arrives_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PAUSES", Backoff(0.01, 0.01))

    def slow(numbers: list[int]) -> None:
        time.sleep(0.15)

    sender = BackgroundSender("Slow", slow, most_waiting=100, batch=1, grace=0.3)
    for number in range(6):  # together thrice as long as the grace
        sender.offer(number)
    sender.close()
    assert (sender.sent, sender.dropped) == (6, 0)

    def away(numbers: list[int]) -> None:
        raise BusError("away")

    sender, began = BackgroundSender("Away", away, most_waiting=100, batch=1, grace=0.3), time.monotonic()
    sender.offer(1)
    sender.close()
    assert (sender.sent, sender.dropped) == (0, 1)
    assert time.monotonic() - began < background.LONGEST_CLOSE / 2


def test_repeated_work_ends_from_outside_and_from_within() -> None:
    done = threading.Event()
    with Repeating("again", 0.001, done.set):
        assert done.wait(10)
    within = Repeating("once", 0.001, lambda: within.close()).start()
    while not within.is_over:
        time.sleep(0.001)
    within.close()


def test_a_loop_in_a_thread_answers_and_ends_what_it_began() -> None:
    loop, cancelled = LoopThread("loop"), threading.Event()

    async def answer() -> int:
        return 42

    async def stays() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            cancelled.set()

    assert loop.submit(answer()).result(10) == 42
    loop.submit(stays())
    loop.submit(asyncio.sleep(0)).result(10)
    loop.close()
    assert cancelled.wait(10)
