"""The resource coordinator under contention: one holder at a time, order, expiry, priorities, no leaks."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from jimbot.errors import UnknownNameError, UsageError
from jimbot.training.session.resources import (
    INFERENCE,
    TRAINING,
    ResourceCoordinator,
    ResourceError,
    default_coordinator,
)


def test_a_device_has_one_holder_at_a_time_under_contention() -> None:
    coordinator, holders, most, done = ResourceCoordinator({"cpu": 1}), [0], [0], []

    def work(number: int) -> None:
        for _ in range(50):
            with coordinator.request("cpu", f"worker {number}", priority=number % 2 * INFERENCE):
                holders[0] += 1
                most[0] = max(most[0], holders[0])
                time.sleep(0)
                holders[0] -= 1
        done.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(done) == list(range(8))
    assert most == [1]
    assert coordinator.in_use("cpu") == 0


def test_memory_is_shared_up_to_its_capacity_and_large_requests_are_not_starved() -> None:
    coordinator = ResourceCoordinator({"memory": 100})
    first, second = coordinator.request("memory", "a", 40), coordinator.request("memory", "b", 40)
    order: list[str] = []

    def ask(name: str, amount: int) -> None:
        with coordinator.request("memory", name, amount):
            order.append(name)

    large = threading.Thread(target=ask, args=("large", 90))
    large.start()
    wait_until(lambda: len(coordinator._waiting["memory"]) == 1)
    small = threading.Thread(target=ask, args=("small", 20))  # would fit at once
    small.start()
    wait_until(lambda: len(coordinator._waiting["memory"]) == 2)
    first.release()
    second.release()
    large.join(10)
    small.join(10)
    assert order == ["large", "small"]


def test_inference_goes_before_training_and_the_holder_is_told() -> None:
    coordinator, order = ResourceCoordinator({"cpu": 1}), []
    held = coordinator.request("cpu", "learner")
    assert not held.wanted_back

    def ask(name: str, priority: int) -> None:
        with coordinator.request("cpu", name, priority=priority):
            order.append(name)

    threads = [threading.Thread(target=ask, args=("training", TRAINING))]
    threads[0].start()
    wait_until(lambda: len(coordinator._waiting["cpu"]) == 1)
    assert not held.wanted_back, "an equal waits its turn"
    threads.append(threading.Thread(target=ask, args=("inference", INFERENCE)))
    threads[1].start()
    wait_until(lambda: held.wanted_back)
    held.release()
    for thread in threads:
        thread.join(10)
    assert order == ["inference", "training"]


def test_a_holder_that_never_lets_go_loses_its_grant() -> None:
    coordinator = ResourceCoordinator({"cpu": 1})
    dead = coordinator.request("cpu", "dead", seconds=0.05)
    alive = coordinator.request("cpu", "alive")
    assert alive.active
    assert dead.wanted_back
    with pytest.raises(ResourceError, match=r"to dead has expired after 0.05 s"):
        dead.renew()
    dead.release()
    assert alive.active, "giving back what is lost takes nothing from others"
    alive.renew()


def test_waiting_has_an_end_and_wrong_requests_are_sentences() -> None:
    coordinator = ResourceCoordinator({"cpu": 1})
    with coordinator.request("cpu", "learner"), pytest.raises(ResourceError, match="which learner holds"):
        coordinator.request("cpu", "service", timeout=0.02)
    assert coordinator.in_use("cpu") == 0
    assert not coordinator._waiting["cpu"]
    with pytest.raises(UsageError, match="asked for 2 of resource 'cpu', which has 1"):
        coordinator.request("cpu", "greedy", 2)
    with pytest.raises(UnknownNameError, match="Did you mean 'cpu'"):
        coordinator.request("cpus", "x")


def test_a_gpu_that_is_not_there_is_answered_with_the_cpu() -> None:
    with ResourceCoordinator({"cpu": 1}).request("gpu", "learner") as grant:
        assert grant.resource == "cpu"
    assert default_coordinator() is default_coordinator()


def test_a_learner_takes_turns_with_a_service(tmp_path: Path) -> None:
    from jimbot.training.framework import create_trainer
    from tests.training.small import SMALL

    answered, training = [], threading.Event()

    def serve() -> None:
        training.wait(60)
        while training.is_set():
            with default_coordinator().request("cpu", "service", priority=INFERENCE, timeout=60):
                answered.append(default_coordinator().in_use("cpu"))
            time.sleep(0.001)

    service = threading.Thread(target=serve)
    service.start()
    trainer = create_trainer("probe", {**SMALL, "log_interval": 1}, root=tmp_path)
    trainer.train(callback=lambda step, metrics: training.set())
    training.clear()
    service.join(60)
    assert trainer.step == SMALL["total_timesteps"]
    assert answered
    assert set(answered) == {1}, "while the service answers, nobody learns"
    assert default_coordinator().in_use("cpu") == 0
    trainer.close()


def wait_until(condition: object, seconds: float = 10.0) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.001)
