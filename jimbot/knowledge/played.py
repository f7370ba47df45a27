"""Synergies as games show them: do runs that hold two parts together win more than runs that hold one of them?

Every run counts once, as it stood when it reached a certain milestone, so that runs are independent and those that
never came that far tell nothing. Whoever has more money and more jokers wins more often whatever they are, so both are
held equal (`_strata`), and the odds are those of Mantel and Haenszel. Many pairs are asked at once: the share of false
ones among those called found is controlled (Benjamini and Hochberg).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.batch_game import BatchGame
from jimbot.games.entry import GameEntry
from jimbot.knowledge.records import PLAYED, SYNERGY, Edge

MILESTONE = 4
FALSE_SHARE = 0.1
LEAST_RUNS = 8
"""Runs with both, below which nothing is said."""
CHANNEL = "win"
Holdings = Mapping[str, Any]
"""What `Knowledge.read_state` tells."""


@dataclass
class PlayedRun:
    """One run: its seed, how it ended, and what it held when it came to each milestone."""

    seed: str
    won: bool = False
    reached: int = 0
    at: dict[int, Holdings] = field(default_factory=dict)

    @property
    def last(self) -> Holdings:
        return self.at[max(self.at)] if self.at else {}


@dataclass(frozen=True)
class Lift:
    """How much likelier a run wins with both of two parts than with one of them, as a logarithm of odds."""

    a: str
    b: str
    log_odds: float
    low: float
    high: float
    p: float
    runs: int
    """With both."""
    found: bool = False
    """Whether it stands when so many pairs were asked."""


# --- playing ---


def play_runs(
    entry: GameEntry,
    choose: Callable[[np.ndarray, np.ndarray], np.ndarray],
    seeds: np.ndarray,
    prepare: Callable[[BatchGame], None] | None = None,
    go_on: Callable[[], bool] = lambda: True,
) -> list[PlayedRun]:
    """Plays every seed to its end, or until `go_on` says no; runs that were not over then are left out."""
    knowledge, milestones = entry.knowledge, entry.milestones
    if knowledge is None or milestones is None:
        raise UsageError(f"Runs of '{entry.spec.id}' cannot be followed: it has no parts or no milestones.")
    game = entry.make(len(seeds))
    runs = [PlayedRun(entry.seed_form.write(int(seed)) if entry.seed_form else str(int(seed))) for seed in seeds]
    going = np.ones(len(seeds), np.bool_)
    won, reached_at = entry.spec.episode_stats.index("won"), milestones.reached
    try:
        game.reset(np.asarray(seeds, np.uint64))
        if prepare:
            prepare(game)
        while going.any() and go_on():
            reached = reached_at(game)
            for row in np.flatnonzero(going):
                if int(reached[row]) not in runs[row].at:
                    runs[row].at[int(reached[row])] = knowledge.read_state(game, int(row))
            game.step(choose(game.observation, game.legal_mask), ~going)
            for row in np.flatnonzero(going & (game.terminated | game.truncated)):
                run = runs[row]
                run.won = bool(game.final_stats[row, won])
                run.reached = max(run.at)
                going[row] = False
    finally:
        game.close()
    return [run for run, unfinished in zip(runs, going, strict=True) if not unfinished]


# --- asking runs ---


def _strata(states: Sequence[Holdings]) -> np.ndarray:
    """(runs,) int: which runs had about as much money and as many jokers."""
    money = np.array([state["money"] for state in states])
    jokers = np.array([len(state["jokers"]) for state in states])
    thirds = np.searchsorted(np.quantile(money, [1 / 3, 2 / 3]), money)
    return thirds * 100 + jokers


def _log_odds(both: np.ndarray, won: np.ndarray, strata: np.ndarray) -> tuple[float, float, float]:
    """(Mantel and Haenszel's log-odds ratio, its standard error, its p-value) of winning, `both` against the others."""
    top = bottom = cross = spread_top = spread_bottom = 0.0
    for stratum in np.unique(strata):
        here = strata == stratum
        a = float((both & won & here).sum()) + 0.5  # half a run each way: no stratum is ever empty
        b = float((both & ~won & here).sum()) + 0.5
        c = float((~both & won & here).sum()) + 0.5
        d = float((~both & ~won & here).sum()) + 0.5
        n = a + b + c + d
        if n <= 2.0 or not (both & here).any() or not (~both & here).any():
            continue
        r, s, p, q = a * d / n, b * c / n, (a + d) / n, (b + c) / n
        top, bottom = top + r, bottom + s
        spread_top += p * r
        cross += p * s + q * r
        spread_bottom += q * s
    if top == 0.0 or bottom == 0.0:
        return 0.0, math.inf, 1.0
    value = math.log(top / bottom)
    error = math.sqrt(spread_top / (2 * top**2) + cross / (2 * top * bottom) + spread_bottom / (2 * bottom**2))
    return value, error, math.erfc(abs(value) / error / math.sqrt(2))


def false_discoveries(p: Sequence[float], share: float = FALSE_SHARE) -> np.ndarray:
    """(N,) bool: which may be called found so that this share of them is false at most.

    >>> false_discoveries([0.001, 0.5, 0.02, 0.9], 0.1).tolist()
    [True, False, True, False]
    """
    values = np.asarray(p, float)
    order = np.argsort(values)
    passed = values[order] <= share * np.arange(1, len(values) + 1) / max(1, len(values))
    found = np.zeros(len(values), np.bool_)
    if passed.any():
        found[order[: int(np.flatnonzero(passed).max()) + 1]] = True
    return found


def pair_lifts(runs: Iterable[PlayedRun], milestone: int = MILESTONE, least: int = LEAST_RUNS) -> list[Lift]:
    """Lifts of all pairs of jokers that enough runs held together at the milestone, surest first."""
    there = [run for run in runs if milestone in run.at]
    if not there:
        return []
    states = [run.at[milestone] for run in there]
    held = [frozenset(state["jokers"]) for state in states]
    won = np.array([run.won for run in there])
    strata = _strata(states)
    counts = Counter(pair for jokers in held for pair in combinations(sorted(jokers), 2))
    lifts = []
    for (a, b), count in sorted(counts.items()):
        either = np.array([a in jokers or b in jokers for jokers in held])
        both = np.array([a in jokers and b in jokers for jokers in held])
        if count < least or either.sum() - count < least:
            continue
        value, error, p = _log_odds(both[either], won[either], strata[either])
        lifts.append((a, b, value, value - 1.96 * error, value + 1.96 * error, p, count))
    found = false_discoveries([lift[5] for lift in lifts])
    return sorted((Lift(*lift, bool(one)) for lift, one in zip(lifts, found, strict=True)), key=lambda lift: lift.p)


def edges_of(lifts: Iterable[Lift], command: str) -> list[Edge]:
    """What was found, as claims of the graph: log-odds of winning, not log-score."""
    return [
        Edge(SYNERGY, one.a, one.b, one.log_odds, one.low, one.high, CHANNEL, PLAYED, one.runs, command=command,
             details={"p": one.p})
        for one in lifts
        if one.found
    ]  # fmt: skip


def agreement(lifts: Sequence[Lift], measured: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    """How far games say the same as the simulator: rank correlation, and the pairs where they contradict most."""
    common = [lift for lift in lifts if (lift.a, lift.b) in measured and math.isfinite(lift.low)]
    if len(common) < 3:
        return {"pairs": len(common), "rank_correlation": None, "agree": 0, "disagree": []}
    played = np.array([lift.log_odds for lift in common])
    strength = np.array([measured[lift.a, lift.b] for lift in common])
    sure = [lift for lift in common if lift.found]
    disagree = [lift for lift in sure if lift.log_odds * measured[lift.a, lift.b] < 0]
    return {
        "pairs": len(common),
        "rank_correlation": rank_correlation(played, strength),
        "agree": len(sure) - len(disagree),
        "disagree": [[lift.a, lift.b, lift.log_odds, measured[lift.a, lift.b]] for lift in disagree],
    }


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's; ties share their mean rank.

    >>> rank_correlation(np.array([1.0, 2, 3]), np.array([10.0, 30, 20]))
    0.5
    """
    first, second = _mean_ranks(one), _mean_ranks(other)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1].round(12))


def _mean_ranks(values: np.ndarray) -> np.ndarray:
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[which]
