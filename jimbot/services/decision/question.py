"""What passes through the service: a request that was read, how its action is chosen, what the log gets in the end.

A request draws by its seed alone, never by what else is in its batch: the same seed, state and policy give the same
action, alone or in company (up to the last bits of the network's arithmetic, about 1e-6 in a probability).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jimbot.games.hooks.programs import Sight
from jimbot.games.spec import GameSpec
from jimbot.knowledge.records import Hints
from jimbot.proto import events_pb2 as messages
from jimbot.services.decision.batcher import Batcher
from jimbot.services.decision.refusal import RefusedError, invalid
from jimbot.services.decision.slots import Slot

Request = messages.LearningDecisionRequest
Answer = messages.LearningDecisionResponse


COLDEST, HOTTEST = 1e-3, 1e3


@dataclass(frozen=True)
class Choosing:
    """How an action is chosen. `seed` 0: the request's id is the seed."""

    sample: bool = False
    temperature: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not COLDEST <= self.temperature <= HOTTEST:  # also refuses what is not a number
            raise invalid(f"temperature is {self.temperature}; expected {COLDEST} to {HOTTEST:g}, or 0 for 1.")

    @property
    def key(self) -> bytes:
        return repr((self.sample, self.temperature, self.seed)).encode() if self.sample else b""


BEST = Choosing()


def read_choosing(message: messages.Choosing) -> Choosing:
    """As a request says it; temperature 0 means 1."""
    if not (message.sample or message.temperature or message.seed):
        return BEST
    return Choosing(message.sample, message.temperature or 1.0, message.seed)


def choose(probabilities: np.ndarray, choosing: Choosing, identity: str) -> int:
    """One action of (A,) probabilities that are 0 where illegal."""
    if not choosing.sample:
        return int(probabilities.argmax())
    weights = np.asarray(probabilities, np.float64)
    if choosing.temperature != 1.0:
        with np.errstate(divide="ignore"):
            logits = np.log(weights) / choosing.temperature
        weights = np.exp(logits - logits.max())
    running = np.cumsum(weights)
    drawn = int(np.searchsorted(running, uniform(choosing.seed, identity) * running[-1], side="left"))
    drawn = min(drawn, len(weights) - 1)
    return drawn if probabilities[drawn] > 0 else int(probabilities.argmax())


def choose_rows(probabilities: np.ndarray, choosing: Choosing, identity: str) -> list[int]:
    """One action for each row of (n, A); each row draws for itself."""
    return [choose(row, choosing, f"{identity} {number}") for number, row in enumerate(probabilities)]


def uniform(seed: int, identity: str) -> float:
    """In (0, 1], the same on every machine."""
    source = f"seed {seed}" if seed else f"id {identity}"
    number = int.from_bytes(hashlib.blake2b(source.encode(), digest_size=8).digest(), "big") >> 11
    return (number + 1) / 2**53


@dataclass(slots=True)
class Question:
    """A request that was read."""

    request: Request
    slot: Slot
    batchers: Sequence[Batcher]  # asked in this order until one answers
    sight: Sight
    legal: np.ndarray  # (A,) bool: legal and available
    choosing: Choosing
    alternatives: int
    deadline: float
    body: bytes  # tells two requests apart
    began: float
    unchecked: GameSpec | None = None
    """What the observation and mask should be, where nobody has looked at them yet."""
    doubted: bool = False
    """A plan or an adviser gave no answer in time: the next time it may, so this answer is not cached."""
    hints: Hints | None = None


@dataclass(frozen=True)
class DecisionRecord:
    """What listeners get of a decision."""

    request: Request
    answer: Answer | None
    refusal: RefusedError | None
    game: str
    """A label: a game that is served, or `other`."""
    total_ms: float
    traceparent: str = ""
    """The caller's W3C trace context, if it sent one."""
    rows: int = 0
    """Of a message with many observations, which has no single action; 0: one decision."""

    @property
    def trace_id(self) -> str:
        return self.traceparent.split("-")[1] if self.traceparent.count("-") == 3 else ""
