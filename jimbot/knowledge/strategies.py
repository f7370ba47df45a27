"""Runs sorted into strategies: which hand they play, which jokers carry them, how they live, and how often that wins.

A run is a vector of what it held at its end: its jokers, rarer ones counting more, the poker hand it played most, how
rich it used to be and what became of its deck. Vectors are clustered on the sphere (k-means, the best of several
beginnings, the same for the same runs); a cluster is named by its hand and the jokers that set it apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jimbot.evaluation.intervals import wilson_interval
from jimbot.knowledge.played import Holdings, PlayedRun
from jimbot.knowledge.records import Strategy

LEAST_RUNS = 5
MOST = 24
"""Strategies that are told apart."""
_ROUNDS, _BEGINNINGS = 30, 4
_BELONGS = 0.25
"""A part belongs to a strategy that this share of its runs held."""
_HAND_WEIGHT, _ECONOMY_WEIGHT, _DECK_WEIGHT = 1.5, 0.5, 0.5
_CORE, _TYPICAL = 2, 0.15
"""Jokers in a name, and how much less the second may say than the first."""
_EXAMPLES = 5
_SETTLED = 3
"""Milestone from which a run's money tells how it lives."""
ECONOMIES = ((0, "poor"), (15, "thrifty"), (30, "rich"))


def _economy(run: PlayedRun) -> str:
    money = [state.get("money", 0) for reached, state in run.at.items() if reached >= min(_SETTLED, max(run.at))]
    usual = max(float(np.mean(money)), 0.0)
    return [word for least, word in ECONOMIES if usual >= least][-1]


def main_hand(state: Holdings) -> str:
    """The poker hand played most."""
    played: Mapping[str, float] = state.get("played") or {}
    return max(sorted(played), key=lambda hand: played[hand]) if played else ""


def _traits(run: PlayedRun) -> dict[str, float]:
    state = run.last
    traits = dict.fromkeys(state.get("jokers", ()), 1.0)
    if hand := main_hand(state):
        traits[f"hand:{hand}"] = _HAND_WEIGHT
    traits[f"economy:{_economy(run)}"] = _ECONOMY_WEIGHT
    if shape := state.get("deck_shape"):
        traits[f"deck:{shape}"] = _DECK_WEIGHT
    return traits


def _vectors(runs: Sequence[PlayedRun]) -> np.ndarray:
    """(runs, traits), each of length 1; what fewer runs have counts more."""
    rows = [_traits(run) for run in runs]
    often = Counter(trait for row in rows for trait in row)
    columns = {trait: number for number, trait in enumerate(sorted(often))}
    out = np.zeros((len(rows), len(columns)))
    for number, row in enumerate(rows):
        for trait, weight in row.items():
            out[number, columns[trait]] = weight * (1.0 + math.log(len(rows) / often[trait]))
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)


def clusters(vectors: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """(runs,) int: k-means by angle, the closest of several beginnings; each next centre is drawn far from the rest."""
    rng = np.random.default_rng(seed)
    found = [_cluster(vectors, _first_centres(vectors, count, rng)) for _ in range(_BEGINNINGS)]
    return max(found, key=lambda one: one[1])[0]


def _first_centres(vectors: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    chosen = [int(rng.integers(len(vectors)))]
    while len(chosen) < count:
        apart = np.maximum(1.0 - (vectors @ vectors[chosen].T).max(axis=1), 0.0) ** 2
        if apart.sum() <= 1e-12:
            break
        chosen.append(int(rng.choice(len(vectors), p=apart / apart.sum())))
    return vectors[chosen]


def _cluster(vectors: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, float]:
    """(which centre every run belongs to in the end, how near they are together)"""
    middle, belongs = centres.copy(), np.full(len(vectors), -1)
    for _ in range(_ROUNDS):
        now = (vectors @ middle.T).argmax(axis=1)
        if (now == belongs).all():
            break
        belongs = now
        for number in np.unique(belongs):
            middle[number] = vectors[belongs == number].mean(axis=0)
        middle /= np.maximum(np.linalg.norm(middle, axis=1, keepdims=True), 1e-9)
    return belongs, float((vectors @ middle.T).max(axis=1).sum())


def strategies_of(runs: Sequence[PlayedRun], names: Mapping[str, str], command: str) -> list[Strategy]:
    """Strategies of runs that won or came far, most played first. `names`: of parts, by key.

    Won runs and the deeper half of the lost ones count: what is lost at once follows no plan.
    """
    lost = sorted(run.reached for run in runs if not run.won)
    deep = lost[len(lost) // 2] if lost else 0
    chosen = [run for run in runs if run.at and run.last.get("jokers") and (run.won or run.reached >= deep)]
    if len(chosen) < LEAST_RUNS:
        return []
    belongs = clusters(_vectors(chosen), min(MOST, max(1, round(math.sqrt(len(chosen) / 2)))))
    found: dict[str, Strategy] = {}
    for number in np.unique(belongs):
        members = [run for run, one in zip(chosen, belongs, strict=True) if one == number]
        if len(members) >= LEAST_RUNS:
            one = _strategy(members, chosen, names, command)
            found.setdefault(one.key, one)
    return sorted(found.values(), key=lambda one: -one.games)


def _core(jokers: Mapping[str, float], usual: Mapping[str, float]) -> list[str]:
    """The jokers that most runs of a strategy hold and others do not, most typical first; one at least."""
    typical = {key: share * math.log(1e-9 + share / usual[key]) for key, share in jokers.items() if share >= _BELONGS}
    typical = {key: value for key, value in typical.items() if value > 0} or dict(jokers)
    ranked = sorted(typical, key=lambda key: (-typical[key], key))
    return [key for key in ranked if typical[key] >= _TYPICAL * typical[ranked[0]]][:_CORE]


def _shares(runs: Sequence[PlayedRun]) -> dict[str, float]:
    counted = Counter(key for run in runs for key in set(run.last["jokers"]))
    return {key: count / len(runs) for key, count in counted.items()}


def _strategy(
    members: Sequence[PlayedRun], everyone: Sequence[PlayedRun], names: Mapping[str, str], command: str
) -> Strategy:
    count = len(members)
    jokers = _shares(members)
    core = _core(jokers, _shares(everyone))
    hand, plays = Counter(main_hand(run.last) for run in members).most_common(1)[0]
    uses = {key: round(jokers[key], 4) for key in sorted(jokers, key=lambda key: (-jokers[key], key))
            if jokers[key] >= _BELONGS or key in core}  # fmt: skip
    if hand:
        uses[hand] = round(plays / count, 4)
    carry = " and ".join(names.get(key, key) for key in core)
    won = sum(run.won for run in members)
    share = wilson_interval(won, count)
    economy = Counter(map(_economy, members)).most_common(1)[0][0]
    deck = Counter(run.last.get("deck_shape", "") for run in members).most_common(1)[0][0]
    examples = [run.seed for run in sorted(members, key=lambda run: (not run.won, -run.reached))[:_EXAMPLES]]
    words = f"Plays {hand or 'any hand'} with {carry}; {', '.join(word for word in (economy, deck) if word)}."
    details: dict[str, Any] = {
        "main_hand": hand, "core": core, "economy": economy, "deck_shape": deck, "examples": examples,
        "players": dict(Counter(run.player for run in members if run.player)),
    }  # fmt: skip
    key = "_".join(["s", *(one.removeprefix("j_") for one in sorted(core)), *hand.lower().split()])
    return Strategy(
        key, f"{carry}: {hand or 'any hand'}", words, uses, games=count, share=share.mean, low=share.low,
        high=share.high, command=command, details=details,
    )  # fmt: skip
