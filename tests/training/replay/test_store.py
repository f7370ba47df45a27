"""The compressed store: exact, bounded in bytes, oldest out first, drawn from by priority, restored bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
import zstandard

from jimbot.errors import CheckpointError, SettingsError, TrainingError
from jimbot.training.replay.lockstep import Steps
from jimbot.training.replay.store import SEGMENT_STEPS, ReplayStore
from tests.training.replay.play import (
    ACTIONS,
    GAMES,
    SIZE,
    add_steps,
    ends,
    expected_window,
    filled,
    legal,
    observation,
)


@pytest.mark.parametrize("n_step", [1, 3, 12])
@pytest.mark.parametrize("steps", [16, 200, 1000])
def test_windows_are_exact_and_end_where_games_end(n_step: int, steps: int) -> None:
    store, _ = filled(steps)
    drawn = store.draw(400, np.random.default_rng(1), n_step, 0.9)
    newest = steps // SEGMENT_STEPS * SEGMENT_STEPS - 1
    for number in range(400):
        step, game = drawn.observation[number, :2].astype(int)
        reward, discount, end, terminated = expected_window(step, game, n_step, 0.9, newest)
        np.testing.assert_array_equal(drawn.observation[number], observation(step)[game])
        np.testing.assert_array_equal(drawn.legal_mask[number], legal(step)[game])
        assert drawn.action[number] == step % ACTIONS
        assert drawn.reward[number] == pytest.approx(reward)
        assert drawn.discount[number] == pytest.approx(discount)
        assert drawn.terminated[number] == terminated
        if not terminated:
            np.testing.assert_array_equal(drawn.next_observation[number], observation(end)[game])
            np.testing.assert_array_equal(drawn.next_legal_mask[number], legal(end)[game])


def test_every_step_that_can_be_learned_from_is_drawn_and_no_other() -> None:
    store, _ = filled(48)
    drawn = store.draw(5000, np.random.default_rng(0))
    found = {(int(step), int(game)) for step, game in drawn.observation[:, :2]}
    wanted = {
        (step, game)
        for step in range(48)
        for game in range(GAMES)
        if not ends(step)[1][game] and (step < 47 or ends(step)[0][game])
    }
    assert found == wanted


def test_the_oldest_steps_make_room_and_the_limit_in_bytes_holds() -> None:
    limit = 40_000
    store, writer = filled(8, limit)
    for stop in range(16, 800, 8):
        add_steps(writer, stop - 8, stop)
        assert store.nbytes <= limit
        held = store.rows(np.arange(store.oldest, store.newest) * SEGMENT_STEPS)[0][:, 0]
        oldest = held.min()
        assert (np.diff(held) >= 0).all(), "segments lie in the order they were put"
        assert set(np.unique(held)) == set(np.arange(oldest, stop, 8)), "only the oldest are missing"
    assert 0 < oldest < 790
    assert store.steps == (store.newest - store.oldest) * SEGMENT_STEPS
    index = store.draw(200, np.random.default_rng(0)).index
    assert index.min() >= store.oldest * SEGMENT_STEPS


def test_the_number_of_steps_is_bounded_too() -> None:
    store, _ = filled(600, max_steps=120)
    assert 120 <= store.steps <= 120 + 2 * SEGMENT_STEPS


def test_steps_are_drawn_in_proportion_to_their_priority() -> None:
    store, _ = filled(64, alpha=0.5)
    rng = np.random.default_rng(0)
    everything = np.unique(store.draw(5000, rng).index)
    store.update_priorities(everything, np.zeros(len(everything)))
    chosen = everything[[3, 50]]
    store.update_priorities(chosen, np.array([4.0, 64.0]))
    index = store.draw(20_000, rng).index
    shares = [(index == row).mean() for row in chosen]
    rest = (len(everything) - 2) * 1e-6**0.5
    assert shares[0] == pytest.approx(2 / (10 + rest), rel=0.05)
    assert shares[1] == pytest.approx(8 / (10 + rest), rel=0.05)


def test_importance_weights_undo_the_priorities() -> None:
    store, _ = filled(64, alpha=1.0)
    rng = np.random.default_rng(0)
    everything = np.unique(store.draw(5000, rng).index)
    store.update_priorities(everything, rng.uniform(0.5, 5, len(everything)))
    drawn = store.draw(50_000, rng, beta=1.0)
    assert drawn.weight.max() == pytest.approx(1.0)
    mass = np.array([drawn.weight[drawn.index == row].sum() for row in everything])
    np.testing.assert_allclose(mass / mass.mean(), 1.0, rtol=0.15)


def test_a_boost_multiplies_the_priority_and_stays_when_it_is_updated() -> None:
    store, writer = filled(0, alpha=1.0)
    for step in range(16):
        none = np.zeros(GAMES, bool)
        boost = np.where((step == 5) & (np.arange(GAMES) == 1), 9.0, 1.0)
        writer.add(Steps(observation(step), legal(step), np.zeros(GAMES), np.zeros(GAMES), none, none), boost)
    rng = np.random.default_rng(0)
    for _ in range(2):
        drawn = store.draw(20_000, rng)
        rare = (drawn.observation[:, 0] == 5) & (drawn.observation[:, 1] == 1)
        assert rare.mean() == pytest.approx(9 / (15 * GAMES - 1 + 9), rel=0.1)
        everything = np.unique(drawn.index)
        store.update_priorities(everything, np.full(len(everything), 2.0))


def test_what_was_evicted_since_it_was_drawn_keeps_no_priority() -> None:
    store, writer = filled(64, 40_000)
    index = store.draw(64, np.random.default_rng(0)).index
    add_steps(writer, 64, 800)
    total = store.tree.total
    store.update_priorities(index, np.full(64, 1e6))
    assert store.tree.total == total


@pytest.mark.parametrize("limit", [40_000, 10**6])
def test_a_restored_store_goes_on_exactly_as_the_original(limit: int) -> None:
    store, writer = filled(403, limit)
    rng = np.random.default_rng(3)
    for _ in range(20):
        store.update_priorities(store.draw(50, rng).index, rng.random(50))
    other, second = filled(0, limit)
    other.load_arrays(store.arrays())
    second.load_arrays(writer.arrays())
    for one in (writer, second):
        add_steps(one, 403, 900)
    expected, found = (one.draw(80, np.random.default_rng(5), 3) for one in (store, other))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for name, value in store.arrays().items():
        np.testing.assert_array_equal(other.arrays()[name], value, err_msg=name)


def test_a_smaller_store_keeps_the_newest_steps() -> None:
    store, writer = filled(400, 10**6)
    before = store.nbytes
    store.resize(60_000)
    assert store.nbytes <= 60_000 < before
    drawn = store.draw(300, np.random.default_rng(0), 3, 0.9)
    assert drawn.observation[:, 0].min() > 50
    for number in range(300):
        step, game = drawn.observation[number, :2].astype(int)
        assert drawn.reward[number] == pytest.approx(expected_window(step, game, 3, 0.9, 399)[0])
    add_steps(writer, 400, 800)
    assert store.rows(np.array([(store.newest - 1) * SEGMENT_STEPS]))[0][0, 0] == 792


def test_the_arrays_of_another_game_are_refused() -> None:
    with pytest.raises(CheckpointError, match="another game"):
        ReplayStore(SIZE + 1, ACTIONS, 10**6).load_arrays(filled(100)[0].arrays())


def test_parts_that_do_not_fit_together_are_refused() -> None:
    arrays = filled(100)[0].arrays()
    for name, value in (("size", -1), ("offset", 2**40), ("count", 99), ("following", 10**9), ("leaf", np.nan)):
        wrong = {**arrays, name: np.full_like(arrays[name], value)}
        with pytest.raises(CheckpointError, match="do not fit together"):
            filled(0)[0].load_arrays(wrong)


def test_a_segment_that_would_unpack_to_more_than_its_rows_is_refused() -> None:
    arrays = filled(16)[0].arrays()
    bomb = zstandard.ZstdCompressor().compress(b"\0" * 10_000_000)
    first, rest = int(arrays["size"][0]), arrays["frames"]
    grown = len(bomb) - first
    arrays["frames"] = np.concatenate([np.frombuffer(bomb, np.uint8), rest[first:]])
    arrays["size"] = np.concatenate([[len(bomb)], arrays["size"][1:]]).astype(arrays["size"].dtype)
    arrays["offset"] = arrays["offset"] + np.where(np.arange(len(arrays["offset"])) > 0, grown, 0)
    with pytest.raises(CheckpointError, match="unpacks to 10,000,000 bytes"):
        filled(0)[0].load_arrays(arrays)


def test_an_empty_store_and_a_limit_too_small_say_so() -> None:
    with pytest.raises(TrainingError, match="nothing to learn from yet"):
        filled(4)[0].draw(1, np.random.default_rng(0))
    with pytest.raises(SettingsError, match="Give it at least"):
        ReplayStore(923, 822, 50_000)
