"""Playing: exactly the given seeds, each once, with nothing of the automatic restarts mixed in."""

from __future__ import annotations

import numpy as np
import pytest

from jimbot.errors import UsageError
from jimbot.evaluation import play_games
from jimbot.games.seeds import bank_seeds
from jimbot.policies.heuristics import RandomPolicy


@pytest.mark.parametrize("num_envs", [1, 4, 23, 64])
def test_every_seed_is_played_once_to_its_end(countdown, always, num_envs: int) -> None:
    seeds = np.arange(100, 123, dtype=np.uint64)
    games = play_games(always(0, "taker"), "countdown", seeds, num_envs=num_envs)
    expected = 1 + (seeds % 7).astype(int)
    assert np.array_equal(games.seeds, seeds)
    assert np.array_equal(games.lengths, expected)
    assert np.array_equal(games.returns, expected)
    assert np.array_equal(games.reward_terms, np.stack([expected, 0 * expected], axis=1))
    assert np.array_equal(games.stat("taken"), expected)
    assert games.stat("won").all()
    assert games.illegal_actions == 0
    assert not games.truncated.any()
    assert not games.unfinished.any()
    # The game's own diary: no step was spent on a restarted, repeated or finished game.
    assert dict(countdown.diary) == dict(zip(seeds.tolist(), expected.tolist(), strict=True))
    assert countdown.batches == [min(num_envs, len(seeds))]


def test_truncated_games_are_told_apart(countdown, always) -> None:
    seeds = np.arange(14, dtype=np.uint64)
    games = play_games(always(0, "taker"), "countdown", seeds, options={"limit": 3})
    assert np.array_equal(games.lengths, np.minimum(1 + seeds % 7, 3).astype(int))
    assert np.array_equal(games.truncated, seeds % 7 >= 3)


def test_games_that_never_end_are_given_up_and_counted(countdown, always) -> None:
    games = play_games(
        always(1, "passer"), "countdown", np.arange(5, dtype=np.uint64), options={"endless": True}, max_steps=40
    )
    assert games.unfinished.all()
    assert (games.lengths == 40).all()
    assert np.isnan(games.stats).all()


def test_illegal_actions_are_counted_each(countdown, always) -> None:
    seeds = np.arange(7, dtype=np.uint64)
    games = play_games(always(2, "cheater"), "countdown", seeds, num_envs=3)
    assert games.illegal_actions == sum(range(1, 8))


def test_same_luck_same_games_and_other_luck_others(countdown, always) -> None:
    seeds = np.arange(200, dtype=np.uint64)
    policy = always(0, "gambler", pass_chance=0.5)
    one, two, other = (
        play_games(policy, "countdown", seeds, deterministic=False, rng_seed=luck).returns for luck in (1, 1, 2)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_progress_counts_up_to_all_games(countdown, always) -> None:
    seen: list[tuple[int, int]] = []
    play_games(
        always(0, "taker"),
        "countdown",
        np.arange(10, dtype=np.uint64),
        num_envs=4,
        progress=lambda done, of: seen.append((done, of)),
    )
    assert [of for _, of in seen] == [10] * len(seen)
    done = [done for done, _ in seen]
    assert done == sorted(set(done))
    assert {4, 8, 10} <= set(done)


def test_a_compiled_game_gives_each_seed_the_same_game_in_any_wave() -> None:
    """Real restarts, real holding: a policy without luck must meet the same games alone and among others."""

    class First:
        name = "first"

        def act(self, observation, legal_mask, deterministic=True, key=None):
            decision = RandomPolicy().act(observation, legal_mask)
            return decision._replace(actions=legal_mask.argmax(axis=1))

    seeds = bank_seeds("held-out", 13)
    whole = play_games(First(), "probe", seeds, num_envs=13)
    waves = play_games(First(), "probe", seeds, num_envs=5)
    assert np.array_equal(whole.returns, waves.returns)
    assert np.array_equal(whole.stats, waves.stats)
    assert (whole.lengths == 8).all()
    assert len(set(whole.returns)) > 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seeds": np.array([], np.uint64)}, "at least one seed"),
        ({"num_envs": 0}, "num_envs is 0"),
        ({"max_steps": 0}, "max_steps 0"),
    ],
)
def test_wrong_use_is_one_sentence(countdown, always, changes: dict, words: str) -> None:
    arguments = {"seeds": np.arange(3, dtype=np.uint64), **changes}
    with pytest.raises(UsageError, match=words):
        play_games(always(0, "taker"), "countdown", **arguments)
