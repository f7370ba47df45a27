"""Strategies nobody plays yet: proposed by what is known of pairs, then tried in whole runs against matched controls.

A proposal is two or three jokers that are strong together, by measurement or else by the network's word, and which few
runs held together. It is tried by handing the jokers to runs, at their start and at a later stage; the control gets as
many other jokers of like price and rarity, in the same seeds at the same stage, and the same player plays both. A first
look sorts out which proposals are worth more games; the verdict comes from seeds that had no part in that choice.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from jimbot.errors import UsageError
from jimbot.evaluation.intervals import Interval, paired_interval, wilson_interval
from jimbot.games.batch_game import BatchGame
from jimbot.games.hooks import Part
from jimbot.games.seeds import bank_seeds
from jimbot.knowledge.played import PlayedRun, play_runs
from jimbot.knowledge.records import MEASURED, Strategy
from jimbot.policies.players import Player

VALIDATION = "validation"
STAGES = (1, 4)
"""Milestones at which jokers are handed over, turn by turn."""
FIRST_LOOK = 0.25
"""Share of the games of a trial that a first look takes."""
TRIED_AGAIN = 0.5
"""Share of the proposals that get all games after it."""
_ALIKE = 20
"""Controls are drawn from so many jokers that look most alike by price and rarity."""
_THIRDS = 5


@dataclass(frozen=True)
class Proposal:
    """Jokers to try together."""

    keys: tuple[str, ...]
    strength: float = 0.0
    played: int = 0
    """Runs that held them all."""


@dataclass(frozen=True)
class Trial:
    """A proposal after its runs."""

    proposal: Proposal
    gained: Interval
    """Milestones reached beyond the control's; a win counts as one."""
    won: int
    won_by_control: int
    games: int
    """Of each of the two that came to the stage."""
    seeds: tuple[str, ...]
    whole: bool = True
    """False: a first look only."""

    @property
    def verdict(self) -> str:
        figures = f"{self.gained.mean:+.2f} [{self.gained.low:+.2f}, {self.gained.high:+.2f}] milestones"
        if not self.whole:
            return f"not tried further after a first look: {figures}"
        if self.gained.low > 0:
            return f"better than matched jokers: {figures}"
        return f"worse than matched jokers: {figures}" if self.gained.high < 0 else f"no clear difference: {figures}"


# --- proposing ---


def proposals(strengths: Mapping[tuple[str, str], float], runs: Iterable[PlayedRun], most: int = 10) -> list[Proposal]:
    """Strong pairs, and threes around them, that were played least; no joker carries more than two.

    `strengths` of all pairs: measured, or predicted where nobody measured them.
    """
    held = _held_together(runs)
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


def _held_together(runs: Iterable[PlayedRun]) -> Counter[frozenset[str]]:
    """In how many runs two or three jokers were held at the same milestone."""
    held: Counter[frozenset[str]] = Counter()
    for run in runs:
        rows = {tuple(sorted(set(state.get("jokers", ())))) for state in run.at.values()}
        held.update({frozenset(group) for row in rows for size in (2, 3) for group in combinations(row, size)})
    return held


# --- trying ---


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


def try_out(player: Player, proposal: Proposal, games: int, seed: int = 0, whole: bool = True) -> Trial:
    """Plays validation seeds from `seed` on with the proposal and with its controls."""
    knowledge = player.entry.knowledge
    if knowledge is None or knowledge.give is None:
        raise UsageError(f"Runs of '{player.game}' cannot be given anything at their start, so nothing can be tried.")
    give = knowledge.give
    parts = {part.key: part for part in knowledge.parts() if part.features}
    if unknown := [key for key in proposal.keys if key not in parts]:
        raise UsageError(f"{unknown[0]} cannot be handed to a run; name jokers.")
    seeds = bank_seeds(VALIDATION, games, seed)
    rng = np.random.default_rng(seed)
    stages = [STAGES[row % len(STAGES)] for row in range(games)]

    def with_jokers(rows: Sequence[Sequence[str]]) -> list[PlayedRun]:
        def arrive(game: BatchGame, row: int, reached: int) -> None:
            if reached == stages[row]:
                give(game, row, rows[row])

        return play_runs(player, seeds, arrive)

    tried = with_jokers([proposal.keys] * games)
    control = with_jokers([_controls(parts, proposal.keys, rng) for _ in range(games)])
    there = [row for row in range(games) if stages[row] in tried[row].at and stages[row] in control[row].at]
    came = [[runs[row] for row in there] for runs in (tried, control)]
    one, other = (np.array([run.reached + run.won for run in runs], float) for runs in came)
    best = sorted(came[0], key=lambda run: (not run.won, -run.reached))[:5]
    won = [sum(run.won for run in runs) for runs in came]
    return Trial(proposal, paired_interval(one, other), *won, len(there), tuple(run.seed for run in best), whole)


def try_all(player: Player, found: Sequence[Proposal], games: int, until: float, seed: int = 0) -> Iterator[Trial]:
    """Trials while there is time (`time.monotonic`): a look at each, then all games for those that did best."""
    first = max(2, round(FIRST_LOOK * games))
    looks: list[Trial] = []
    share = until - 0.7 * max(0.0, until - time.monotonic())
    for proposal in found:
        if time.monotonic() >= share:
            break
        looks.append(try_out(player, proposal, first, seed, whole=False))
    looks.sort(key=lambda trial: -trial.gained.mean)
    kept = max(1, round(TRIED_AGAIN * len(looks)))
    for number, look in enumerate(looks):
        again = number < kept and time.monotonic() < until
        yield try_out(player, look.proposal, games, seed + first) if again else look


def strategy_of(trial: Trial, names: Mapping[str, str], command: str) -> Strategy:
    """A tried proposal as a strategy of the graph, with its verdict."""
    keys = trial.proposal.keys
    share = wilson_interval(trial.won, trial.games)
    core = [names.get(key, key) for key in keys]
    control = f"matched jokers won {trial.won_by_control} of {trial.games} games, these {trial.won}"
    return Strategy(
        "s_new_" + "_".join(key.removeprefix("j_") for key in keys), f"New: {' and '.join(core)}",
        f"Proposed: strong together, held by {trial.proposal.played} of the runs that were looked at; {control}.",
        dict.fromkeys(keys, 1.0), MEASURED, trial.games, share.mean, share.low, share.high, trial.verdict, command,
        {"examples": list(trial.seeds), "strength": trial.proposal.strength, "core": list(keys)},
    )  # fmt: skip
