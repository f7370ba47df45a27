"""Runs sorted into strategies: which hand they play, which jokers carry them, how they live, and how often that wins.

A run is a vector of what it held at its end: its jokers, rarer ones counting more, the poker hand it played most, how
rich it was and how large its deck. Vectors are clustered on the sphere (k-means from seeds far apart, the same for the
same runs); a cluster is named by its most typical jokers and its hand.
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
_ROUNDS = 30
_BELONGS = 0.3
"""A part belongs to a strategy that this share of its runs held."""
_HAND_WEIGHT, _ECONOMY_WEIGHT, _DECK_WEIGHT = 1.5, 0.5, 0.5
_EXAMPLES = 5
ECONOMIES = ((0, "poor"), (15, "thrifty"), (40, "rich"))
DECKS = ((0, "thin deck"), (45, "plain deck"), (60, "large deck"))


def _band(value: float, bands: Sequence[tuple[int, str]]) -> str:
    return [word for least, word in bands if value >= least][-1] if value >= bands[0][0] else bands[0][1]


def main_hand(state: Holdings) -> str:
    """The poker hand played most."""
    played: Mapping[str, float] = state.get("played") or {}
    return max(sorted(played), key=lambda hand: played[hand]) if played else ""


def _traits(state: Holdings) -> dict[str, float]:
    traits = dict.fromkeys(state.get("jokers", ()), 1.0)
    if hand := main_hand(state):
        traits[f"hand:{hand}"] = _HAND_WEIGHT
    traits[f"economy:{_band(state.get('money', 0), ECONOMIES)}"] = _ECONOMY_WEIGHT
    traits[f"deck:{_band(state.get('cards', 52), DECKS)}"] = _DECK_WEIGHT
    return traits


def _vectors(states: Sequence[Holdings]) -> np.ndarray:
    """(runs, traits), each of length 1; what fewer runs have counts more."""
    rows = [_traits(state) for state in states]
    often = Counter(trait for row in rows for trait in row)
    columns = {trait: number for number, trait in enumerate(sorted(often))}
    out = np.zeros((len(rows), len(columns)))
    for number, row in enumerate(rows):
        for trait, weight in row.items():
            out[number, columns[trait]] = weight * (1.0 + math.log(len(rows) / often[trait]))
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)


def clusters(vectors: np.ndarray, count: int) -> np.ndarray:
    """(runs,) int: k-means by angle; the first centre is the run nearest the mean, each next the one farthest off."""
    centres = [vectors[int((vectors @ vectors.mean(axis=0)).argmax())]]
    while len(centres) < count:
        centres.append(vectors[int((vectors @ np.stack(centres).T).max(axis=1).argmin())])
    middle = np.stack(centres)
    belongs = np.zeros(len(vectors), np.int64)
    for turn in range(_ROUNDS):
        now = (vectors @ middle.T).argmax(axis=1)
        if turn and (now == belongs).all():
            break
        belongs = now
        for number in range(count):
            if (belongs == number).any():
                middle[number] = vectors[belongs == number].mean(axis=0)
        middle /= np.maximum(np.linalg.norm(middle, axis=1, keepdims=True), 1e-9)
    return belongs


def strategies_of(runs: Sequence[PlayedRun], names: Mapping[str, str], command: str) -> list[Strategy]:
    """Strategies of runs that won or came far, most played first. `names`: of parts, by key.

    Won runs and the deeper half of the lost ones count: what is lost at once follows no plan.
    """
    lost = sorted(run.reached for run in runs if not run.won)
    deep = lost[len(lost) // 2] if lost else 0
    chosen = [run for run in runs if run.at and run.last.get("jokers") and (run.won or run.reached >= deep)]
    if len(chosen) < LEAST_RUNS:
        return []
    belongs = clusters(_vectors([run.last for run in chosen]), max(1, round(math.sqrt(len(chosen) / 2))))
    found: dict[str, Strategy] = {}
    for number in np.unique(belongs):
        members = [run for run, one in zip(chosen, belongs, strict=True) if one == number]
        if len(members) >= LEAST_RUNS:
            one = _strategy(members, chosen, names, command)
            found.setdefault(one.key, one)
    return sorted(found.values(), key=lambda one: -one.games)


def _strategy(
    members: Sequence[PlayedRun], everyone: Sequence[PlayedRun], names: Mapping[str, str], command: str
) -> Strategy:
    count = len(members)
    jokers = Counter(key for run in members for key in set(run.last["jokers"]))
    usual = Counter(key for run in everyone for key in set(run.last["jokers"]))
    typical = sorted(jokers, key=lambda key: (-jokers[key] / count * math.log1p(len(everyone) / usual[key]), key))
    hand = Counter(main_hand(run.last) for run in members).most_common(1)[0][0]
    uses = {
        key: round(jokers[key] / count, 4) for key in typical if jokers[key] / count >= _BELONGS or key == typical[0]
    }
    if hand:
        uses[hand] = round(sum(main_hand(run.last) == hand for run in members) / count, 4)
    core = [names.get(key, key) for key in typical[:2]]
    won = sum(run.won for run in members)
    share = wilson_interval(won, count)
    economy = _band(float(np.median([run.last.get("money", 0) for run in members])), ECONOMIES)
    deck = _band(float(np.median([run.last.get("cards", 52) for run in members])), DECKS)
    examples = [run.seed for run in sorted(members, key=lambda run: (not run.won, -run.reached))[:_EXAMPLES]]
    words = f"Plays {hand or 'any hand'} with {' and '.join(core)}; {economy}, {deck}."
    details: dict[str, Any] = {"main_hand": hand, "economy": economy, "deck_shape": deck, "examples": examples}
    key = "s_" + "_".join(one.removeprefix("j_") for one in sorted(typical[:2])) + "_" + hand.lower().replace(" ", "_")
    return Strategy(
        key.rstrip("_"), f"{' and '.join(core)}: {hand or 'any hand'}", words, uses, games=count, share=share.mean,
        low=share.low, high=share.high, command=command, details=details,
    )  # fmt: skip
