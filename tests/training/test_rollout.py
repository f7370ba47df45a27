"""What a rollout stores: the observation acted on, the new game's first after an end, values of cut-off games."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.games.contract import make
from jimbot.games.functional import row_streams, start
from jimbot.policies.reward_transform import transform_reward
from jimbot.training.jax_ppo.collector import HostCollector
from jimbot.training.jax_ppo.ppo import COLLECT, collect_fused, phase_key
from jimbot.training.jax_ppo.program import HostUpdate, fused_update, initial_state, network_for
from jimbot.training.jax_ppo.records import Tally
from jimbot.training.settings.record import load_settings
from tests.training.small import SMALL, probe_parts


@pytest.fixture(scope="module")
def played() -> dict[str, Any]:
    """A fused rollout of a game that is cut off after 6 of 9 steps, and the parts that made it."""
    settings, network, game = probe_parts(horizon=9, step_limit=6)
    state = initial_state(settings, network, game)
    collect = jax.jit(partial(collect_fused, game, network, (), "none", settings.num_steps))
    key = phase_key(state.key, state.update, COLLECT)
    rows, _, rollout, measured = collect(state.params, state.rows, state.tally, key)
    return {
        "settings": settings,
        "network": network,
        "params": state.params,
        "key": state.key,
        "rows": rows,
        "rollout": jax.tree.map(np.asarray, rollout),
        "measured": measured,
    }


def test_the_stored_observation_is_the_one_acted_on_and_the_next_after_an_end_is_the_new_games_first(
    played: dict[str, Any],
) -> None:
    settings, rollout = played["settings"], played["rollout"]
    game = make("probe", settings.num_envs, settings.seed, settings.game_options, checked=True)
    game.reset()
    for turn in range(settings.num_steps):
        np.testing.assert_array_equal(rollout.features[turn], game.observation)
        np.testing.assert_array_equal(rollout.legal_mask[turn], game.legal_mask)
        game.step(rollout.action[turn])
        np.testing.assert_array_equal(rollout.truncated[turn], game.truncated)
        np.testing.assert_array_equal(rollout.reward[turn], game.reward)
        if turn + 1 < settings.num_steps:
            first = rollout.features[turn + 1][game.truncated]
            assert (first[:, -1] == 0).all(), "progress of a new game is 0"
    assert rollout.truncated.any()


def test_values_of_cut_off_games_are_those_of_their_last_observation(played: dict[str, Any]) -> None:
    settings, network, rollout = played["settings"], played["network"], played["rollout"]
    game = make("probe", settings.num_envs, settings.seed, settings.game_options)
    game.reset()
    for turn in range(settings.num_steps):
        game.step(rollout.action[turn])
        values = np.asarray(network.apply(played["params"], game.final_observation)[1])
        np.testing.assert_allclose(rollout.final_value[turn], np.where(game.truncated, values, 0), atol=1e-6)


@pytest.mark.parametrize("buffers", [1, 2])
def test_python_stepping_collects_the_same_rollout(played: dict[str, Any], buffers: int) -> None:
    settings, network = played["settings"], played["network"]
    game = make("probe", settings.num_envs, settings.seed, settings.game_options)
    game.reset()
    tally = Tally(jnp.zeros(settings.num_envs), jnp.zeros(settings.num_envs, jnp.int32))
    collector = HostCollector(game, network, "none", settings.num_steps, buffers=buffers)
    _, rollout, measured = collector.collect(played["params"], tally, played["key"], 0)
    assert rollout.acting.all()  # one player, always acting
    for name in (name for name in rollout._fields if name != "extras"):
        np.testing.assert_allclose(getattr(rollout, name), getattr(played["rollout"], name), atol=1e-6, err_msg=name)
    for name, fused, host in zip(measured._fields, played["measured"], measured, strict=True):
        np.testing.assert_allclose(host, fused, rtol=1e-5, err_msg=name)


def test_fused_and_python_stepped_updates_agree() -> None:
    settings, network, pure = probe_parts()
    game = make("probe", settings.num_envs, settings.seed)
    game.reset()
    fused_state, host_state = initial_state(settings, network, pure), initial_state(settings, network, game)
    fused, host = fused_update(settings, network, pure), HostUpdate(settings, network, game)
    for _ in range(3):
        fused_state, fused_losses, fused_measured = fused(fused_state, settings.ppo.lr)
        host_state, host_losses, host_measured = host(host_state, settings.ppo.lr)
        assert float(fused_measured.episode_return) == float(host_measured.episode_return)
        for name, value in fused_losses.items():
            assert float(value) == pytest.approx(float(host_losses[name]), abs=1e-5)
    for name, value in fused_state.params.items():
        np.testing.assert_allclose(value, host_state.params[name], atol=1e-5, err_msg=name)


def test_no_seed_is_played_twice_across_rows_and_updates() -> None:
    settings, network, game = probe_parts()
    seen: set[tuple[int, int]] = set()
    state = initial_state(settings, network, game)
    update = fused_update(settings, network, game)
    started = settings.num_envs
    for _ in range(8):
        before = np.asarray(state.rows.episode).sum()
        state = update(state, settings.ppo.lr).state
        started += int(np.asarray(state.rows.episode).sum() - before)
        seen |= {tuple(seed) for seed in np.asarray(state.rows.seed).tolist()}
    assert len(seen) == settings.num_envs * 8, "every look at the rows shows games never seen before"
    assert started > len(seen)


def test_rows_start_from_their_own_streams() -> None:
    _, _, game = probe_parts()
    seeds = np.asarray(start(game, jnp.asarray(row_streams(3, 64))).seed)
    assert len({tuple(seed) for seed in seeds.tolist()}) == 64


@pytest.mark.parametrize(("kind", "largest", "small"), [("symlog", 8, -0.01), ("sqrt", 40, -0.005)])
def test_transformed_rewards_keep_sign_and_order_and_tame_the_huge(kind: str, largest: float, small: float) -> None:
    rewards = np.array([-1500.0, -0.01, 0.0, 0.01, 64.0, 1500.0], np.float32)
    squashed = transform_reward(kind, rewards)
    assert (np.diff(squashed) > 0).all()
    assert np.abs(squashed).max() < largest
    np.testing.assert_allclose(squashed[1], small, rtol=0.01)
    np.testing.assert_allclose(transform_reward(kind, jnp.asarray(rewards), jnp), squashed, rtol=1e-5)
    np.testing.assert_array_equal(transform_reward("none", rewards), rewards)


@pytest.mark.parametrize("game_id", ["probe", "balatro"])
def test_actions_are_learned_from_by_the_very_network_that_chose_them(game_id: str) -> None:
    """With a learning rate of 0 nothing changes, so every action is as probable as when it was chosen."""
    settings = load_settings({**SMALL, "game": game_id, "num_envs": 4, "num_steps": 8, "num_minibatches": 2})
    game = make(game_id, settings.num_envs, settings.seed)
    game.reset()
    network = network_for(settings, game.spec)
    rng = np.random.default_rng(0)
    state = initial_state(settings, network, game)
    decided = {name: jnp.asarray(rng.normal(0, 0.5, value.shape), jnp.float32) for name, value in state.params.items()}
    losses = HostUpdate(settings, network, game)(state._replace(params=decided), 0.0).losses
    assert float(losses["train/entropy"]) < 0.95 * np.log(game.legal_mask.sum(axis=1)).mean(), "a policy with opinions"
    assert abs(float(losses["train/approx_kl"])) < 1e-5
    assert float(losses["train/clip_frac"]) == 0
    game.close()
