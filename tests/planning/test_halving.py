"""The arithmetic of spending tries, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from jimbot.planning.planner import MOST_NATS, Candidates, determinizations_of, rounds_of


def candidates(*returns: list[float]) -> Candidates:
    probabilities = np.array([0.4, 0.3, 0.2, 0.1], np.float32)[: len(returns)]
    found = Candidates.of(probabilities, own=0, count=len(returns))
    found.returns = list(returns)
    return found


def test_the_policys_own_move_comes_first_and_the_likely_ones_follow():
    found = Candidates.of(np.array([0.1, 0.0, 0.5, 0.4], np.float32), own=3, count=3)
    assert found.actions.tolist() == [3, 2, 0]  # never action 1, whose probability is 0
    assert found.alive == [0, 1, 2]


def test_a_gain_is_the_mean_difference_in_the_same_worlds():
    gain, error = candidates([1.0, 3.0], [2.0, 5.0]).gain(1, prior=0.0)
    assert gain == pytest.approx(1.5)  # differences 1 and 2
    assert error == pytest.approx(math.sqrt(0.5) / math.sqrt(2))


def test_luck_that_both_moves_share_cancels_out():
    gain, error = candidates([0.0, 100.0], [1.0, 101.0]).gain(1, prior=0.0)
    assert (gain, error) == (pytest.approx(1.0), pytest.approx(0.0))


def test_one_world_proves_nothing():
    found = candidates([0.0], [5.0])
    assert found.gain(1, prior=0.0)[1] == math.inf
    assert found.verdict(margin=1.0, prior=0.0)[0] == 0
    assert found.verdict(margin=0.0, prior=0.0)[0] == 1  # unless nobody asks for proof


def test_the_worse_half_is_dropped_and_the_policys_own_move_never():
    found = candidates([9.0, 9.0], [1.0, 1.0], [3.0, 3.0], [2.0, 2.0])
    found.drop_half(prior=0.0)
    assert found.alive == [0, 2]


def test_a_move_that_is_clearly_worse_is_given_up():
    same = [0.0, 1.0, 0.0, 1.0]
    found = candidates(same, [-1.0, -0.1, -1.0, 0.0])
    found.drop_half(prior=0.0)
    assert found.alive == [0]
    assert found.verdict(margin=0.0, prior=0.0)[0] == 0
    unclear = candidates(same, [-1.0, 3.0, -1.0, -1.5])
    unclear.drop_half(prior=0.0)
    assert unclear.alive == [0, 1]


def test_a_better_move_must_be_better_by_the_margin():
    found = candidates([0.0, 0.0, 0.0], [1.0, -0.5, 1.0])
    gain, error = found.gain(1, 0.0)
    assert found.verdict(margin=gain / error - 0.01, prior=0.0)[0] == 1
    assert found.verdict(margin=gain / error + 0.01, prior=0.0)[0] == 0


def test_a_prior_holds_back_moves_the_policy_finds_unlikely():
    found = candidates([0.0, 0.0], [0.1, 0.1])
    assert found.verdict(margin=1.0, prior=0.0)[0] == 1
    assert found.verdict(margin=1.0, prior=1.0)[0] == 0


@pytest.mark.parametrize(("rollouts", "candidates"), [(32, 4), (64, 8), (16, 2), (100, 5)])
def test_no_more_is_tried_than_was_allowed(rollouts: int, candidates: int):
    rounds, alive, spent = rounds_of(candidates), candidates, 0
    for _ in range(rounds):
        spent += alive * determinizations_of(rollouts, rounds, alive)
        alive = 1 + max(1, (alive - 1) // 2)
    assert spent <= rollouts


def test_noise_draws_which_moves_are_looked_at():
    probabilities = np.array([0.7, 0.1, 0.1, 0.1], np.float32)
    noise = np.array([0.0, 0.0, 9.0, 0.0])
    found = Candidates.of(probabilities, own=0, count=2, noise=noise)
    assert found.actions.tolist() == [0, 2]
    found.returns = [[0.0, 1.0], [0.0, 1.0]]
    assert found.verdict(margin=1.0, prior=0.0)[0] == 1  # the draw decides where both brought the same


def test_gains_in_standard_errors_move_the_policy():
    probabilities = np.array([0.4, 0.3, 0.2, 0.1], np.float32)
    found = Candidates.of(probabilities, own=0, count=3)
    found.returns = [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
    nats = 2.0 / (1.0 / math.sqrt(3))
    assert found.nats() == pytest.approx([0.0, nats, 0.0])
    weights = np.array([0.4, 0.3 * math.exp(nats), 0.2, 0.1])
    assert found.improved(probabilities) == pytest.approx(weights / weights.sum(), rel=1e-5)


def test_certain_gains_are_bounded_and_nothing_tried_changes_nothing():
    probabilities = np.array([0.6, 0.4], np.float32)
    found = Candidates.of(probabilities, own=0, count=2)
    assert found.improved(probabilities) == pytest.approx(probabilities)
    found.returns = [[0.0, 0.0], [1.0, 1.0]]
    assert found.nats().tolist() == [0.0, MOST_NATS]
    found.returns = [[0.0, 0.0], [-1.0, -1.0]]
    assert found.improved(probabilities)[1] == pytest.approx(0.4 * math.exp(-5) / (0.6 + 0.4 * math.exp(-5)), rel=1e-4)


def test_a_gain_must_be_worth_it_however_sure_it_is():
    found = Candidates.of(np.array([0.6, 0.4], np.float32), own=0, count=2)
    found.returns = [[0.5, 0.6, 0.7], [0.51, 0.61, 0.71]]
    assert found.verdict(margin=1.0, prior=0.0)[0] == 1
    assert found.verdict(margin=1.0, prior=0.0, least=0.02)[0] == 0
    assert found.verdict(margin=1.0, prior=0.0, least=0.005)[0] == 1
