"""Served policies computed by Ray actors (`jimbot serve … --ray N`): serving grows with the machines of a cluster.

Queue, deadlines, fallbacks and trials stay with the decision service; what moves is the network. Each actor has the
model itself, so it needs no file of this machine, and large batches are shared out among the actors. One that dies is
started again by Ray; while it is away a batch fails as with any other fault, and the service's fallback answers.

The policies of learner ray are RLlib's: their checkpoints are served like all others. Checkpoints that RLlib itself
wrote are pickles, which nothing here reads.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np

from jimbot.errors import MissingExtraError, UsageError
from jimbot.policies.contract import Decision, Policy
from jimbot.policies.portable import OnnxPolicy
from jimbot.services.decision.served import ServedPolicy

ADDRESS = "RAY_ADDRESS"
"""Ray's own variable: the cluster to join; without it one is started here."""
ROWS = 32  # that are worth another actor
SECONDS = 10.0  # for a batch; far beyond any deadline
START_SECONDS = 120.0


class RayPolicy:
    """A policy behind so many actors."""

    def __init__(self, policy: Policy, actors: int) -> None:
        if not isinstance(policy, OnnxPolicy) or not policy.model:
            raise UsageError(f"Policy '{policy.name}' is no network of one file; --ray is for runs and checkpoints.")
        self._ray = started()
        self.name, self.digest, self.metadata = policy.name, policy.digest, policy.metadata
        actor = self._ray.remote(max_restarts=-1, max_task_retries=1, num_cpus=0)(_Computing)
        self._model = self._ray.put(policy.model)  # kept: an actor that is started again asks for it again
        self._actors = [actor.remote(self._model, policy.name) for _ in range(actors)]
        self._ray.get([one.ready.remote() for one in self._actors], timeout=START_SECONDS)
        self._next = 0

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
    ) -> Decision:
        many = min(len(self._actors), -(-len(legal_mask) // ROWS))
        asked = []
        for rows in np.array_split(np.arange(len(legal_mask)), max(1, many)):
            actor, self._next = self._actors[self._next % len(self._actors)], self._next + 1
            seed = None if deterministic else int((key or np.random.default_rng()).integers(2**63))
            asked.append(actor.act.remote(observation[rows], legal_mask[rows], seed))
        found = self._ray.get(asked, timeout=SECONDS)
        return Decision(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


class _Computing:
    """What an actor is."""

    def __init__(self, model: bytes, name: str) -> None:
        self._policy = OnnxPolicy.from_bytes(model, name)

    def ready(self) -> bool:
        return True

    def act(self, observation: np.ndarray, legal_mask: np.ndarray, seed: int | None) -> tuple[np.ndarray, ...]:
        key = None if seed is None else np.random.default_rng(seed)
        return tuple(self._policy.act(observation, legal_mask, seed is None, key))


def started() -> Any:
    """Ray, connected: to the cluster that RAY_ADDRESS names, else to one of this process."""
    try:
        import ray
    except ModuleNotFoundError as problem:
        raise MissingExtraError("Ray, which --ray needs,", "ray") from problem
    if not ray.is_initialized():
        from jimbot.training.ray.cluster import join, start_alone

        address = os.environ.get(ADDRESS)
        start_alone() if address is None else join(address)
    return ray


def on_ray(served: ServedPolicy, actors: int) -> ServedPolicy:
    """The same policy, computed by actors; with none as it is."""
    return dataclasses.replace(served, policy=RayPolicy(served.policy, actors)) if actors else served
