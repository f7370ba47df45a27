"""Ratings from results: known strengths are found again, and the intervals hold them as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.evaluation.duels import ratings

NAMES = ("weak", "middle", "strong")


def expected_score(mine: float, theirs: float) -> float:
    """What a player of `mine` points scores against one of `theirs`, as Elo defines it."""
    return 1.0 / (1.0 + 10.0 ** ((theirs - mine) / 400.0))


def tables(scores: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    made = np.array(scores, float)
    return made, made + made.T


def test_two_hundred_points_are_three_wins_in_four() -> None:
    first, second = ratings(("a", "b"), *tables([[0, 7500], [2500, 0]]))
    assert (first.name, second.name) == ("a", "b")
    assert first.points - second.points == pytest.approx(190.85, abs=0.1)
    assert expected_score(first.points, second.points) == pytest.approx(0.75, abs=1e-4)


def test_equal_results_give_equal_ratings_of_mean_zero() -> None:
    found = ratings(NAMES, *tables([[0, 5, 5], [5, 0, 5], [5, 5, 0]]))
    assert [rating.points for rating in found] == pytest.approx([0, 0, 0], abs=1e-6)
    assert [rating.games for rating in found] == [20, 20, 20]


def test_strength_shows_through_a_third_player() -> None:
    """`weak` and `strong` never met."""
    found = ratings(NAMES, *tables([[0, 20, 0], [80, 0, 20], [0, 80, 0]]))
    assert [rating.name for rating in found] == ["strong", "middle", "weak"]
    assert found[0].points - found[2].points == pytest.approx(2 * (found[0].points - found[1].points), rel=1e-3)


def test_who_never_lost_has_a_finite_rating() -> None:
    found = ratings(NAMES, *tables([[0, 0, 0], [50, 0, 0], [50, 50, 0]]))
    assert [rating.name for rating in found] == ["strong", "middle", "weak"]
    assert np.isfinite([rating.high for rating in found]).all()


def test_more_games_make_narrower_intervals() -> None:
    few, many = (ratings(("a", "b"), *tables([[0, 6 * n], [4 * n, 0]]))[0] for n in (1, 100))
    assert many.high - many.low < 0.2 * (few.high - few.low)


def test_intervals_hold_the_true_strength_about_as_often_as_they_say() -> None:
    true = np.array([-150.0, 0.0, 150.0])
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(200):
        made = np.zeros((3, 3))
        for i in range(3):
            for j in range(i):
                made[i, j] = rng.binomial(60, expected_score(true[i], true[j]))
                made[j, i] = 60 - made[i, j]
        for rating in ratings(NAMES, made, made + made.T):
            inside += rating.low <= true[NAMES.index(rating.name)] <= rating.high
    assert 0.92 < inside / 600 < 0.985


@pytest.mark.parametrize(
    ("names", "scores", "games", "words"),
    [
        (("a",), [[0]], [[0]], "two or more"),
        (("a", "b"), [[0, 1], [1, 0]], [[0, 3], [3, 0]], "do not fit"),
        (("a", "b", "c"), [[0, 1, 0], [1, 0, 0], [0, 0, 0]], [[0, 2, 0], [2, 0, 0], [0, 0, 0]], "never met"),
    ],
)
def test_tables_that_cannot_be_rated_are_told(names: tuple[str, ...], scores: list, games: list, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ratings(names, np.array(scores), np.array(games))
