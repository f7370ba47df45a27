"""A new policy on trial. A canary answers a share of the games for real and is withdrawn by itself when it errs; a
shadow is asked everything, and its answers are only counted and logged.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass

from jimbot.errors import SettingsError


@dataclass(frozen=True)
class CanaryRule:
    """How much a canary gets, and what it may do wrong."""

    share: float = 0.1
    """Of the games (session ids), which stay with it or without it from their first request to their last."""
    errors: float = 0.02
    """Share of its requests that may fail before it is withdrawn; an illegal move is one too many."""
    after: int = 50
    """Requests before the share of errors is judged."""
    slower: float = 10.0
    """Withdrawn when its inference takes so many times as long as that of the policy it shall replace."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise SettingsError(f"The share of a canary is {self.share}; expected above 0, up to 1.")


class Canary:
    """The trial of one policy."""

    def __init__(self, rule: CanaryRule) -> None:
        self.rule = rule
        self.withdrawn = ""
        """Why; empty while it goes on."""
        self._asked = self._failed = 0
        self._own_ms = self._other_ms = 0.0
        self._lock = threading.Lock()

    def takes(self, session: str) -> bool:
        """Whether this game is the canary's."""
        if self.withdrawn:
            return False
        number = int.from_bytes(hashlib.blake2b(session.encode(), digest_size=8).digest(), "big")
        return number / 2**64 < self.rule.share

    def note(self, failed: bool, inference_ms: float, illegal: bool = False) -> bool:
        """One answer of the canary; whether this was the one that ended the trial."""
        with self._lock:
            if self.withdrawn:
                return False
            self._asked += 1
            self._failed += failed
            if not failed:
                self._own_ms += 0.1 * (inference_ms - self._own_ms) if self._own_ms else inference_ms
            self.withdrawn = self._verdict(illegal)
            return bool(self.withdrawn)

    def note_other(self, inference_ms: float) -> None:
        """One answer of the policy it shall replace, for comparison."""
        self._other_ms += 0.1 * (inference_ms - self._other_ms) if self._other_ms else inference_ms

    def _verdict(self, illegal: bool) -> str:
        if illegal:
            return "it gave an illegal move"
        if self._asked < self.rule.after:
            return ""
        if self._failed > self.rule.errors * self._asked:
            return f"{self._failed} of its {self._asked} answers failed"
        if self._other_ms and self._own_ms > self.rule.slower * self._other_ms:
            return f"its inference takes {self._own_ms:.2f} ms instead of {self._other_ms:.2f} ms"
        return ""
