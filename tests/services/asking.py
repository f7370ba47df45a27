"""Requests and services for tests: the shipped HackMatrix policy, and policies on `probe` that misbehave on purpose."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from jimbot.games.contract import game_entry
from jimbot.policies.contract import Decision
from jimbot.policies.portable import load_policy
from jimbot.proto.decisions_pb2 import DecisionBatch
from jimbot.proto.events_pb2 import Choosing, GameState, LearningDecisionRequest, Observation
from jimbot.services.decision import DecisionService, ServedPolicy, ServiceSettings
from jimbot.services.decision.served import golden_states

GAME = "hackmatrix"
SPEC = game_entry(GAME).spec
OBSERVATION, LEGAL = golden_states(SPEC, 64)
PROBE = game_entry("probe").spec
PATIENT_MS = 9000
"""What a test waits for an answer unless deadlines are its subject: a busy machine is no fault of the service."""


def observation(rows: Any = 1, spec: Any = SPEC, values: np.ndarray = OBSERVATION, legal: np.ndarray = LEGAL) -> Any:
    values, legal = np.atleast_2d(values[rows]), np.atleast_2d(legal[rows])
    packed = np.packbits(legal, axis=1, bitorder="little").tobytes()
    return Observation(values=values.astype("<f4").tobytes(), legal_mask=packed, rows=len(values))


def request(row: int = 1, **rest: Any) -> LearningDecisionRequest:
    state = GameState(observation=observation(row))
    return LearningDecisionRequest(game=GAME, game_state=state, **{"time_limit_ms": PATIENT_MS, **rest})


def batch(rows: slice = slice(0, 64), **rest: Any) -> DecisionBatch:
    return DecisionBatch(game=GAME, observations=observation(rows), **rest)


def sampling(seed: int = 0, temperature: float = 0.0) -> Choosing:
    return Choosing(sample=True, seed=seed, temperature=temperature)


def probe_request(number: int = 0, **rest: Any) -> LearningDecisionRequest:
    """Every number is another state."""
    values, legal = np.zeros((1, PROBE.observation.size), np.float32), np.zeros((1, PROBE.actions.size), bool)
    values[0, 0] = number
    legal[0, 4:8] = True
    state = GameState(observation=observation(0, PROBE, values, legal))
    return LearningDecisionRequest(game="probe", game_state=state, **{"time_limit_ms": PATIENT_MS, **rest})


class Scripted:
    """A policy whose every answer is under the test's control. Each row's answer is the best of `wish`."""

    def __init__(self, name: str = "scripted", seconds: float = 0.0) -> None:
        self.name, self.seconds = name, seconds
        self.digest = name.ljust(16, "0")
        self.wish = 5
        self.broken = False
        self.gate = threading.Event()
        self.gate.set()
        self.batches: list[int] = []
        self.poison: float | None = None  # observations that begin so make the whole call fail
        self.not_numbers: float | None = None  # and so make the answer not a number

    def act(self, observation: Any, legal_mask: Any, deterministic: bool = True, key: Any = None) -> Decision:
        self.gate.wait(10)
        time.sleep(self.seconds)
        self.batches.append(len(legal_mask))
        if self.broken or (self.poison is not None and (observation[:, 0] == self.poison).any()):
            raise RuntimeError("no answer today")
        probabilities = np.where(legal_mask, 1.0, 0.0).astype(np.float32)
        wished = legal_mask[:, self.wish]
        probabilities[wished, self.wish] += 10
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        if self.not_numbers is not None:
            probabilities[observation[:, 0] == self.not_numbers] = np.nan
        return Decision(probabilities.argmax(axis=1), probabilities, np.zeros(len(legal_mask), np.float32))


def serve(policy: Any, name: str = "") -> ServedPolicy:
    return ServedPolicy.make(game_entry("probe"), policy, name=name)


def shipped(name: str = "shipped") -> ServedPolicy:
    return ServedPolicy.make(game_entry(GAME), *load_policy(GAME), name=name)


def service_of(*served: ServedPolicy, **settings: Any) -> DecisionService:
    service = DecisionService(ServiceSettings(**settings))
    for policy in served:
        service.add(policy)
    return service
