"""A legal move where the served policy has none to give: better than none, and always marked as what it is."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np

from jimbot.policies.contract import Decision
from jimbot.policies.scripted import scripted_policy
from jimbot.proto import events_pb2 as messages
from jimbot.services.decision.refusal import Code, RefusedError
from jimbot.services.decision.served import ServedPolicy, fault_of
from jimbot.services.decision.settings import FALLBACKS

HEURISTIC = "heuristic"
_REASONS = {
    Code.RESOURCE_EXHAUSTED: messages.FALLBACK_OVERLOAD,
    Code.DEADLINE_EXCEEDED: messages.FALLBACK_DEADLINE,
    Code.INTERNAL: messages.FALLBACK_FAULT,
    Code.UNAVAILABLE: messages.FALLBACK_NO_POLICY,
}
_log = logging.getLogger("jimbot.services")


class Given(NamedTuple):
    decision: Decision
    who: str
    """What answered: policy, heuristic, first."""
    reason: messages.Fallback


class Fallbacks:
    """The chain behind one setting; see `settings.FALLBACKS`."""

    def __init__(self, setting: str) -> None:
        self.chain = FALLBACKS[FALLBACKS.index(setting) :] if setting != "none" else ()
        self._players: dict[str, ServedPolicy | None] = {}

    def answer(
        self, served: ServedPolicy, observation: np.ndarray, legal: np.ndarray, refusal: RefusedError
    ) -> Given | None:
        """A legal move for (n, D) and (n, A), or None where the refusal stands."""
        reason = _REASONS.get(refusal.code)
        if reason is None:
            return None
        for who in self.chain:
            # A full queue or a passed deadline is no time to ask the policy again.
            if who == "policy" and reason != messages.FALLBACK_FAULT:
                continue
            decision = self._ask(who, served, observation, legal)
            if decision is not None:
                return Given(decision, who, reason)
        return None

    def _ask(self, who: str, served: ServedPolicy, observation: np.ndarray, legal: np.ndarray) -> Decision | None:
        if who == "first":
            actions = legal.argmax(axis=1)
            probabilities = np.zeros(legal.shape, np.float32)
            probabilities[np.arange(len(legal)), actions] = 1
            return Decision(actions, probabilities, np.zeros(len(legal), np.float32))
        asked = served if who == "policy" else self._scripted(served)
        if asked is None:
            return None
        try:
            decision = asked.ask(observation, legal)
        except Exception as problem:  # whatever it raises, the next in the chain is asked
            _log.warning("The fallback '%s' of game '%s' failed too: %s", who, served.spec.id, problem)
            return None
        return None if fault_of(decision, legal).any() else decision

    def _scripted(self, served: ServedPolicy) -> ServedPolicy | None:
        game = served.spec.id
        if game not in self._players:
            known = HEURISTIC in served.entry.scripted
            player = scripted_policy(HEURISTIC, game) if known else None
            self._players[game] = ServedPolicy.make(served.entry, player) if player is not None else None
        return self._players[game]
