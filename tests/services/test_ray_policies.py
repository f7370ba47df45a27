"""Policies computed by Ray actors: the same answers, through the death of an actor, over the bus."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jimbot.clients import EventBusClient
from jimbot.errors import UsageError
from jimbot.policies.heuristics import RandomPolicy
from jimbot.policies.portable import load_policy
from jimbot.services.orchestrator import RayLearningOrchestrator
from jimbot.services.ray_policies import RayPolicy, on_ray
from tests.services.asking import LEGAL, OBSERVATION, request, service_of, shipped
from tests.services.buses import nats_program

pytest.importorskip("ray")
pytestmark = pytest.mark.long


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[Any]:
    import ray

    ray.init("local", num_cpus=2, object_store_memory=150 * 2**20, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_actors_answer_as_the_policy_does_and_outlive_one_of_them(cluster: Any) -> None:
    own = load_policy("hackmatrix")[0]
    policy = RayPolicy(own, 2)
    for rows in (1, 33, 64):
        there, here = policy.act(OBSERVATION[:rows], LEGAL[:rows]), own.act(OBSERVATION[:rows], LEGAL[:rows])
        assert np.array_equal(there.actions, here.actions)
        assert np.allclose(there.probabilities, here.probabilities, atol=1e-5)
    cluster.kill(policy._actors[0], no_restart=False)
    wanted = own.act(OBSERVATION[:8], LEGAL[:8]).actions
    for _ in range(4):  # both are asked
        assert np.array_equal(policy.act(OBSERVATION[:8], LEGAL[:8]).actions, wanted)


def test_a_service_on_actors_answers_and_falls_back_where_ray_is_gone(cluster: Any) -> None:
    service = service_of(on_ray(shipped(), 1), fallback="heuristic")
    plain = service_of(shipped())
    assert service.decide(request(3)).selected_action == plain.decide(request(3)).selected_action
    policy: Any = service.find("hackmatrix", "").served.policy
    cluster.kill(policy._actors[0], no_restart=True)
    answer = service.decide(request(4))
    assert answer.fallback_reason
    assert answer.selected_action.label
    service.close()
    plain.close()


@pytest.mark.skipif(nats_program() is None, reason="nats-server is not installed")
def test_the_orchestrator_decides_on_ray(tmp_path: Path) -> None:
    async def work() -> Any:
        bus = EventBusClient(f"embedded:{tmp_path / 'bus'}")
        orchestrator = RayLearningOrchestrator(bus, actors=1)
        async with orchestrator:
            answer = await bus.publish_and_wait(request(1), 20)
        await bus.close()
        orchestrator.service.close()
        return answer

    answer = asyncio.run(work())
    assert answer.policy.game == "hackmatrix"
    assert not answer.fallback_reason


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(UsageError, match="--ray is for runs and checkpoints"):
        RayPolicy(RandomPolicy(), 1)
