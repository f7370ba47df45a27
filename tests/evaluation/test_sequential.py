"""A comparison that stops by itself: how often it is wrong, how early it stops, and that it goes on where it was."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.evaluation.sequential import ELO, POINTS, WORTHS, Hypotheses, SequentialTest, compare_until_sure

TRIALS, MOST_PAIRS, BATCH = 300, 40_000, 128


def decided(hypotheses: Hypotheses, shares: np.ndarray, seed: int) -> tuple[str, int]:
    """What a test says of pairs that are worth so much that often, and after how many."""
    rng, test = np.random.default_rng(seed), SequentialTest(hypotheses, ("one", "other"))
    while not test.decided and test.pairs < MOST_PAIRS:
        test.add(rng.choice(WORTHS, BATCH, p=shares))
    return test.decided, test.pairs


def shares_of(mean: float, kinds: int) -> np.ndarray:
    """Pairs of three or five kinds with that mean, far from evenly spread."""
    shares = np.array([0.15, 0, 0.7, 0, 0.15]) if kinds == 3 else np.array([0.1, 0.2, 0.35, 0.2, 0.15])
    shares[2] -= 0.1
    shares[[0, 4]] += 0.05
    away = mean - float(shares @ np.array(WORTHS))
    return shares + np.array([-away, 0, 0, 0, away])


@pytest.mark.parametrize(("hypotheses", "kinds"), [(Hypotheses(0, 5), 3), (Hypotheses(0, 20, ELO), 5)])
def test_it_is_wrong_as_often_as_it_says_and_stops_earlier(hypotheses: Hypotheses, kinds: int):
    for truth, right in ((hypotheses.low, "low"), (hypotheses.high, "high")):
        shares = shares_of(hypotheses.worth(truth), kinds)
        found = [decided(hypotheses, shares, seed) for seed in range(TRIALS)]
        wrong = sum(verdict != right for verdict, _ in found) / TRIALS
        # An error rate of 5 % leaves 8.8 % of 300 trials once in a thousand times.
        assert wrong < 0.088
        fixed = hypotheses.fixed_pairs(shares * 1e6)
        assert np.mean([pairs for _, pairs in found]) < 0.8 * fixed


def test_pairs_that_never_differ_decide_nothing_wrongly():
    test = SequentialTest(Hypotheses(0, 3), ("one", "one"))
    test.add(np.full(20_000, 0.5))
    assert test.decided == "low"
    assert test.difference == 0


def test_the_likelihood_ratio_is_that_of_two_coins():
    """Pairs worth 0 or 1 alone are a coin, whose likelihoods everybody knows."""
    hypotheses, counts = Hypotheses(0, 10), np.array([380, 0, 0, 0, 420])
    low, high = hypotheses.worth(0), hypotheses.worth(10)
    known = 420 * np.log(high / low) + 380 * np.log((1 - high) / (1 - low))
    assert hypotheses.log_likelihood_ratio(counts) == pytest.approx(known, abs=0.01)


@pytest.mark.parametrize(
    ("text", "unit", "sentence"),
    [
        ("3,0", POINTS, "--sprt 3,0 cannot be told apart"),
        ("0,120", POINTS, "between -100 and 100 points"),
        ("0", POINTS, "expected two numbers LOW,HIGH"),
        ("a,b", ELO, "expected two numbers LOW,HIGH"),
        ("0,nan", ELO, "cannot be told apart"),
    ],
)
def test_wrong_hypotheses_are_one_sentence(text: str, unit: str, sentence: str):
    with pytest.raises(UsageError, match=sentence.replace("+", r"\+")):
        Hypotheses.read(text, unit)


def test_the_same_call_goes_on_where_it_was(tmp_path):
    wanted: dict[str, Any] = {"game_id": "balatro", "options": {"helpers": True}, "runs_root": tmp_path}
    interrupted = compare_until_sure(["heuristic", "random"], "70,80", games=8, **wanted)
    assert next(interrupted).pairs == 0
    assert [test.pairs for test in interrupted] == [8]
    (kept,) = (tmp_path / ".sprt").iterdir()
    assert json.loads(kept.read_text())["pairs"] == 8
    players, many = ["heuristic", "random"], {**wanted, "games": 24}
    assert [test.pairs for test in compare_until_sure(players, "70,80", **many)] == [8, 24]
    (resumed,) = compare_until_sure(players, "70,80", **many)
    *_, at_once = compare_until_sure(players, "70,80", **{**many, "runs_root": tmp_path / "elsewhere"})
    assert (resumed.counts == at_once.counts).all()


def test_other_players_or_hypotheses_begin_anew(tmp_path):
    wanted: dict[str, Any] = {"game_id": "balatro", "games": 4, "options": {"helpers": True}, "runs_root": tmp_path}
    assert list(compare_until_sure(["heuristic", "random"], "70,80", **wanted))[-1].pairs == 4
    assert next(compare_until_sure(["random", "heuristic"], "70,80", **wanted)).pairs == 0
    assert next(compare_until_sure(["heuristic", "random"], "70,81", **wanted)).pairs == 0
    wanted["options"] = {"helpers": True, "stake": "gold"}
    assert next(compare_until_sure(["heuristic", "random"], "70,80", **wanted)).pairs == 0
