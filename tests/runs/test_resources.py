"""The resource coordinator under contention: one holder at a time, order, expiry, priorities, no leaks."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from jimbot.errors import UnknownNameError, UsageError
from jimbot.runs.resources import (
    INFERENCE,
    TRAINING,
    ResourceCoordinator,
    ResourceError,
    ResourceType,
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


class Trainer:
    """The component of the orchestration plan, with its method as written there."""

    def __init__(self, resource_coordinator: ResourceCoordinator) -> None:
        self.resource_coordinator = resource_coordinator
        self.steps: list[int] = []

    async def allocate_training_resources(self) -> Any:
        gpu_grant = await self.resource_coordinator.request({
            'type': ResourceType.GPU_COMPUTE,
            'amount': 100,  # 100ms time slice
            'component': 'ray_training'
        })  # fmt: skip

        if gpu_grant.approved:
            with gpu_grant:
                await self.run_training_step()
        return gpu_grant

    async def run_training_step(self) -> None:
        self.steps.append(self.resource_coordinator.in_use("gpu"))


def test_a_component_is_granted_a_slice_as_the_plan_writes_it() -> None:
    trainer = Trainer(ResourceCoordinator({"cpu": 1, "gpu": 1}))
    grant = asyncio.run(trainer.allocate_training_resources())
    assert trainer.steps == [1], "the step ran while the GPU was held"
    assert (grant.resource, grant.owner, grant.seconds) == ("gpu", "ray_training", 0.1)
    assert trainer.resource_coordinator.in_use("gpu") == 0


def test_many_components_of_one_event_loop_take_turns_with_threads() -> None:
    coordinator, holders, order = ResourceCoordinator({"cpu": 1}), [0], []

    async def work(name: str, priority: int) -> None:
        wish = {"type": ResourceType.CPU_COMPUTE, "amount": 60_000, "component": name, "priority": priority}
        grant = await coordinator.request(wish)
        assert grant.approved
        with grant:
            holders[0] += 1
            assert holders[0] == 1
            await asyncio.sleep(0)
            holders[0] -= 1
            order.append(name)

    async def everybody() -> None:
        held = coordinator.request("cpu", "a thread")
        waiting = [asyncio.create_task(work("training", TRAINING)), asyncio.create_task(work("service", INFERENCE))]
        while not held.wanted_back:  # the loop goes on while they wait
            await asyncio.sleep(0)
        given_up = asyncio.create_task(work("given up", INFERENCE))
        await asyncio.sleep(0)
        given_up.cancel()
        threading.Thread(target=held.release).start()
        await asyncio.gather(*waiting)

    asyncio.run(everybody())
    assert order == ["service", "training"]
    assert coordinator.in_use("cpu") == 0
    assert not coordinator._waiting["cpu"]


def test_a_request_that_is_not_approved_says_why() -> None:
    coordinator = ResourceCoordinator({"cpu": 1, "memory": 100})

    def ask(**changes: Any) -> Any:
        wish = {"type": ResourceType.GPU_COMPUTE, "amount": 100, "component": "ray_training", "timeout": 0.01}
        return asyncio.run(coordinator.request(wish | changes))

    with coordinator.request("cpu", "somebody"):
        refusal = ask()
    assert not refusal.approved
    assert "ray_training waited 0.01 s for resource 'cpu', which somebody holds" in refusal.reason
    with pytest.raises(ResourceError, match="was not approved"), refusal:
        raise AssertionError("nothing was granted")
    assert "asked for 101 of resource 'memory', which has 100" in ask(type=ResourceType.MEMORY, amount=101).reason
    assert ask(type=ResourceType.MEMORY, amount=100).approved
    with pytest.raises(UnknownNameError, match="Unknown resource type 'gpu_compute'"):
        ask(type="gpu_compute")
    with pytest.raises(UnknownNameError, match="Did you mean 'component'"):
        asyncio.run(coordinator.request({"componant": "x"}))
    with pytest.raises(UsageError, match="has no 'amount'"):
        asyncio.run(coordinator.request({"type": "gpu", "component": "x"}))
    with pytest.raises(UsageError, match="amount 0; expected a number above 0"):
        ask(amount=0)


def wait_until(condition: object, seconds: float = 10.0) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.001)
