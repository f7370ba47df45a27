from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecNormalize

from jimbot.envs.sb3_vec_env import BatchVecEnv
from jimbot.errors import SnapshotError, UsageError
from jimbot.games import make
from jimbot.games.seeds import TRAIN, bank_of
from tests.envs.games import COMPILED_ROWS, GAMES, legal_player


def build(game_id: str = "probe", num_envs: int = 4, seed: int = 7, **options: int) -> BatchVecEnv:
    return BatchVecEnv(make(game_id, num_envs, seed=seed, options=options, checked=True))


@pytest.mark.parametrize("game_id", GAMES)
def test_every_game_steps_with_the_same_games_as_the_batch_itself(game_id: str) -> None:
    vec, game = build(game_id, COMPILED_ROWS), make(game_id, COMPILED_ROWS, seed=7)
    game.reset()
    assert np.array_equal(vec.reset(), game.observation)
    choose = legal_player()
    for _ in range(30):
        actions = choose(game.legal_mask)
        assert np.array_equal(vec.action_masks(), game.legal_mask)
        game.step(actions)
        observation, reward, dones, infos = vec.step(actions)
        assert np.array_equal(observation, game.observation)
        assert np.array_equal(reward, game.reward)
        assert np.array_equal(dones, game.terminated | game.truncated)
        assert all(vec.observation_space.contains(row) for row in observation)
        assert len(infos) == vec.num_envs
    vec.close()


def test_the_end_of_a_game_is_reported_as_sb3_expects_it() -> None:
    vec = build(horizon=5)
    vec.reset()
    choose, returns = legal_player(), np.zeros(4)
    seeds = vec.game.seeds.copy()
    for step in range(5):
        _, reward, dones, infos = vec.step(choose(vec.action_masks()))
        returns += reward
        if step < 4:
            assert not dones.any()
            assert infos == [{}] * 4
    assert dones.all()
    for row, info in enumerate(infos):
        assert info["TimeLimit.truncated"] is False
        assert info["episode"]["r"] == returns[row]
        assert info["episode"]["l"] == 5
        assert info["stats"] == {"matches": returns[row]}
        assert info["seed"] == seeds[row]
        assert vec.game.spec.observation.view(info["terminal_observation"], "progress") == 1.0
    _, _, dones, _ = vec.step(choose(vec.action_masks()))
    assert not dones.any()
    assert (vec.lengths == 1).all()


def test_a_game_that_was_cut_off_says_so() -> None:
    vec = build(step_limit=3)
    vec.reset()
    for _ in range(3):
        _, _, dones, infos = vec.step(legal_player()(vec.action_masks()))
    assert dones.all()
    assert all(info["TimeLimit.truncated"] is True for info in infos)


def test_what_was_returned_outlives_the_next_step() -> None:
    vec = build()
    first = vec.reset()
    kept, mask = first.copy(), vec.action_masks()
    kept_mask = mask.copy()
    vec.step(legal_player()(mask))
    assert np.array_equal(first, kept)
    assert np.array_equal(mask, kept_mask)


def test_masks_are_found_under_the_name_sb3_contrib_looks_for() -> None:
    vec = build()
    vec.reset()
    assert is_masking_supported(vec)
    assert np.array_equal(get_action_masks(vec), vec.game.legal_mask)
    assert np.array_equal(np.stack(vec.env_method("action_masks", indices=[2])), vec.game.legal_mask[2:3])
    assert np.array_equal(vec.get_attr("action_masks", 1)[0](), vec.game.legal_mask[1])
    assert vec.env_method("describe", indices=0) == [vec.game.describe(0)]


def test_the_same_seed_gives_the_same_games_and_all_are_of_the_train_bank() -> None:
    held_out_number = 0 if bank_of(0) != TRAIN else next(seed for seed in range(1000) if bank_of(seed) != TRAIN)
    vec, other = build(seed=1), build(seed=2)
    vec.seed(held_out_number)
    other.seed(held_out_number)
    assert np.array_equal(vec.reset(), other.reset())
    assert np.array_equal(vec.game.seeds, other.game.seeds)
    assert {bank_of(int(seed)) for seed in vec.game.seeds} == {TRAIN}
    other.seed(held_out_number + 1)
    other.reset()
    assert not np.isin(vec.game.seeds, other.game.seeds).any()
    vec.reset()
    assert not np.isin(vec.game.seeds, other.game.seeds).any()


@pytest.mark.parametrize("game_id", GAMES)
def test_a_restored_snapshot_continues_exactly_in_another_vec_env(game_id: str) -> None:
    vec = build(game_id, COMPILED_ROWS)
    vec.reset()
    choose = legal_player()
    for _ in range(5):
        vec.step(choose(vec.action_masks()))
    saved = vec.snapshot()
    other = build(game_id, COMPILED_ROWS)
    assert np.array_equal(other.restore(saved), vec.game.observation)
    for _ in range(30):
        actions = choose(vec.action_masks())
        left, right = vec.step(actions), other.step(actions)
        assert all(np.array_equal(a, b) for a, b in zip(left[:3], right[:3], strict=True))
        for mine, theirs in zip(left[3], right[3], strict=True):
            assert mine.get("stats") == theirs.get("stats")
            if mine:
                assert (mine["episode"]["r"], mine["episode"]["l"]) == (theirs["episode"]["r"], theirs["episode"]["l"])


def test_a_snapshot_of_something_else_is_refused_in_one_sentence() -> None:
    vec = build()
    vec.reset()
    with pytest.raises(SnapshotError, match="'returns' is missing or not of 4 rows"):
        vec.restore({})
    small = build(num_envs=2)
    small.reset()
    with pytest.raises(SnapshotError, match="not of 4 rows"):
        vec.restore(small.snapshot())


def test_wrong_use_is_one_clear_sentence() -> None:
    vec = build()
    vec.reset()
    with pytest.raises(UsageError, match="Call step_async"):
        vec.step_wait()
    with pytest.raises(UsageError, match="Set it on `game`"):
        vec.set_attr("checked", False)
    with pytest.raises(AttributeError, match="no method 'jump'; they have action_masks"):
        vec.env_method("jump")


def test_sb3s_own_parts_work_on_it() -> None:
    """Normalisation, masked learning and masked evaluation, for a moment each."""
    inner = build(num_envs=8)
    vec = VecNormalize(inner, norm_obs=True, norm_reward=True)
    model = MaskablePPO("MlpPolicy", vec, n_steps=16, batch_size=64, n_epochs=1, seed=3)
    model.learn(256)
    assert len(model.ep_info_buffer) > 0
    assert inner.game.illegal_actions == 0
    with np.errstate(all="raise"):
        mean, _ = evaluate_policy(model, build(num_envs=8), n_eval_episodes=8, warn=True)
    assert 0 <= float(mean) <= 8
