"""Strategies nobody plays yet: proposed by what is known of pairs, then tried in whole runs against matched controls.

A proposal is two or three jokers whose measured or predicted strength is high and which few runs held together. It is
tried by giving them to runs at their start; the control gets as many other jokers that cost about the same, in the same
seeds, and the same player plays both. What comes out is the verdict, good or bad.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from jimbot.errors import UsageError
from jimbot.evaluation.intervals import Interval, paired_interval, wilson_interval
from jimbot.games.batch_game import BatchGame
from jimbot.games.entry import GameEntry
from jimbot.games.hooks import Part
from jimbot.games.seeds import bank_seeds
from jimbot.knowledge.played import PlayedRun, play_runs
from jimbot.knowledge.records import MEASURED, Strategy

Choose = Callable[[np.ndarray, np.ndarray], np.ndarray]
VALIDATION = "validation"
_ALIKE = 20
"""Controls are drawn from so many jokers that look most alike by price and rarity."""
_THIRDS = 5


@dataclass(frozen=True)
class Proposal:
    """Jokers to try together."""

    keys: tuple[str, ...]
    strength: float
    played: int
    """Runs that held them all."""


@dataclass(frozen=True)
class Trial:
    """A proposal after its runs."""

    proposal: Proposal
    gained: Interval
    """Milestones reached beyond the control's."""
    won: int
    games: int
    seeds: tuple[str, ...]

    @property
    def verdict(self) -> str:
        figures = f"{self.gained.mean:+.2f} [{self.gained.low:+.2f}, {self.gained.high:+.2f}] milestones"
        if self.gained.low > 0:
            return f"better than matched jokers: {figures}"
        return f"worse than matched jokers: {figures}" if self.gained.high < 0 else f"no clear difference: {figures}"


def proposals(strengths: Mapping[tuple[str, str], float], runs: Iterable[PlayedRun], most: int = 10) -> list[Proposal]:
    """Strong pairs, and threes around them, that were played least; no joker carries more than two."""
    held: Counter[frozenset[str]] = Counter()
    for run in runs:
        jokers = sorted({key for state in run.at.values() for key in state.get("jokers", ())})
        held.update(frozenset(group) for size in (2, 3) for group in combinations(jokers, size))
    known = {frozenset(pair): value for pair, value in strengths.items()}
    jokers = sorted({key for pair in known for key in pair})
    groups = {pair: value for pair, value in known.items() if value > 0}
    for pair in sorted(groups, key=lambda pair: -groups[pair])[: 4 * most]:
        thirds = {one: sum(known.get(frozenset((one, key)), 0.0) for key in pair) for one in jokers if one not in pair}
        for one in sorted(thirds, key=lambda one: -thirds[one])[:_THIRDS]:
            groups[pair | {one}] = (known[pair] + thirds[one]) / 2
    ranked = sorted(groups, key=lambda group: (-groups[group] / (1 + held[group]), sorted(group)))
    chosen: list[Proposal] = []
    used: Counter[str] = Counter()
    for group in ranked:
        if len(chosen) < most and all(used[key] < 2 for key in group):
            used.update(group)
            chosen.append(Proposal(tuple(sorted(group)), groups[group], held[group]))
    return chosen


def _controls(parts: Mapping[str, Part], keys: Sequence[str], rng: np.random.Generator) -> list[str]:
    """As many other jokers, each alike to one of the keys by its first features (rarity and price lead them)."""
    chosen: list[str] = []
    for key in keys:
        others = [one for one in parts if one not in keys and one not in chosen]
        near = sorted(
            others, key=lambda one: float(np.abs(np.subtract(parts[one].features, parts[key].features)[:5]).sum())
        )
        chosen.append(near[int(rng.integers(min(_ALIKE, len(near))))])
    return chosen


def try_out(entry: GameEntry, choose: Choose, proposal: Proposal, games: int, seed: int = 0) -> Trial:
    """Plays validation seeds with the proposal and with its controls."""
    knowledge = entry.knowledge
    if knowledge is None or knowledge.give is None:
        raise UsageError(f"Runs of '{entry.spec.id}' cannot be given anything at their start, so nothing can be tried.")
    give = knowledge.give
    parts = {part.key: part for part in knowledge.parts() if part.features}
    seeds = bank_seeds(VALIDATION, games, seed)
    rng = np.random.default_rng(seed)

    def with_jokers(rows: Sequence[Sequence[str]]) -> list[PlayedRun]:
        def prepare(game: BatchGame) -> None:
            for row, keys in enumerate(rows):
                give(game, row, keys)

        return play_runs(entry, choose, seeds, prepare)

    tried = with_jokers([proposal.keys] * games)
    control = with_jokers([_controls(parts, proposal.keys, rng) for _ in range(games)])
    one, other = (np.array([run.reached + run.won for run in runs], float) for runs in (tried, control))
    best = sorted(tried, key=lambda run: (not run.won, -run.reached))[:5]
    return Trial(
        proposal, paired_interval(one, other), sum(run.won for run in tried), games, tuple(run.seed for run in best)
    )


def try_all(
    entry: GameEntry, choose: Choose, found: Iterable[Proposal], games: int, until: float, seed: int = 0
) -> Iterator[Trial]:
    """Trials one after the other while there is time (`time.monotonic`)."""
    for proposal in found:
        if time.monotonic() >= until:
            return
        yield try_out(entry, choose, proposal, games, seed)


def strategy_of(trial: Trial, names: Mapping[str, str], command: str) -> Strategy:
    """A tried proposal as a strategy of the graph, with its verdict."""
    keys = trial.proposal.keys
    share = wilson_interval(trial.won, trial.games)
    core = [names.get(key, key) for key in keys]
    return Strategy(
        "s_new_" + "_".join(key.removeprefix("j_") for key in keys), f"New: {' and '.join(core)}",
        f"Proposed: strong together, held by {trial.proposal.played} of the runs that were looked at.",
        dict.fromkeys(keys, 1.0), MEASURED, trial.games, share.mean, share.low, share.high, trial.verdict, command,
        {"examples": list(trial.seeds), "strength": trial.proposal.strength},
    )  # fmt: skip
