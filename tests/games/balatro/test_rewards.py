"""Rewards: named terms, bounded shaping that adds up over an episode, presets and statistics."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.games.balatro.encoding import rewards
from jimbot.games.balatro.encoding.rewards import MEMORY, PRESETS, STATS, TERMS
from tests.games.balatro.playing import Run
from tests.games.balatro.wandering import wander

ONES = np.ones(len(TERMS))
AIMS = ("progress", "score")


def remember(run: Run) -> np.ndarray:
    memory = np.zeros(MEMORY)
    rewards.remember(run.g, memory)
    return memory


def terms(
    run: Run, memory: np.ndarray, ended: bool = False, weights: np.ndarray = ONES, discount: float = 1.0
) -> dict[str, float]:
    out = np.full(len(TERMS), np.nan, np.float32)
    rewards.write(run.g, memory, ended, weights, discount, out)
    return dict(zip(TERMS, out.tolist(), strict=True))


def stats(run: Run, points: float = 0.0) -> dict[str, float]:
    out = np.full(len(STATS), np.nan, np.float32)
    rewards.write_stats(run.g, points, out)
    return dict(zip(STATS, out.tolist(), strict=True))


def potentials(run: Run) -> np.ndarray:
    memory = remember(run)
    score = TERMS.index("score")
    memory[score] = min(2.0, np.log10(1 + memory[score]) / 12)  # the best hand is remembered, its digits are the worth
    return np.array([memory[TERMS.index(name)] for name in AIMS])


# --- events ---


def test_beating_a_blind_pays_once_and_the_progress_of_one_blind():
    run = Run().act("select")
    memory = remember(run)
    run.win_round()
    got = terms(run, memory)
    assert got["blind"] == 1
    assert got["progress"] == pytest.approx(1 / 24)
    memory = remember(run)
    run.act("cash_out")
    after = terms(run, memory)
    assert after["blind"] == after["progress"] == 0
    assert after["money"] > 0


def test_skipping_a_blind_is_no_progress_until_the_boss_is_beaten():
    run = Run()
    memory = remember(run)
    got = terms(run.act("skip"), memory)
    assert got["blind"] == got["progress"] == 0
    memory = remember(run.act("skip").act("select"))
    run.win_round()
    assert terms(run, memory)["progress"] == pytest.approx(3 / 24)


def test_beating_a_boss_is_the_progress_of_one_blind_although_the_ante_begins_at_once():
    run = Run()
    for _ in range(2):
        run.act("select").win_round().act("cash_out").act("next")
    run.act("select")
    memory = remember(run)
    run.win_round()
    assert run.g.ante == 2
    assert terms(run, memory)["progress"] == pytest.approx(1 / 24)
    before = remember(run)
    assert terms(run.act("cash_out"), before)["progress"] == 0


def test_the_last_boss_wins_and_completes_the_way():
    run = Run()
    run.g.ante = 8
    run.act("skip").act("skip").act("select")
    memory = remember(run)
    run.win_round()
    assert run.phase == "won"
    got = terms(run, memory, ended=True)
    assert got["win"] == 1
    assert got["lose"] == 0
    assert potentials(run)[0] == pytest.approx(1)


def test_a_win_pays_once_in_an_endless_run():
    run = Run(endless=True)
    run.g.ante = 8
    run.act("skip").act("skip").act("select")
    memory = remember(run)
    assert terms(run.win_round(), memory)["win"] == 1
    memory = remember(run)
    assert terms(run.act("cash_out"), memory)["win"] == 0
    assert terms(run, remember(run), ended=True)["lose"] == 0


def test_losing_costs_and_the_score_reached_stays_counted():
    run = Run().act("select")
    run.g.hands_left = 1
    memory = remember(run)
    run.act("play", cards=[0])
    assert run.phase == "game_over"
    got = terms(run, memory, ended=True)
    assert got["lose"] == -1
    assert got["blind"] == got["win"] == 0
    assert 0 < got["progress"] < 1 / 24


def test_a_hand_counts_by_its_share_of_the_requirement():
    run = Run().act("select")
    memory = remember(run)
    run.g.score = run.g.requirement / 2
    assert terms(run, memory)["progress"] == pytest.approx(0.5 / 24)


# --- aims and shaping ---


@pytest.mark.parametrize("seed", range(3))
def test_aims_add_up_to_how_far_a_run_came(seed):
    run = Run(seed=f"REWARD{seed + 1}", stake=1 + 3 * seed)
    first = potentials(run)
    total = np.zeros(len(AIMS))
    memory = remember(run)
    for state in wander(run, seed, 200):
        got = terms(state, memory)
        total += [got[name] for name in AIMS]
        memory = remember(state)
    got = terms(run, memory, ended=True)
    total += [got[name] for name in AIMS]
    assert total == pytest.approx(potentials(run) - first, abs=1e-5)


@pytest.mark.parametrize("ended", [True, False])
def test_dollars_left_over_pay_nothing_at_the_end_and_stay_counted_where_a_run_is_cut_off(ended):
    """Discounted, money adds up to minus what the first dollars were worth; a cut-off run keeps its potential."""
    run, discount = Run(seed="REWARD1"), 0.9
    run.g.money = first = 20
    total, worth, memory = 0.0, 1.0, remember(run)
    for dollars in (5, 50, 33):
        run.g.money = dollars
        total += worth * terms(run, memory, ended and dollars == 33, discount=discount)["money"]
        worth, memory = worth * discount, remember(run)
    left = 0.0 if ended else worth * 33 / 100
    assert total == pytest.approx(left - first / 100, abs=1e-6)


@pytest.mark.parametrize("score", [1e2, 1e6, 1e12, 1e30, 1e300, np.inf])
def test_terms_stay_bounded_for_every_score(score):
    run = Run().act("select")
    memory = remember(run)
    run.g.best_hand, run.g.score, run.g.money = score, score, 10**15
    got = terms(run, memory)
    assert all(np.isfinite(value) and abs(value) <= 2 for value in got.values())
    assert got["progress"] == pytest.approx((min(1, score / 300)) / 24)
    assert np.isfinite(list(stats(run, score).values())).all()


def test_requirements_beyond_all_numbers_give_finite_progress():
    run = Run(endless=True).act("select")
    run.g.requirement = run.g.score = np.inf
    assert np.isfinite(potentials(run)).all()
    run.g.ante = 10**6
    assert potentials(run)[0] == 4


def test_a_hand_of_a_trillion_is_worth_one_and_only_the_best_hand_counts():
    run = Run().act("select")
    memory = remember(run)
    run.g.best_hand = 1e12
    assert terms(run, memory)["score"] == pytest.approx(1)
    assert terms(run, remember(run))["score"] == 0


def test_the_best_hand_is_the_most_a_single_hand_scored():
    run = Run().act("select")
    scored = []
    for cards in ([0, 1, 2, 3, 4], [0]):
        before = float(run.g.score)
        run.act("play", cards=cards)
        scored.append(float(run.g.score) - before)
    assert run.g.best_hand == max(scored)


# --- presets and statistics ---


def test_presets_weigh_every_term():
    assert set(PRESETS) == {"win", "progress", "score"}
    for weights in PRESETS.values():
        assert len(weights) == len(TERMS)


def test_weights_scale_each_term():
    run = Run().act("select")
    memory = remember(run)
    run.win_round()
    plain = terms(run, memory)
    weights = np.arange(len(TERMS), dtype=np.float64)
    weighted = terms(run, memory, weights=weights)
    for index, name in enumerate(TERMS):
        assert weighted[name] == pytest.approx(index * plain[name])


def test_statistics_describe_the_run():
    run = Run().act("skip").act("select").win_round().act("cash_out")
    run.joker("j_joker")
    run.g.best_hand = 999.0
    got = stats(run)
    assert got["blinds_cleared"] == got["rounds"] == 1
    assert got["skips"] == 1
    assert got["jokers"] == 1
    assert got["hands_played"] == 1
    assert got["ante"] == got["highest_ante"] == 1
    assert got["money"] == run.money
    assert got["steps"] == 4
    assert got["won"] == 0
    assert got["best_hand_log10"] == got["highest_hand_log10"] == pytest.approx(3)


def test_the_score_of_a_run_is_that_of_all_its_hands_in_points_and_in_digits():
    run = Run().act("select")
    points, scored = 0.0, []
    for cards in ([0, 1, 2, 3, 4], [0]):
        before = float(run.g.score)
        run.act("play", cards=cards)
        points += rewards.points_gained(run.g, before)
        scored.append(float(run.g.score) - before)
    assert points == sum(scored) > max(scored)
    got = stats(run, points)
    assert got["score"] == pytest.approx(points)
    assert got["score_log10"] == pytest.approx(np.log10(1 + points))


def test_a_new_round_takes_no_points_away():
    run = Run().act("select").win_round()
    before = float(run.g.score)
    run.act("cash_out").act("next").act("select")
    assert before > run.g.score == 0
    assert rewards.points_gained(run.g, before) == 0


@pytest.mark.parametrize("points", [1e300, np.inf, np.nan])
def test_no_run_counts_more_points_than_a_mean_can_bear(points):
    got = stats(Run(), points)
    assert got["score"] == np.float32(1e15)
    assert 300 <= got["score_log10"] <= 308
