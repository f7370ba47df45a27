"""What advice came to, by outcome. The outcomes are a fixed list, so that a label is never something a caller typed."""

from __future__ import annotations

import threading
from collections import Counter

ANSWERED, CACHED = "answered", "cached"
OUTCOMES = {
    ANSWERED: "One legal move, with a reason",
    CACHED: "The same state had been asked before",
    "no_key": "There is no API key",
    "no_words": "The request does not tell its state in words",
    "busy": "As many questions as allowed were open",
    "budget": "A limit would have been passed",
    "ledger": "The books could not be used",
    "resting": "The service failed again and again, or asked for a pause; nobody was asked",
    "too_late": "The time for the question was over",
    "timeout": "No answer in time",
    "unreachable": "No connection, or it broke",
    "rate_limited": "The service said: too many requests",
    "server_error": "The service failed or was overloaded",
    "rejected": "The service did not take the request (key, model, parameters)",
    "malformed": "An answer that is no message",
    "declined": "The model would not answer",
    "cut_off": "The answer was longer than allowed",
    "no_tool_call": "Words, or another tool, instead of the call asked for",
    "several_calls": "More than one call",
    "bad_call": "A call without one move named as text",
    "unknown_move": "A move there is not",
    "illegal_move": "A move that is not legal now",
    "ambiguous_move": "Words that fit several moves",
    "no_plan": "The planner found nothing better, or cannot look ahead here",
    "fault": "The adviser itself failed",
}
"""Every way a question can end, and what it means."""


class AdviceMetrics:
    """Plain counters, shared by threads."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.retries = 0
        self.decisions = 0
        self.asked = 0
        self.followed = 0
        """Decisions taken as advised, later steps of a plan included."""
        self.changed = 0
        """Of those, where the policy would have done something else."""
        self.tokens = 0
        self.nano = 0
        self._lock = threading.Lock()

    def count(self, outcome: str) -> None:
        assert outcome in OUTCOMES
        with self._lock:
            self.outcomes[outcome] += 1

    def add(self, **amounts: int) -> None:
        with self._lock:
            for name, amount in amounts.items():
                setattr(self, name, getattr(self, name) + amount)

    @property
    def dollars(self) -> float:
        return self.nano / 1e9

    def __str__(self) -> str:
        if not self.asked:
            return f"asked about none of {self.decisions:,} decisions"
        refused = self.asked - self.outcomes[ANSWERED] - self.outcomes[CACHED]
        return (
            f"asked about {self.asked:,} of {self.decisions:,} decisions ({self.asked / self.decisions:.1%}), "
            f"{self.followed:,} moves as advised, {self.changed:,} of them changed, {refused:,} without advice; "
            f"{self.tokens:,} tokens, ${self.dollars:.4f}"
        )

    def to_dict(self) -> dict[str, object]:
        return {
            "decisions": self.decisions, "asked": self.asked, "followed": self.followed, "changed": self.changed,
            "retries": self.retries, "tokens": self.tokens, "dollars": self.dollars, "outcomes": dict(self.outcomes),
        }  # fmt: skip
