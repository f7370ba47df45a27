"""From probabilities to one action: the most likely, or drawn with a temperature and a seed of the request's own.

A request's luck comes from its seed alone, never from what else is in its batch: the same seed, state and policy give
the same action, alone or in company (up to the last bits of the network's arithmetic, about 1e-6 in a probability).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from jimbot.proto import events_pb2 as messages
from jimbot.services.decision.refusal import invalid

COLDEST, HOTTEST = 1e-3, 1e3


@dataclass(frozen=True)
class Choosing:
    """How an action is chosen. `seed` 0: luck from the request's id."""

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
    drawn = int(np.searchsorted(running, luck(choosing.seed, identity) * running[-1], side="left"))
    drawn = min(drawn, len(weights) - 1)
    return drawn if probabilities[drawn] > 0 else int(probabilities.argmax())


def choose_rows(probabilities: np.ndarray, choosing: Choosing, identity: str) -> list[int]:
    """One action for each row of (n, A); a row's luck is its own."""
    return [choose(row, choosing, f"{identity} {number}") for number, row in enumerate(probabilities)]


def luck(seed: int, identity: str) -> float:
    """In (0, 1], the same on every machine."""
    source = f"seed {seed}" if seed else f"id {identity}"
    number = int.from_bytes(hashlib.blake2b(source.encode(), digest_size=8).digest(), "big") >> 11
    return (number + 1) / 2**53
