"""What can be set about the decision service."""

from __future__ import annotations

from dataclasses import dataclass

from jimbot.errors import SettingsError

FALLBACKS = ("none", "policy", "heuristic", "first")
"""What answers where the served policy cannot: nobody; the policy asked by itself, without batch or extras; the game's
heuristic player; the first legal action. Each also tries those behind it."""


@dataclass(frozen=True)
class ServiceSettings:
    """Limits and habits; times in milliseconds unless their name says seconds."""

    window_ms: float = 0.0
    """How long a request may wait for others to share its inference. 0: it goes at once, together with whatever came
    while the last batch was computed."""
    batch_size: int = 64
    """Requests answered by one inference at most."""
    queue_size: int = 256
    """Requests that may wait for one policy; more are refused at once."""
    time_limit_ms: int = 1000
    """Of a request that names none."""
    time_limit_cap_ms: int = 10_000
    """Of any request."""
    fallback: str = "none"
    cache_size: int = 4096
    """Recent decisions kept by state and policy; 0: none."""
    idempotency_seconds: float = 60.0
    """How long an answer is given again to the same request id."""
    idempotency_size: int = 65_536
    """Request ids remembered at most; the oldest go first."""
    alternatives: int = 3
    """Next best actions named where a request does not say how many."""
    rows_per_message: int = 4096
    """Observations one message of a stream may carry."""
    device_patience_ms: float = 20.0
    """How long inference waits for training of the same process to give way before it computes beside it."""

    def __post_init__(self) -> None:
        if self.fallback not in FALLBACKS:
            raise SettingsError(f"fallback is '{self.fallback}'; expected one of {', '.join(FALLBACKS)}.")
        least = {"window_ms": 0, "batch_size": 1, "queue_size": 1, "time_limit_ms": 1, "cache_size": 0,
                 "idempotency_seconds": 0, "idempotency_size": 1, "rows_per_message": 1, "alternatives": 0}  # fmt: skip
        for name, minimum in least.items():
            value = getattr(self, name)
            if not minimum <= value < float("inf"):
                raise SettingsError(f"{name} is {value}; expected {minimum} or more.")
        if self.time_limit_cap_ms < self.time_limit_ms:
            raise SettingsError(
                f"time_limit_cap_ms is {self.time_limit_cap_ms}, below time_limit_ms {self.time_limit_ms}; raise it."
            )
