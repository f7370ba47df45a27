"""A functional game as a batch: restarts, seeds, snapshots and holding, shown with the probe game."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.errors import IllegalActionError, SnapshotError, UsageError
from jimbot.games import functional, functional_game, make
from jimbot.games.checker import random_legal
from jimbot.games.probe import Options, Probe
from jimbot.games.seeds import FIRST_TRAIN_RESIDUE, residue, split

ROWS = 8
SEEDS = np.array([0, 1, 2**32, 2**64 - 1, 42, 75, 7, 8], np.uint64)


def probe(seed: int = 0, checked: bool = True, **options: int) -> functional.FunctionalBatchGame:
    game = make("probe", ROWS, seed=seed, options=options, checked=checked)
    assert isinstance(game, functional.FunctionalBatchGame)
    return game


def play(game: functional.FunctionalBatchGame, steps: int, luck: int = 1) -> list[tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(luck)
    trace = []
    for _ in range(steps):
        game.step(random_legal(rng, game.legal_mask))
        trace.append((game.observation.copy(), game.reward.copy(), game.seeds.copy(), game.legal_mask.copy()))
    return trace


def same(one: list[tuple[np.ndarray, ...]], other: list[tuple[np.ndarray, ...]]) -> bool:
    return all(
        np.array_equal(a, b) for left, right in zip(one, other, strict=True) for a, b in zip(left, right, strict=True)
    )


def test_the_same_seeds_give_the_same_games() -> None:
    first, second, third = probe(), probe(), probe(seed=1)
    for game in (first, second, third):
        game.reset()
    assert np.array_equal(first.seeds, second.seeds)
    assert not np.isin(third.seeds, first.seeds).any()
    ours = play(first, 30)
    assert same(ours, play(second, 30))
    assert not same(ours, play(third, 30))


def test_given_seeds_are_played_and_shown() -> None:
    game = probe()
    game.reset(SEEDS)
    assert np.array_equal(game.seeds, SEEDS)
    alone = jax.vmap(Probe().init)(jnp.asarray(np.stack(split(SEEDS), axis=1)))
    assert np.array_equal(game.observation, np.asarray(jax.vmap(Probe().observe)(alone)))


def test_the_batch_steps_exactly_like_the_single_game() -> None:
    game = probe()
    game.reset(SEEDS)
    rules = Probe()
    states = [rules.init(jnp.asarray([high, low])) for high, low in zip(*split(SEEDS), strict=True)]
    rng = np.random.default_rng(0)
    for _ in range(Options().horizon - 1):
        actions = random_legal(rng, game.legal_mask)
        game.step(actions)
        for row in (0, 3):
            states[row], transition = rules.step(states[row], jnp.int32(actions[row]))
            assert np.array_equal(game.observation[row], rules.observe(states[row]))
            assert np.array_equal(game.legal_mask[row], rules.legal_mask(states[row]))
            assert game.reward[row] == float(transition.reward_terms.sum())


def test_no_restart_seed_is_used_twice() -> None:
    """1,200 steps of games that last one step: every row starts 1,200 games, and so on after a reset."""
    game = probe(horizon=1)
    game.reset()
    seen = [game.seeds.copy()]
    for _ in range(600):
        game.step(game.legal_mask.argmax(axis=1))
        assert game.terminated.all()
        seen.append(game.seeds.copy())
    game.reset()
    seen.append(game.seeds.copy())
    for _ in range(599):
        game.step(game.legal_mask.argmax(axis=1))
        seen.append(game.seeds.copy())
    every = np.concatenate(seen)
    assert len(np.unique(every)) == len(every) == 1201 * ROWS
    assert (residue(*split(every)) >= FIRST_TRAIN_RESIDUE).all()


def test_a_drawn_judging_seed_is_moved_into_the_train_bank() -> None:
    """About one draw in fifty is a judging seed; all must come out as train seeds, and their neighbours unharmed."""
    streams = jnp.asarray(functional.row_streams(3, 5_000))
    drawn = np.asarray(jax.jit(jax.vmap(functional.train_seed))(streams, jnp.zeros(5_000, jnp.uint32)))
    assert (residue(drawn[:, 0], drawn[:, 1]) >= FIRST_TRAIN_RESIDUE).all()


def test_an_ended_game_shows_the_next_one_and_keeps_its_last_sight() -> None:
    game = probe(horizon=3)
    game.reset()
    play(game, 2)
    assert not game.terminated.any()
    before = game.seeds.copy()
    play(game, 1)
    assert game.terminated.all()
    assert not (game.seeds == before).any()
    progress = game.spec.observation.span("progress")
    assert (game.observation[:, progress] == 0).all(), "the new game's first observation"
    assert (game.final_observation[:, progress] == 1).all(), "the ended game's last observation"
    fresh = probe(horizon=3)
    fresh.reset(game.seeds)
    assert np.array_equal(fresh.observation, game.observation)


def test_terminated_and_truncated_are_kept_apart() -> None:
    cut = probe(horizon=8, step_limit=5)
    cut.reset()
    play(cut, 5)
    assert cut.truncated.all()
    assert not cut.terminated.any()
    both_at_once = probe(horizon=5, step_limit=5)
    both_at_once.reset()
    play(both_at_once, 5)
    assert both_at_once.terminated.all(), "the rules come first"
    assert not both_at_once.truncated.any()


def test_final_stats_describe_the_ended_game() -> None:
    game = probe(horizon=4)
    game.reset()
    returns = np.zeros(ROWS)
    rng = np.random.default_rng(3)
    for _ in range(4):
        game.step(random_legal(rng, game.legal_mask))
        returns += game.reward
    assert np.array_equal(game.final_stats[:, 0], returns)


def test_held_rows_stand_still_even_when_their_action_would_end_the_game() -> None:
    game = probe(horizon=2)
    game.reset()
    play(game, 1)
    hold = np.arange(ROWS) % 2 == 0
    observation, seeds = game.observation.copy(), game.seeds.copy()
    actions = game.legal_mask.argmax(axis=1)
    actions[hold] = 0  # illegal for most, and ignored
    game.step(actions, hold=hold)
    assert np.array_equal(game.observation[hold], observation[hold])
    assert np.array_equal(game.seeds[hold], seeds[hold])
    assert game.terminated.tolist() == (~hold).tolist()
    assert not game.reward[hold].any()
    game.step(game.legal_mask.argmax(axis=1), hold=~hold)
    assert game.terminated.tolist() == hold.tolist(), "a held game goes on where it stood"


def test_a_snapshot_continues_exactly_in_another_batch() -> None:
    game = probe()
    game.reset()
    play(game, 5)
    saved = game.snapshot()
    expected = play(game, 30, luck=2)
    game.restore(saved)
    assert same(expected, play(game, 30, luck=2))
    other = probe(seed=9)  # never reset: restoring is a way to start
    other.restore(saved)
    assert same(expected, play(other, 30, luck=2))


def test_some_rows_go_back_alone() -> None:
    game = probe()
    game.reset()
    rows = np.array([5, 1])
    saved = game.snapshot(rows)
    at_start = game.observation.copy()
    play(game, 3)
    later = game.observation.copy()
    game.restore(saved, rows)
    assert np.array_equal(game.observation[rows], at_start[rows])
    others = np.setdiff1d(np.arange(ROWS), rows)
    assert np.array_equal(game.observation[others], later[others])


def test_wrong_snapshots_are_refused_in_a_sentence() -> None:
    game = probe()
    game.reset()
    saved = game.snapshot()
    with pytest.raises(SnapshotError, match="nothing known"):
        game.restore({})
    with pytest.raises(SnapshotError, match=r"probe v1 .*horizon=4"):
        game.restore(dict(saved, game=probe(horizon=4)._tag()))
    with pytest.raises(SnapshotError, match="damaged or of another size"):
        game.restore({name: value for name, value in saved.items() if "colour" not in name})
    with pytest.raises(SnapshotError, match="damaged or of another size"):
        game.restore({name: value[:3] if value.ndim else value for name, value in saved.items()})
    with pytest.raises(SnapshotError, match="damaged or of another size"):
        game.restore({name: value.astype(np.float64) if value.ndim else value for name, value in saved.items()})
    game.restore(saved)


def test_named_leaves_come_back_as_the_same_tree() -> None:
    rows = functional.start(Probe(), jnp.asarray(functional.row_streams(0, 3)))
    leaves = functional.named_leaves(rows)
    back = functional.from_named_leaves(rows, leaves, "checkpoint")
    assert jax.tree.structure(back) == jax.tree.structure(rows)
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(back), jax.tree.leaves(rows), strict=True))
    name = next(iter(leaves))
    with pytest.raises(SnapshotError, match="The checkpoint lacks"):
        functional.from_named_leaves(rows, {key: leaf for key, leaf in leaves.items() if key != name}, "checkpoint")
    with pytest.raises(SnapshotError, match="belongs to another game"):
        functional.from_named_leaves(rows, {**leaves, name: leaves[name][:1]}, "checkpoint")


def test_hidden_luck_is_redealt_without_a_trace_and_only_where_asked() -> None:
    known, redealt = probe(), probe()
    for game in (known, redealt):
        game.reset(SEEDS)
    rows = np.array([2, 4])
    redealt.redraw_hidden(rows, np.array([11, 12], np.uint64))
    assert np.array_equal(known.observation, redealt.observation)
    others = np.setdiff1d(np.arange(ROWS), rows)
    masks = []
    for _ in range(Options().horizon - 1):
        for game in (known, redealt):
            game.step(game.legal_mask.argmax(axis=1))
        assert np.array_equal(known.legal_mask[others], redealt.legal_mask[others])
        masks.append((known.legal_mask[rows] == redealt.legal_mask[rows]).all(axis=1))
    assert not np.all(masks, axis=0).any(), "the future of re-dealt rows must be another one"


def test_illegal_actions_raise_when_checked_and_are_counted_when_fast() -> None:
    checked, fast = probe(), probe(checked=False)
    for game in (checked, fast):
        game.reset()
    actions = checked.legal_mask.argmax(axis=1)
    actions[[2, 6]] = checked.legal_mask[[2, 6]].argmin(axis=1)
    with pytest.raises(IllegalActionError, match=r"row 2, seed \d+; legal are \["):
        checked.step(actions)
    fast.step(actions)
    assert fast.illegal_actions == 2
    actions[1] = fast.spec.actions.size
    with pytest.raises(IllegalActionError, match="outside the action table"):
        fast.step(actions)


def test_wrong_calls_are_answered_with_what_to_do() -> None:
    game = probe()
    with pytest.raises(UsageError, match=r"Call reset\(\) first"):
        game.step(np.zeros(ROWS, int))
    with pytest.raises(UsageError, match=r"expected \(8,\), one per game"):
        game.reset(np.zeros(3, np.uint64))
    game.reset()
    with pytest.raises(UsageError, match=r"expected \(8,\), one per row"):
        game.step(np.zeros(3, int))
    with pytest.raises(UsageError, match="num_envs is 0"):
        make("probe", 0)


@pytest.mark.parametrize("game_id", ["probe", "hackmatrix"])
def test_stepped_rows_have_the_very_types_of_started_ones(game_id: str) -> None:
    """Otherwise every program that steps them would be compiled twice."""
    game = functional_game(game_id)
    assert game is not None
    started = jax.eval_shape(partial(functional.start, game), jnp.asarray(functional.row_streams(0, 4)))
    stepped, _ = jax.eval_shape(partial(functional.advance, game), started, jnp.zeros(4, jnp.int32))
    for before, after in zip(jax.tree.leaves(started), jax.tree.leaves(stepped), strict=True):
        assert (before.shape, before.dtype, before.weak_type) == (after.shape, after.dtype, after.weak_type)
