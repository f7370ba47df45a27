"""Knowledge that acts: a bounded prior over legal moves, for a policy that does not know the graph.

What trials say that a part is worth (`effects.py`), and what the simulator says of it together with what is held, in
one number: the odds of winning with it. Where a shop or a pack offers parts, moves that take one get so many nats more
or less log-probability than the policy gives them, `most` at most and against the average part of its kind; every
other move keeps its own. What is known is read once into tables, so a decision asks nobody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.contract import game_entry
from jimbot.games.hooks.learners import Offers
from jimbot.knowledge.effects import EVERY, Effect, effects_of
from jimbot.knowledge.exploring import strengths
from jimbot.knowledge.records import Graph
from jimbot.knowledge.trials import TIMES
from jimbot.policies.contract import Decision, GameRows, Policy, ask

MOST = 1.0
"""Nats."""
PER_WIN = 8.0
"""Nats for a part that wins every game instead of none; near even chances odds of winning change by 4."""
BESIDE = 0.1
"""Share of games won that a log-score of 1 together with one held joker is taken for: what scores e times as much."""


@dataclass(frozen=True)
class Prior:
    """What every part is worth at each milestone, and beside each other part, in nats."""

    offers: Offers
    alone: np.ndarray  # (milestones of TIMES, parts)
    beside: np.ndarray  # (parts, parts)
    most: float = MOST

    @cached_property
    def digest(self) -> str:
        """Another one where another prior acts."""
        numbers = self.alone.tobytes() + self.beside.tobytes() + repr(self.most).encode()
        return hashlib.sha256(numbers).hexdigest()

    def shifts(self, observation: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """(N, A) nats for every move, 0 for those that take nothing."""
        found = np.zeros(legal.shape, np.float32)
        rows, actions, parts = self.offers.find(observation, legal)
        if len(rows):
            times = np.searchsorted(TIMES, self.offers.milestone(observation[rows]), side="right") - 1
            held = np.zeros((len(observation), self.beside.shape[0]))
            holders, keys = self.offers.held(observation)
            held[holders, keys] = 1.0
            worth = self.alone[np.maximum(times, 0), parts] + (held[rows] * self.beside[parts]).sum(axis=1)
            found[rows, actions] = np.clip(worth, -self.most, self.most)
        return found


class ActingPolicy:
    """A policy whose moves in shops and packs lean to what the graph knows."""

    looks_at_game = True

    def __init__(self, policy: Policy, prior: Prior) -> None:
        self.policy, self.prior = policy, prior
        self.name = f"{policy.name} +graph"
        self.options: Mapping[str, Any] = getattr(policy, "options", {})

    @property
    def digest(self) -> str:
        """Of the policy and of what it knows."""
        return hashlib.sha256(f"{getattr(self.policy, 'digest', '')} {self.prior.digest}".encode()).hexdigest()

    def act(
        self,
        observation: np.ndarray,
        legal_mask: np.ndarray,
        deterministic: bool = True,
        key: np.random.Generator | None = None,
        at: GameRows | None = None,
    ) -> Decision:
        decision = ask(self.policy, observation, legal_mask, deterministic, key, at)
        shifts = self.prior.shifts(observation, legal_mask)
        moved = np.flatnonzero(shifts.any(axis=1))
        if not len(moved):
            return decision
        chances = decision.probabilities.copy()
        chances[moved] *= np.exp(shifts[moved])
        chances[moved] /= chances[moved].sum(axis=1, keepdims=True)
        actions = decision.actions.copy()
        for row in moved:
            if deterministic or key is None:
                actions[row] = int(chances[row].argmax())
            else:
                actions[row] = int(key.choice(chances.shape[1], p=chances[row] / chances[row].sum(dtype=np.float64)))
        return decision._replace(actions=actions, probabilities=chances)


def prior_of(graph: Graph, most: float = MOST) -> Prior:
    """What a graph knows, as a prior for its game."""
    knowledge = game_entry(graph.game).knowledge
    offers = knowledge.offers if knowledge is not None else None
    if offers is None:
        raise UsageError(f"'{graph.game}' does not say which moves take what, so hints cannot act there.")
    keys = offers.keys()
    alone = np.zeros((len(TIMES), len(keys)))
    place = {key: number for number, key in enumerate(keys) if key}
    labels = graph.labels
    for label in sorted(set(labels.values())):
        told = [effect for effect in effects_of(graph.nodes) if labels[effect.part] == label and effect.part in place]
        for effect, worth in _worths(told).items():
            alone[:, place[effect]] = worth
    beside = np.zeros((len(keys), len(keys)))
    found = strengths(graph)
    mean = float(np.mean(list(found.values()))) if found else 0.0
    for (a, b), strength in found.items():
        if a in place and b in place:
            beside[place[a], place[b]] = beside[place[b], place[a]] = BESIDE * (strength - mean)
    return Prior(offers, PER_WIN * alone, PER_WIN * beside, most)


def _worths(found: Iterable[Effect]) -> dict[str, np.ndarray]:
    """part → (milestones,) share of games won beyond the average part of its kind, drawn to it where few games say so:
    first over all milestones, then at each of them around that."""
    chosen = [effect for effect in found if not effect.options] or list(found)
    every = {effect.part: effect for effect in chosen if effect.at == EVERY}
    if not every:
        return {}
    overall = dict(zip(every, _drawn(list(every.values())), strict=True))
    worths = {part: np.full(len(TIMES), value) for part, value in overall.items()}
    for number, time in enumerate(TIMES):
        there = [effect for effect in chosen if effect.at == time and effect.part in every]
        mean = float(np.mean([effect.wins for effect in there])) if there else 0.0
        base = float(np.mean([every[effect.part].wins for effect in there])) if there else 0.0
        around = [replace(one, wins=one.wins - mean - (every[one.part].wins - base)) for one in there]
        for effect, value in zip(there, _drawn(around), strict=True):
            worths[effect.part][number] += value
    return worths


def _drawn(found: Sequence[Effect]) -> np.ndarray:
    """Effects around their mean, drawn to it by what chance would give (empirical Bayes)."""
    if not found:
        return np.zeros(0)
    wins = np.array([effect.wins for effect in found])
    noise = np.array([((effect.wins_high - effect.wins_low) / 3.92) ** 2 for effect in found])
    around = wins - wins.mean()
    spread = max(0.0, float((around**2 - noise).mean()))
    return around * spread / (spread + noise) if spread > 0 else np.zeros(len(found))
