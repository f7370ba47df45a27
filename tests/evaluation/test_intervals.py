"""Intervals against values of another library, and against what they promise: covering the truth 95 times in 100."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.evaluation import intervals


@pytest.mark.parametrize(
    ("confidence", "freedom", "value"),
    [  # from scipy.stats.t.ppf
        (0.95, 1, 12.706205), (0.95, 2, 4.302653), (0.95, 4, 2.776445), (0.95, 9, 2.262157), (0.95, 30, 2.042272),
        (0.95, 120, 1.979930), (0.95, 1000, 1.962339), (0.95, 10**6, 1.959966), (0.99, 10, 3.169273),
        (0.90, 5, 2.015048), (0.99, 5000, 2.576813),
    ],
)  # fmt: skip
def test_t_quantiles_match_an_independent_library(confidence: float, freedom: int, value: float) -> None:
    assert intervals.t_quantile(confidence, freedom) == pytest.approx(value, abs=2e-5 * value)


def test_t_quantile_is_continuous_where_the_method_changes() -> None:
    assert intervals.t_quantile(0.95, 2000) == pytest.approx(intervals.t_quantile(0.95, 2001), rel=5e-6)
    assert intervals.t_quantile(0.95, 2000) > intervals.t_quantile(0.95, 2001)


def test_mean_interval_of_a_worked_example() -> None:
    interval = intervals.mean_interval(np.array([1.0, 2.0, 3.0, 4.0]))
    half = 3.182446 * math.sqrt(5 / 3) / 2
    assert (interval.mean, interval.count) == (2.5, 4)
    assert interval.low == pytest.approx(2.5 - half, abs=1e-4)
    assert interval.high == pytest.approx(2.5 + half, abs=1e-4)


def test_mean_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """Skewed data as returns are: 2,000 experiments of 60 games, true mean 1."""
    samples = np.random.default_rng(0).exponential(1.0, (2000, 60))
    covered = np.mean([not intervals.mean_interval(sample).excludes(1.0) for sample in samples])
    assert 0.92 < covered < 0.97


@pytest.mark.parametrize(
    ("successes", "count", "low", "high"),
    [  # from scipy.stats.binomtest(…).proportion_ci(method="wilson")
        (8, 10, 0.490162, 0.943318), (0, 10, 0.0, 0.277533), (10, 10, 0.722467, 1.0), (1, 2, 0.094531, 0.905469),
        (50, 1000, 0.038130, 0.065314),
    ],
)  # fmt: skip
def test_wilson_interval_of_known_values(successes: int, count: int, low: float, high: float) -> None:
    interval = intervals.wilson_interval(successes, count)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=2e-6)
    assert interval.mean == successes / count


def test_wilson_covers_small_rates_as_often_as_it_says() -> None:
    wins = np.random.default_rng(1).binomial(200, 0.02, 4000)
    covered = np.mean([not intervals.wilson_interval(int(won), 200).excludes(0.02) for won in wins])
    assert 0.92 < covered < 0.99


def test_pairing_by_seed_sees_what_separate_intervals_cannot() -> None:
    rng = np.random.default_rng(2)
    luck = rng.normal(0, 10, 200)
    one, other = luck + 1 + rng.normal(0, 1, 200), luck + rng.normal(0, 1, 200)
    assert intervals.paired_interval(one, other).excludes(0)
    assert intervals.mean_interval(one).low < intervals.mean_interval(other).high
    with pytest.raises(UsageError, match="Cannot pair"):
        intervals.paired_interval(one, other[:-1])


def test_few_or_unknown_games_claim_nothing() -> None:
    for values in (np.array([]), np.array([3.0]), np.array([np.nan, 3.0])):
        interval = intervals.mean_interval(values)
        assert (interval.low, interval.high) == (-math.inf, math.inf)
        assert json.loads(json.dumps(interval.to_dict(), allow_nan=False))["low"] is None
    assert intervals.mean_interval(np.array([2.0, np.nan, 4.0])).mean == 3.0
    assert intervals.wilson_interval(0, 0).to_dict()["mean"] is None
    assert intervals.mean_interval(np.full(5, 2.0)).half_width == 0


@pytest.mark.parametrize(("spread", "half_width"), [(1.0, 0.1), (3.0, 1.0), (0.1, 1.0), (5.0, 0.05)])
def test_games_needed_are_enough_and_not_one_too_many(spread: float, half_width: float) -> None:
    def half(count: int) -> float:
        return intervals.t_quantile(0.95, count - 1) * spread / math.sqrt(count)

    count = intervals.games_for_half_width(spread, half_width)
    assert half(count) <= half_width
    assert count == 2 or half(count - 1) > half_width * (1 - 1e-3)


def test_games_needed_for_a_difference() -> None:
    rng = np.random.default_rng(3)
    undecided = intervals.paired_interval(rng.normal(0.1, 1, 50), np.zeros(50))
    assert not undecided.excludes(0)
    needed = intervals.games_for_difference(undecided)
    assert needed is not None
    assert needed > 50
    assert intervals.games_for_difference(intervals.paired_interval(np.ones(5), np.ones(5))) is None
    with pytest.raises(UsageError, match="never reached"):
        intervals.games_for_half_width(1.0, 0.0)
