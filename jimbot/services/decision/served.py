"""One policy as it is served: who it is, what it takes, and the check it passes before it may answer a request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from jimbot.errors import CheckpointError
from jimbot.games.contract import GameEntry
from jimbot.games.spec import GameSpec
from jimbot.policies.contract import Decision, Policy
from jimbot.proto.events_pb2 import LearningDecisionResponse, PolicyIdentity
from jimbot.runs.manifest import Manifest

GOLDEN_STATES = 16
CLOSE = 1e-4  # probabilities of one state, asked alone and in a batch, differ by less


@dataclass(frozen=True)
class ServedPolicy:
    """A policy, ready to answer."""

    entry: GameEntry
    name: str
    policy: Policy
    version: str = ""
    """Training step; for heuristic players the game's version."""
    hash: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Game options it was trained with."""
    manifest: Manifest | None = None

    @classmethod
    def make(cls, entry: GameEntry, policy: Policy, manifest: Manifest | None = None, name: str = "") -> ServedPolicy:
        spec = entry.spec
        version = str(manifest.step) if manifest else f"v{spec.version}"
        digest = getattr(policy, "digest", "")
        if not digest:
            digest = hashlib.sha256(f"{spec.id} {spec.version} {policy.name}".encode()).hexdigest()
        options = dict(manifest.game_options) if manifest else dict(getattr(policy, "options", {}))
        return cls(entry, name or policy.name, policy, version, digest[:16], options, manifest)

    @cached_property
    def spec(self) -> GameSpec:
        return self.entry.spec.under(self.options)

    @cached_property
    def identity(self) -> PolicyIdentity:
        return PolicyIdentity(
            game=self.spec.id, name=self.name, version=self.version, hash=self.hash, game_version=self.spec.version
        )

    @cached_property
    def signature(self) -> bytes:
        """What every answer of the policy says, as bytes of the message."""
        said = LearningDecisionResponse(policy=self.identity, strategy_name=f"{self.spec.id}/{self.name}")
        return said.SerializeToString()


def golden_states(spec: GameSpec, count: int = GOLDEN_STATES) -> tuple[np.ndarray, np.ndarray]:
    """Made-up states that exercise a policy: every kind of field within its bounds, one legal action up to all of
    them. Always the same, so that what a policy answered yesterday can be compared."""
    rng = np.random.default_rng(15)
    observation = rng.random((count, spec.observation.size), dtype=np.float32)
    for part in spec.observation.fields:
        if part.ids:
            shape = (count, part.size)
            observation[:, spec.observation.span(part.name)] = rng.integers(0, part.ids, shape)
    observation[0] = 0
    legal = rng.random((count, spec.actions.size)) < np.linspace(0.01, 1, count)[:, None]
    legal[np.arange(count), rng.integers(0, spec.actions.size, count)] = True
    legal[0] = False
    legal[0, -1] = True
    legal[1] = True
    return observation, legal


def check(served: ServedPolicy, states: tuple[np.ndarray, np.ndarray] | None = None) -> None:
    """Warms a policy up and refuses it where its answers on golden states are not numbers, not legal, or depend on the
    company they are computed in."""
    observation, legal = golden_states(served.spec) if states is None else states
    together = served.policy.act(observation, legal)
    problem, _ = faults_of(together, legal)
    if problem.any():
        raise CheckpointError(
            f"Policy '{served.name}' of game '{served.spec.id}' gives answers that are not numbers or not legal for "
            f"{int(problem.sum())} of {len(legal)} golden states; it is damaged. Use another checkpoint."
        )
    for row in range(min(4, len(legal))):
        alone = served.policy.act(observation[row : row + 1], legal[row : row + 1])
        if not np.allclose(alone.probabilities[0], together.probabilities[row], atol=CLOSE):
            raise CheckpointError(
                f"Policy '{served.name}' of game '{served.spec.id}' answers golden state {row} otherwise in a batch "
                "than alone; it cannot be served in batches."
            )


def faults_of(decision: Decision, legal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N,) bool twice: rows whose answer must not be used, and those in which an illegal action may be chosen."""
    probabilities, values = decision.probabilities, decision.values
    illegal = np.where(legal, np.float32(0), probabilities).max(axis=1) > 0
    illegal |= ~legal[np.arange(len(legal)), decision.actions]
    sound = np.isfinite(values) & (probabilities.min(axis=1) >= 0)
    sound &= np.abs(probabilities.sum(axis=1) - 1) < 1e-3  # also false where it is not a number
    return ~sound | illegal, illegal
