"""Which policy is better, and is that chance? Two or more policies on the very same seeds.

Every pair is compared by its differences seed by seed. With more than two policies there are several chances to be
fooled, so each interval is widened (Bonferroni) until all of them together hold with 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from jimbot.errors import CheckpointError, UnknownNameError, UsageError
from jimbot.evaluation.evaluator import Bank, HowToPlay, evaluate
from jimbot.evaluation.intervals import (
    CONFIDENCE,
    Interval,
    games_for_difference,
    paired_interval,
    paired_rate_interval,
)
from jimbot.evaluation.play import LENGTH, RETURN, WIN_RATE, Progress
from jimbot.evaluation.summary import WON, Evaluation, distinct_names, renamed
from jimbot.games.contract import game_entry
from jimbot.games.seeds import HELD_OUT
from jimbot.notebook import ShownInNotebooks
from jimbot.policies.heuristics import with_needed_options
from jimbot.policies.players import Named, Player, find_player
from jimbot.policies.portable import load_policy

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class Difference:
    """`one` against `other`, game by game on equal seeds."""

    metric: str
    one: str
    other: str
    interval: Interval
    """Of `one` − `other`."""
    better: int
    equal: int
    worse: int
    """In how many games `one` did better, the same, worse."""
    games_needed: int | None
    """Games in all until the interval would exclude 0, if the difference stays as it is; None if there is none."""

    @property
    def significant(self) -> bool:
        return self.interval.count > 1 and self.interval.excludes(0.0)

    @property
    def verdict(self) -> str:
        if self.significant:
            better, worse = (self.one, self.other) if self.interval.mean > 0 else (self.other, self.one)
            return f"{better} is better than {worse}"
        if self.games_needed is None:
            return "no difference seen"
        return f"not decided; would take about {self.games_needed:,} games"

    @property
    def sentence(self) -> str:
        """Who is better by how much, or that the games do not decide it and how many would."""
        what = self.metric.replace("_", " ")
        span = f"{self.written(self.interval.low)} … {self.written(self.interval.high)}"
        if self.significant:
            return f"{self.verdict}: {what} {self.written(self.interval.mean)} ({span}; {self.one} − {self.other})."
        tied = f"By {what}, {self.one} and {self.other} do not differ significantly after {self.interval.count:,} games"
        if self.games_needed is None:
            return f"{tied}: no difference was seen."
        return (
            f"{tied} ({self.written(self.interval.mean)}, {span}); if the difference stays as it is, about "
            f"{self.games_needed:,} games would decide."
        )

    def written(self, amount: float) -> str:
        """A difference of this metric: rates in percentage points."""
        return f"{100 * amount:+,.2f} points" if self.metric == WIN_RATE else f"{amount:+,.3f}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "one": self.one,
            "other": self.other,
            "difference": self.interval.to_dict(),
            "better": self.better,
            "equal": self.equal,
            "worse": self.worse,
            "significant": self.significant,
            "games_needed": self.games_needed,
            "verdict": self.verdict,
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class Comparison(ShownInNotebooks):
    """All policies on the same games, and every pair of them."""

    metric: str
    evaluations: tuple[Evaluation, ...]
    differences: tuple[Difference, ...]
    """Of the metric."""
    win_differences: tuple[Difference, ...]
    """Of the win rate, beside another metric; empty if nobody can win the game."""
    pair_confidence: float
    """Of each interval, so that all of one metric together hold with 95 %."""

    @property
    def all_differences(self) -> tuple[Difference, ...]:
        return self.differences + self.win_differences

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "confidence": CONFIDENCE,
            "pair_confidence": self.pair_confidence,
            "policies": [evaluation.to_dict() for evaluation in self.evaluations],
            "differences": [difference.to_dict() for difference in self.differences],
            "win_rate_differences": [difference.to_dict() for difference in self.win_differences],
        }

    def __rich__(self) -> RenderableType:
        from jimbot.evaluation.tables import comparison_tables

        return comparison_tables(self)


def compare(
    policies: Sequence[Named],
    game_id: str | None = None,
    games: int | None = None,
    *,
    metric: str = RETURN,
    bank: Bank = HELD_OUT,
    seeds_file: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    runs_root: str | Path = "runs",
    which: Literal["latest", "best"] = "latest",
    threads: int = 1,
    **how: Unpack[HowToPlay],
) -> Comparison:
    """Plays the same seeds with every policy; arguments as in `evaluate`. `metric` is "return", "length",
    "win_rate" or an episode statistic. Policies that do not name a game (random, heuristic) play the game of the
    others."""
    if len(policies) < 2:
        raise UsageError(f"Got {len(policies)} policies to compare; give at least two.")
    game_id = game_id or common_game(policies, runs_root, which)
    players = [find_player(policy, game_id, None, runs_root, which, threads) for policy in policies]
    stats = game_entry(game_id).spec.episode_stats
    known = (RETURN, LENGTH, *([WIN_RATE] if WON in stats else []), *stats)
    if metric not in known:
        raise UnknownNameError(f"metric of game {game_id}", metric, known)
    options = common_options(players, options)
    evaluations = []
    for number, player in enumerate(players):

        def report(done: int, of: int, before: int = number) -> None:
            if progress is not None:
                progress(before * of + done, len(players) * of)

        evaluated = evaluate(
            player.policy,
            game_id,
            games,
            bank=bank,
            seeds_file=seeds_file,
            options=options,
            progress=report,
            **how,
        )
        evaluations.append(evaluated)
    return compare_evaluations(evaluations, metric)


def compare_evaluations(evaluations: Sequence[Evaluation], metric: str = RETURN) -> Comparison:
    """Pairs up evaluations that were played on the same seeds."""
    if any(not np.array_equal(one.games.seeds, evaluations[0].games.seeds) for one in evaluations):
        raise UsageError("Only games on the same seeds can be compared; evaluate all policies with the same seeds.")
    metric = WIN_RATE if metric == WON else metric
    names = distinct_names([one.policy for one in evaluations])
    evaluations = [renamed(one, name) for one, name in zip(evaluations, names, strict=True)]
    pairs = list(combinations(evaluations, 2))
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(pairs))

    def of(metric: str) -> tuple[Difference, ...]:
        return tuple(_difference(one, other, metric, confidence) for one, other in pairs)

    wins = WON in evaluations[0].spec.episode_stats and metric != WIN_RATE
    return Comparison(metric, tuple(evaluations), of(metric), of(WIN_RATE) if wins else (), confidence)


def _difference(one: Evaluation, other: Evaluation, metric: str, confidence: float) -> Difference:
    if metric == WIN_RATE:
        mine, theirs = (evaluated.games.stat(WON) > 0 for evaluated in (one, other))  # an unfinished game is not won
        interval = paired_rate_interval(mine, theirs, confidence)
    else:
        mine, theirs = one.values(metric), other.values(metric)
        interval = paired_interval(mine, theirs, confidence)
    gap = mine.astype(np.float64) - theirs
    needed = games_for_difference(interval, confidence)
    if needed is not None and not interval.excludes(0.0):
        needed = max(needed, interval.count + 1)  # both are estimates; what was played did not decide it
    return Difference(
        metric=metric,
        one=one.policy,
        other=other.policy,
        interval=interval,
        better=int((gap > 0).sum()),
        equal=int((gap == 0).sum()),
        worse=int((gap < 0).sum()),
        games_needed=needed,
    )


def common_game(policies: Sequence[Named], runs_root: str | Path, which: Any) -> str:
    """The game of the first policy that names one; the others are then checked against it."""
    not_found: CheckpointError | None = None
    for policy in policies:
        if isinstance(policy, str | Path):
            try:
                manifest = load_policy(policy, None, runs_root, which)[1]
            except CheckpointError as problem:  # perhaps a heuristic player, which only its game knows
                not_found = not_found or problem
                continue
            if manifest is not None:
                return manifest.game
    if not_found is not None:
        raise not_found
    raise UsageError("None of the policies says which game it plays; give the game as well.")


def common_options(players: Sequence[Player], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options all play with: as given, else as trained with; and whatever any of them needs."""
    needed: dict[str, Any] = {}
    for player in players:
        needed |= with_needed_options(player.policy)
    if given is not None:
        common = dict(given)
    else:
        stated = [player.options for player in players if player.options != with_needed_options(player.policy)]
        if any(options != stated[0] for options in stated):
            raise UsageError(
                f"The policies were trained with different game options ({stated[0]} and others); "
                "say which options to compare them with."
            )
        common = dict(stated[0]) if stated else {}
    for player in players:
        with_needed_options(player.policy, common)
    return {**needed, **common}
