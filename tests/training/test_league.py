"""The league: who is met how often, how scores are remembered, and that the learner never learns from others' moves."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.games.contract import BatchGame
from jimbot.policies.contract import Decision
from jimbot.policies.heuristics import RandomPolicy
from jimbot.training.jax_ppo.extensions.league_seats import LeagueSeats
from jimbot.training.jax_ppo.program import HostUpdate, initial_state, network_for, run_key
from jimbot.training.league import DEFAULT_MIX, MOST_PAST_SELVES, League, Member, Seats
from tests.envs.duel import SPEC, Duel
from tests.training.small import small_settings

ROCK, PAPER, SCISSORS = range(3)


class Always:
    """Shows the same hand whenever it may choose."""

    def __init__(self, hand: int) -> None:
        self.name, self.hand = f"always-{hand}", hand

    def act(self, observation, legal_mask, deterministic=True, key=None) -> Decision:
        actions = np.where(legal_mask[:, self.hand], self.hand, 0)
        return Decision(actions, np.eye(3, dtype=np.float32)[actions], np.zeros(len(actions), np.float32))


class WonDuel(Duel):
    """A duel whose `won` is 1, ½ or 0."""

    def step(self, actions, hold=None) -> None:
        super().step(actions, hold)
        ended = self.terminated
        self.final_stats[ended, 0] = (np.sign(self.final_stats[ended, 0]) + 1) / 2


def full_league() -> League:
    league = League()
    for name, kind in (("yesterday", "past"), ("teacher", "clone"), ("script", "exploiter"), ("opponent", "exploiter")):
        league.add(Member(name, kind, RandomPolicy()))
    return league


def test_kinds_are_met_by_their_shares() -> None:
    league = full_league()
    by_kind = dict.fromkeys(DEFAULT_MIX, 0.0)
    for member, weight in zip(league.members, league.weights(), strict=True):
        by_kind[member.kind] += weight
    assert by_kind == pytest.approx(DEFAULT_MIX)


def test_a_member_that_beats_the_learner_is_met_more_often() -> None:
    league = full_league()
    for _ in range(50):
        league.report("script", 1.0)
        league.report("opponent", 0.0)
    weights = dict(zip([member.name for member in league.members], league.weights(), strict=True))
    assert weights["opponent"] > 5 * weights["script"] > 0
    assert weights["opponent"] + weights["script"] == pytest.approx(DEFAULT_MIX["exploiter"])


def test_old_games_fade() -> None:
    league = full_league()
    for score, games in ((0.0, 500), (1.0, 500)):
        for _ in range(games):
            league.report("opponent", score)
    assert league.metrics()["league/opponent"] > 0.9


def test_kinds_without_members_leave_their_share_to_the_others() -> None:
    league = League({"self": 0.4, "past": 0.2, "clone": 0.2, "exploiter": 0.2})
    assert league.weights().tolist() == [1.0]
    league.add(Member("script", "exploiter", RandomPolicy()))
    np.testing.assert_allclose(league.weights(), [2 / 3, 1 / 3])


def test_only_the_newest_past_selves_stay_and_the_first() -> None:
    league = League()
    for number in range(20):
        league.add(Member(f"past-{number}", "past", RandomPolicy()))
    names = [member.name for member in league.members if member.kind == "past"]
    assert len(names) == MOST_PAST_SELVES
    assert names[0] == "past-0"
    assert names[-1] == "past-19"


@pytest.mark.parametrize(
    ("mix", "error", "words"),
    [
        ({"selff": 1.0}, UnknownNameError, "self"),
        ({"self": -1.0}, SettingsError, "-1"),
        ({"self": 0.0}, SettingsError, "at least one"),
    ],
)
def test_wrong_mixes_are_told(mix: dict[str, float], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        League(mix)


def play(game: BatchGame, league: League, updates: int = 1):
    settings = small_settings(num_envs=game.num_envs, num_steps=30, gamma=0.5)
    network = network_for(settings, SPEC)
    seats = Seats(game, league, seed=1)
    game.reset()
    part = LeagueSeats(settings, SPEC)
    part.seats = seats
    update = HostUpdate(settings, network, game, [part])
    state = initial_state(settings, network, game)
    for _ in range(updates):
        state = update(state, 3e-3).state
    return update.collector, network, state


def test_rows_of_others_are_played_by_them_and_never_learned_from() -> None:
    league = League({"exploiter": 1.0})
    league.add(Member("scissors", "exploiter", Always(SCISSORS)))
    collector, _, state = play(WonDuel(8, seed=2), league, updates=1)
    theirs = ~collector.counts
    assert (theirs.sum(axis=1) == 8).all()  # one seat in every game
    free = collector.legal_mask.all(axis=2)
    assert (collector.action[theirs & free] == SCISSORS).all()
    assert not collector.acting[theirs].any()
    _, _, measured = collector.collect(state.params, state.tally, run_key(3), 0)
    assert int(measured.episodes) == 8 * 30 // 5  # ours alone
    assert int(measured.decisions) == int(collector.acting.sum())
    ours = collector.reward_terms[collector.counts].sum(axis=0)
    assert np.allclose(measured.reward_terms, ours)
    assert ours.any()  # with the opponents' gains it would be nothing


def test_the_learner_learns_to_beat_a_member_and_the_league_notices() -> None:
    league = League({"exploiter": 1.0})
    league.add(Member("scissors", "exploiter", Always(SCISSORS)))
    collector, *_ = play(WonDuel(32, seed=2), league, updates=40)
    free = collector.legal_mask.all(axis=2)
    assert (collector.action[collector.counts & free] == ROCK).mean() > 0.8
    assert league.metrics()["league/scissors"] > 0.8
