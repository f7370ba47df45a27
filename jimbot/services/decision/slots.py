"""Which policies a service has, by game and name, and what is tried out beside each of them.

A canary answers a share of the games for real and is withdrawn by itself when it errs; a shadow is asked everything,
and its answers are only counted.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

import jimbot
from jimbot.errors import SettingsError, UnknownNameError, UsageError
from jimbot.proto import decisions_pb2 as wire
from jimbot.runs.resources import ResourceCoordinator, default_coordinator
from jimbot.services.decision.batcher import Batcher, Item
from jimbot.services.decision.metrics import ServiceMetrics
from jimbot.services.decision.refusal import Code, RefusedError
from jimbot.services.decision.served import ServedPolicy, check
from jimbot.services.decision.states import StateReader, state_forms
from jimbot.services.settings import ServiceSettings

OTHER = "other"  # label of games that are not served


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


@dataclass
class Slot:
    """Where the requests for one policy go."""

    batcher: Batcher
    reader: StateReader
    metrics: ServiceMetrics
    canary: Canary | None = None
    canary_batcher: Batcher | None = None
    shadow: Batcher | None = None

    @property
    def served(self) -> ServedPolicy:
        return self.batcher.served

    def batchers(self, session: str) -> tuple[Batcher, ...]:
        """Which to ask about this game while a canary is on trial, in this order until one answers."""
        if self.canary is not None and self.canary_batcher is not None and self.canary.takes(session):
            return self.canary_batcher, self.batcher
        return (self.batcher,)

    def judge(self, batcher: Batcher, item: Item) -> bool:
        """Keeps the books of a trial; whether the proven policy shall answer in the canary's place."""
        canary = self.canary
        if canary is None:
            return False
        if batcher is self.batcher:
            if item.decision is not None:
                canary.note_other(item.inference_ms)
            return False
        failed = item.decision is None
        if item.error is not None and item.error.code == Code.INVALID_ARGUMENT:  # no policy could have answered that
            return False
        if canary.note(failed, item.inference_ms, item.illegal):
            self.metrics.count(self.metrics.steps_back, self.served.spec.id)
        return failed

    def show_shadow(self, answered: Item, actions: list[int], choose: Callable[[np.ndarray], list[int]]) -> None:
        """Asks the shadow what was just computed, and counts how often it would have said the same."""
        if self.shadow is None:
            return
        game, metrics, rows = self.served.spec.id, self.metrics, len(actions)
        item = Item(answered.observation, answered.legal, answered.deadline)

        def compare(_: object) -> None:
            if item.decision is None:
                metrics.count(metrics.shadows, game, "failed", amount=rows)
                return
            others = choose(item.decision.probabilities)
            same = sum(other == action for other, action in zip(others, actions, strict=True))
            for result, amount in (("same", same), ("other", rows - same)):
                if amount:
                    metrics.count(metrics.shadows, game, result, amount=amount)

        item.future = Future()
        item.future.add_done_callback(compare)
        if not self.shadow.send(item):
            metrics.count(metrics.shadows, game, "dropped", amount=rows)


class Slots:
    """Several policies at once. The first of a game answers requests that name none."""

    def __init__(
        self, settings: ServiceSettings = ServiceSettings(), coordinator: ResourceCoordinator | None = None
    ) -> None:
        self.settings = settings
        self.metrics = ServiceMetrics()
        self._coordinator = coordinator or default_coordinator()
        self._slots: dict[str, dict[str, Slot]] = {}
        self._changing = threading.Lock()
        self.loading = False
        """While policies are still being added, one that is missing is not unknown but not there yet."""
        self.metrics.gauges["queue_depth"] = self._depths

    def add(self, served: ServedPolicy) -> None:
        """Warms a policy and what reads its states, checks it on golden states and opens it to requests."""
        check(served)
        reader = StateReader(served.entry, served.options)
        reader.warm()
        with self._changing:
            of_game = self._slots.setdefault(served.spec.id, {})
            if served.name in of_game:
                raise UsageError(
                    f"Two policies of game '{served.spec.id}' are called '{served.name}'; give one another name."
                )
            of_game[served.name] = Slot(self._batcher(served), reader, self.metrics)

    def replace(self, served: ServedPolicy) -> ServedPolicy:
        """The policy of this game and name is exchanged between two batches, after the new one was checked; the old
        one goes on if it fails. Returns the old one."""
        game = served.spec.id
        slot = self.find(game, served.name)
        try:
            check(served)
        except Exception:
            self.metrics.count(self.metrics.reloads, game, "refused")
            raise
        old = slot.batcher.swap(served)
        self.metrics.count(self.metrics.reloads, game, "swapped")
        return old

    def try_out(self, served: ServedPolicy, name: str, rule: CanaryRule = CanaryRule()) -> Canary:
        """`served` answers a share of the games in place of policy `name`, until it errs."""
        check(served)
        slot = self.find(served.spec.id, name)
        slot.canary_batcher, slot.canary = self._batcher(served), Canary(rule)
        return slot.canary

    def shadow(self, served: ServedPolicy, name: str) -> None:
        """`served` is asked whatever policy `name` is asked; its answers are counted, never sent."""
        check(served)
        self.find(served.spec.id, name).shadow = self._batcher(served)

    def policies(self, game: str = "") -> wire.PoliciesResponse:
        """What is served, with the state of every trial."""
        answer = wire.PoliciesResponse(server_version=jimbot.__version__)
        for of_game, slots in self._slots.items():
            for slot in slots.values() if game in ("", of_game) else ():
                answer.policies.append(_description(slot.served, "serving"))
                if slot.canary is not None and slot.canary_batcher is not None:
                    status = "withdrawn" if slot.canary.withdrawn else "canary"
                    share = 0.0 if slot.canary.withdrawn else slot.canary.rule.share
                    answer.policies.append(_description(slot.canary_batcher.served, status, share))
                if slot.shadow is not None:
                    answer.policies.append(_description(slot.shadow.served, "shadow"))
        return answer

    def find(self, game: str, name: str = "", version: int = 0) -> Slot:
        """Where requests for a policy go; without a name for the first of the game."""
        slots = self._slots.get(game)
        if self.loading and (not slots or (name and name not in slots)):
            raise RefusedError(Code.UNAVAILABLE, "The service is still loading its policies; ask again soon.", 250)
        if not slots:
            raise RefusedError(Code.NOT_FOUND, str(UnknownNameError("game", game[:80], self._slots)))
        if name and name not in slots:
            raise RefusedError(Code.NOT_FOUND, str(UnknownNameError(f"policy of game {game}", name[:80], slots)))
        slot = slots[name] if name else next(iter(slots.values()))
        known = slot.batcher.served.spec.version
        if version not in (0, known):
            raise RefusedError(
                Code.FAILED_PRECONDITION,
                f"The request is for version {version} of game '{game}'; this service has version {known}. "
                "Use a policy of that version, or send version 0.",
            )
        return slot

    def only_game(self) -> str:
        """The game of requests that name none, where there is only one."""
        return next(iter(self._slots)) if len(self._slots) == 1 else ""

    def close(self) -> None:
        """Finishes what was taken and stops."""
        for slots in self._slots.values():
            for slot in slots.values():
                for batcher in (slot.batcher, slot.canary_batcher, slot.shadow):
                    if batcher is not None:
                        batcher.close()
                slot.reader.close()

    def _depths(self) -> dict[tuple[str, ...], float]:
        return {
            (game, name): float(len(slot.batcher.queue))
            for game, slots in self._slots.items()
            for name, slot in slots.items()
        }

    def _batcher(self, served: ServedPolicy) -> Batcher:
        return Batcher(served, self.settings, self.metrics, self._coordinator)


def _description(served: ServedPolicy, status: str, share: float = 0.0) -> wire.PolicyDescription:
    spec = served.spec
    return wire.PolicyDescription(
        identity=served.identity,
        status=status,
        observation_size=spec.observation.size,
        num_actions=spec.actions.size,
        observation_fingerprint=spec.observation.fingerprint,
        action_fingerprint=spec.actions.fingerprint,
        canary_share=share,
        state_forms=state_forms(served.entry),
        options_json=json.dumps(dict(served.options), sort_keys=True, default=str),
    )
