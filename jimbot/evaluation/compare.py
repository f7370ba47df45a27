"""Which policy is better, and is that luck? Two or more policies on the very same seeds.

Every pair is compared by its differences seed by seed. With more than two policies there are several chances to be
fooled, so each interval is widened (Bonferroni) until all of them together hold with 95 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jimbot.errors import CheckpointError, UnknownNameError, UsageError
from jimbot.evaluation.intervals import CONFIDENCE, Interval, games_for_difference, paired_interval
from jimbot.evaluation.judge import find_player
from jimbot.evaluation.play import Progress, play_games
from jimbot.evaluation.seeds import choose_seeds
from jimbot.evaluation.summary import LENGTH, RETURN, Evaluation, renamed
from jimbot.games.contract import game_entry
from jimbot.games.seeds import HELD_OUT
from jimbot.policies.contract import Policy
from jimbot.policies.portable import load_policy

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class Difference:
    """`one` against `other`, game by game on equal seeds."""

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
        if self.games_needed is None or self.games_needed <= self.interval.count:
            return "no difference seen"
        return f"not decided; would take about {self.games_needed:,} games"

    def to_dict(self) -> dict[str, Any]:
        return {
            "one": self.one,
            "other": self.other,
            "difference": self.interval.to_dict(),
            "better": self.better,
            "equal": self.equal,
            "worse": self.worse,
            "significant": self.significant,
            "games_needed": self.games_needed,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Comparison:
    """All policies on the same games, and every pair of them."""

    metric: str
    evaluations: tuple[Evaluation, ...]
    differences: tuple[Difference, ...]
    pair_confidence: float
    """Of each interval, so that all together hold with 95 %."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "confidence": CONFIDENCE,
            "pair_confidence": self.pair_confidence,
            "policies": [evaluation.to_dict() for evaluation in self.evaluations],
            "differences": [difference.to_dict() for difference in self.differences],
        }

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table

        first = self.evaluations[0]
        policies = Table(
            title=f"{first.games.game}: {first.count:,} games each, same {first.bank} seeds", title_justify="left"
        )
        for name in ("policy", "return", "95 % interval", "length", "win rate", "illegal"):
            policies.add_column(name, justify="left" if name == "policy" else "right")
        for one in self.evaluations:
            mean, rate = one.mean_return, one.win_rate
            policies.add_row(
                one.policy,
                f"{mean.mean:,.3f}",
                f"{mean.low:,.3f} … {mean.high:,.3f}",
                f"{one.mean_length.mean:,.1f}",
                "" if rate is None else f"{rate.mean:.1%}",
                str(one.illegal_actions),
            )
        pairs = Table(title=f"Difference of {self.metric}, seed by seed", title_justify="left")
        for name in ("pair", "difference", "interval", "better / equal / worse", "verdict"):
            pairs.add_column(name, justify="left" if name in ("pair", "verdict") else "right")
        for pair in self.differences:
            pairs.add_row(
                f"{pair.one} − {pair.other}",
                f"{pair.interval.mean:+,.3f}",
                f"{pair.interval.low:+,.3f} … {pair.interval.high:+,.3f}",
                f"{pair.better} / {pair.equal} / {pair.worse}",
                f"[bold]{pair.verdict}[/]" if pair.significant else pair.verdict,
            )
        return Group(policies, pairs)


def compare(
    policies: Sequence[Policy | str | Path],
    game_id: str | None = None,
    games: int | None = None,
    *,
    metric: str = RETURN,
    bank: str = HELD_OUT,
    seeds_file: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    deterministic: bool = True,
    num_envs: int = 256,
    progress: Progress | None = None,
    luck_seed: int = 0,
    runs_root: str | Path = "runs",
    which: Literal["latest", "best"] = "latest",
    threads: int = 1,
) -> Comparison:
    """Plays the same seeds with every policy; arguments as in `evaluate`. `metric` is "return", "length" or an
    episode statistic. Policies that do not name a game (random, scripted) play the game of the others."""
    if len(policies) < 2:
        raise UsageError(f"Got {len(policies)} policies to compare; give at least two.")
    game_id = game_id or _common_game(policies, runs_root, which)
    players = [find_player(policy, game_id, options, runs_root, which, threads) for policy in policies]
    known = (RETURN, LENGTH, *game_entry(game_id).spec.episode_stats)
    if metric not in known:
        raise UnknownNameError(f"metric of game {game_id}", metric, known)
    if options is None:
        options = _common_options(players)
    seeds, called = choose_seeds(bank, games, seeds_file)
    evaluations = []
    for number, player in enumerate(players):

        def report(done: int, of: int, before: int = number) -> None:
            if progress is not None:
                progress(before * of + done, len(players) * of)

        played = play_games(
            player.policy,
            game_id,
            seeds,
            options=options,
            deterministic=deterministic,
            num_envs=num_envs,
            progress=report,
            luck_seed=luck_seed,
        )
        evaluations.append(Evaluation(played, called, deterministic, options))
    return compare_evaluations(evaluations, metric)


def compare_evaluations(evaluations: Sequence[Evaluation], metric: str = RETURN) -> Comparison:
    """Pairs up evaluations that were played on the same seeds."""
    if any(not np.array_equal(one.games.seeds, evaluations[0].games.seeds) for one in evaluations):
        raise UsageError("Only games on the same seeds can be compared; evaluate all policies with the same seeds.")
    evaluations = _distinct_names(evaluations)
    pairs = list(combinations(evaluations, 2))
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(pairs))
    differences = tuple(_difference(one, other, metric, confidence) for one, other in pairs)
    return Comparison(metric, tuple(evaluations), differences, confidence)


def _difference(one: Evaluation, other: Evaluation, metric: str, confidence: float) -> Difference:
    gap = one.values(metric) - other.values(metric)
    interval = paired_interval(one.values(metric), other.values(metric), confidence)
    return Difference(
        one=one.policy,
        other=other.policy,
        interval=interval,
        better=int((gap > 0).sum()),
        equal=int((gap == 0).sum()),
        worse=int((gap < 0).sum()),
        games_needed=games_for_difference(interval, confidence),
    )


def _distinct_names(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Two policies of one name get numbers, so that a verdict says which is meant."""
    often = Counter(one.policy for one in evaluations)
    seen: Counter[str] = Counter()
    named = []
    for one in evaluations:
        seen[one.policy] += 1
        named.append(renamed(one, f"{one.policy} #{seen[one.policy]}") if often[one.policy] > 1 else one)
    return named


def _common_game(policies: Sequence[Policy | str | Path], runs_root: str | Path, which: Any) -> str:
    """The game of the first policy that names one; the others are then checked against it."""
    not_found: CheckpointError | None = None
    for policy in policies:
        if isinstance(policy, str | Path):
            try:
                manifest = load_policy(policy, None, runs_root, which)[1]
            except CheckpointError as problem:  # perhaps a scripted player, which only its game knows
                not_found = not_found or problem
                continue
            if manifest is not None:
                return manifest.game
    if not_found is not None:
        raise not_found
    raise UsageError("None of the policies says which game it plays; give the game as well.")


def _common_options(players: Sequence[Any]) -> dict[str, Any]:
    stated = [player.options for player in players if player.options]
    if any(options != stated[0] for options in stated):
        raise UsageError(
            f"The policies were trained with different game options ({stated[0]} and others); "
            "say which options to compare them with."
        )
    return dict(stated[0]) if stated else {}
