"""The orchestration plan's example of resources, its split of memory, and its promises that are numbers here."""

from __future__ import annotations

import asyncio

import pytest

from jimbot.runs.resources import ResourceCoordinator, ResourceError, ResourceType
from jimbot.training.memory import GIGABYTE, WARNING_SHARE, MemoryBudget


class Training:
    """As the plan writes it."""

    def __init__(self, resource_coordinator: ResourceCoordinator) -> None:
        self.resource_coordinator = resource_coordinator
        self.steps = 0

    async def run_training_step(self) -> None:
        assert self.resource_coordinator.in_use("gpu") == 1
        self.steps += 1

    async def allocate_training_resources(self) -> None:
        gpu_grant = await self.resource_coordinator.request(
            {"type": ResourceType.GPU_COMPUTE, "amount": 100, "component": "ray_training"}  # 100 ms
        )
        if gpu_grant.approved:
            with gpu_grant:
                await self.run_training_step()


def test_a_slice_of_the_gpu_is_asked_for_used_and_given_back() -> None:
    training = Training(ResourceCoordinator({"gpu": 1}))
    asyncio.run(training.allocate_training_resources())
    assert training.steps == 1
    assert training.resource_coordinator.in_use("gpu") == 0


def test_whoever_is_not_approved_does_not_train() -> None:
    training = Training(ResourceCoordinator({"gpu": 1}))
    wish = {"type": ResourceType.GPU_COMPUTE, "amount": 100, "component": "ray_training", "timeout": 0.01}

    async def refused() -> None:
        with training.resource_coordinator.request("gpu", owner="decisions", seconds=60):
            answer = await training.resource_coordinator.request(wish)
            assert not answer.approved
            with pytest.raises(ResourceError, match="not approved"), answer:
                pass

    asyncio.run(refused())


def test_8_gb_are_shared_out_as_planned_with_a_warning_at_80_percent() -> None:
    budget = MemoryBudget()
    parts = {name: budget.part(name) / GIGABYTE for name in ("object_store", "workers", "checkpoints", "buffer")}
    assert parts == {"object_store": 2.5, "workers": 3.5, "checkpoints": 1.0, "buffer": 1.0}
    assert (budget.limit_gb, WARNING_SHARE) == (8.0, 0.8)
