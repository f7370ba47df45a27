"""How many games a statement needs, checked against the intervals themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.evaluation import intervals
from jimbot.evaluation.summary import Claim, games_to_halve


@pytest.mark.parametrize(("rate", "other"), [(0.04, 0.0235), (0.02, 0.0235), (0.5, 0.6), (0.0, 0.0235), (1.0, 0.9)])
def test_the_number_of_games_that_tells_two_rates_apart_is_the_smallest(rate: float, other: float) -> None:
    needed = intervals.games_to_tell_rate(rate, other)
    assert needed is not None

    def told(count: int) -> bool:
        # Wilson's interval of a rate that need not be a whole number of games.
        z = 1.959963984540054
        centre = (rate + z * z / (2 * count)) / (1 + z * z / count)
        half = z / (1 + z * z / count) * math.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))
        return not centre - half <= other <= centre + half

    assert told(needed)
    assert not told(needed - 1)


def test_an_equal_rate_is_never_told_apart_and_a_certain_one_is_refused() -> None:
    assert intervals.games_to_tell_rate(0.25, 0.25) is None
    with pytest.raises(UsageError, match="between 0 and 1"):
        intervals.games_to_tell_rate(0.25, 1.0)


def test_half_an_interval_is_reached_with_the_games_it_names() -> None:
    interval = intervals.wilson_interval(40, 1000)
    needed = games_to_halve(interval, is_rate=True)
    assert needed is not None
    assert intervals.wilson_interval(round(0.04 * needed), needed).half_width == pytest.approx(
        interval.half_width / 2, rel=0.01
    )
    assert intervals.games_for_rate_half_width(0.0, intervals.wilson_interval(0, 400).half_width) == 400
    mean = intervals.mean_interval(np.random.default_rng(0).normal(size=400))
    assert games_to_halve(mean) == pytest.approx(1600, rel=0.02)
    assert games_to_halve(intervals.mean_interval(np.ones(10))) is None
    assert games_to_halve(None) is None


def test_claims_are_decided_or_say_what_would_decide_them() -> None:
    above = Claim(intervals.wilson_interval(60, 1000), 0.0235)
    assert (above.verdict, above.to_dict()["more_games"]) == ("above", 0)
    assert str(above) == "The win rate of 6.00% is above 2.35% with 95 % confidence."
    below = Claim(intervals.wilson_interval(0, 1000), 0.0235)
    assert below.verdict == "below"
    still_open = Claim(intervals.wilson_interval(4, 100), 0.0235)
    assert (still_open.verdict, still_open.games_needed) == ("open", 324)
    assert "324 games would decide (224 more)" in str(still_open)
    assert Claim(intervals.wilson_interval(1, 4), 0.25).games_needed is None


def test_a_paired_rate_counts_only_games_that_differ() -> None:
    """Bonett and Price by hand: 12 and 4 of 100 differ, so (13 − 5) / 102 with its standard error."""
    one = np.array([1] * 12 + [0] * 4 + [1] * 30 + [0] * 54)
    other = np.array([0] * 12 + [1] * 4 + [1] * 30 + [0] * 54)
    interval = intervals.paired_rate_interval(one, other)
    centre, error = 8 / 102, math.sqrt((18 / 102 - (8 / 102) ** 2) / 102)
    assert interval.mean == pytest.approx(0.08)
    assert (interval.low, interval.high) == pytest.approx((centre - 1.959964 * error, centre + 1.959964 * error))


def test_no_difference_in_few_games_is_not_certainty() -> None:
    few, many = (intervals.paired_rate_interval(np.zeros(n), np.zeros(n)) for n in (20, 2000))
    assert few.low < -0.05
    assert few.high > 0.05
    assert many.half_width < 0.01


def test_paired_rates_hold_their_confidence() -> None:
    """Two equal players whose wins have luck in common: about 5 in 100 intervals may miss the true 0."""
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(400):
        shared = rng.random(80) < 0.1
        one, other = (np.where(rng.random(80) < 0.7, shared, rng.random(80) < 0.1) for _ in range(2))
        missed += intervals.paired_rate_interval(one.astype(int), other.astype(int)).excludes(0.0)
    assert missed <= 32


def test_survival_counts_games_that_came_at_least_so_far() -> None:
    curve = intervals.survival(np.array([0.0, 1, 1, 3, np.nan]))
    assert list(curve) == [1, 2, 3]
    assert [share.mean for share in curve.values()] == [0.6, 0.2, 0.2]
    assert curve[1] == intervals.wilson_interval(3, 5)
    assert intervals.survival(np.zeros(4)) == {}
