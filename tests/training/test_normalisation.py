"""Running statistics: right, the same on both learners, saved with the run, part of the policy that is exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.cli.main import run
from jimbot.errors import CheckpointError
from jimbot.games.contract import game_entry, make
from jimbot.games.probe import Options
from jimbot.policies.networks import continuous_entries
from jimbot.policies.portable import OnnxPolicy
from jimbot.runs.checkpoint import load_checkpoint
from jimbot.training.framework import create_trainer
from jimbot.training.jax_ppo.extensions.normalisation import Normalisation
from jimbot.training.jax_ppo.program import HostUpdate, fused_update, initial_state, network_for
from jimbot.training.jax_ppo.trainer import JaxPPOTrainer
from jimbot.training.running_statistics import LIMIT, merged, moments_of, no_moments, normalisation, scale, with_values
from tests.training.small import SMALL, first_update, probe_parts, rollout_of, small_settings

NORMALIZED = {"normalize_obs": True, "reward_transform": "normalize"}
UPDATE = SMALL["num_envs"] * SMALL["num_steps"]


def made(root: Path, **changes: Any) -> JaxPPOTrainer:
    trainer = create_trainer("probe", {**SMALL, **NORMALIZED, **changes}, root=root, resume=True)
    assert isinstance(trainer, JaxPPOTrainer)
    return trainer


def test_running_statistics_equal_those_of_everything_at_once() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(3, [1, 5, 0], size=(100, 3))
    moments, on_device = no_moments((3,)), no_moments((3,), jnp)
    for start in range(0, 100, 10):
        some = values[start : start + 10]
        moments = with_values(moments, some)
        on_device = merged(on_device, jnp.asarray(some.mean(axis=0)), jnp.asarray(some.var(axis=0)), 10.0)
    np.testing.assert_allclose(moments.mean, values.mean(axis=0))
    np.testing.assert_allclose(moments.variance, values.var(axis=0), atol=1e-12)
    assert scale(moments)[2] == 1.0, "what never changes is left alone"
    np.testing.assert_allclose(on_device.mean, moments.mean, rtol=1e-5)
    np.testing.assert_allclose(scale(on_device, jnp), scale(moments), rtol=1e-5)


def test_statistics_survive_the_way_through_the_parameters() -> None:
    seen = with_values(no_moments((4,)), np.random.default_rng(0).normal(2, 3, (50, 4)))
    again = moments_of(normalisation(seen, np.ones(4, bool)), 50)
    for name in ("mean", "variance", "count"):
        np.testing.assert_allclose(getattr(again, name), getattr(seen, name), rtol=1e-5)


def test_ids_and_boards_are_never_touched() -> None:
    for game in ("balatro", "hackmatrix"):
        spec = game_entry(game).spec
        rng = np.random.default_rng(0)
        numbers = normalisation(
            with_values(no_moments((spec.observation.size,)), rng.normal(5, 2, (20, spec.observation.size))),
            continuous_entries(spec),
        )
        for field in spec.observation.fields:
            span = spec.observation.span(field.name)
            if field.ids or field.board:
                assert (numbers["normalize.mean"][span] == 0).all()
                assert (numbers["normalize.scale"][span] == 1).all()
                assert (numbers["normalize.limit"][span] == np.inf).all()
        assert (numbers["normalize.limit"] == LIMIT).any()


def test_rewards_are_divided_by_the_running_spread_of_discounted_returns() -> None:
    settings = small_settings(**NORMALIZED, gamma=0.9)
    rng = np.random.default_rng(0)
    shape = (settings.num_steps, settings.num_envs)
    part = Normalisation(settings, game_entry("probe").spec)
    update = first_update(probe_parts()[1], {})
    statistics = part.initial_state({}, settings.num_envs)
    running, everything = np.zeros(shape[1]), []
    for _ in range(3):
        reward = (100 * rng.random(shape)).astype(np.float32)
        ended = rng.random(shape) < 0.1
        rollout = rollout_of(np.zeros(shape, np.int32), reward=reward, terminated=ended)
        statistics, changed = part.transform(update._replace(state={part.name: statistics}), rollout)
        for now, over in zip(reward, ended, strict=True):
            running = 0.9 * running + now
            everything.append(running)
            running = np.where(over, 0, running)
        np.testing.assert_allclose(changed.reward, reward / np.std(everything), rtol=1e-3)
    np.testing.assert_allclose(statistics.discounted, running, rtol=1e-4)


def test_fused_and_python_stepped_updates_agree_and_count_what_was_seen() -> None:
    _, _, pure = probe_parts()
    settings = small_settings(**NORMALIZED)
    network = network_for(settings, pure.spec)
    game = make("probe", settings.num_envs, settings.seed)
    game.reset()
    fused_state, host_state = initial_state(settings, network, pure), initial_state(settings, network, game)
    fused, host = fused_update(settings, network, pure), HostUpdate(settings, network, game)
    seen = []
    for _ in range(3):
        fused_state = fused(fused_state, settings.ppo.lr).state
        host_state = host(host_state, settings.ppo.lr).state
        seen.append(host.collector.observation.copy())
    for name, value in fused_state.params.items():
        np.testing.assert_allclose(value, host_state.params[name], atol=2e-5, err_msg=name)
    everything = np.concatenate(seen).reshape(-1, pure.spec.observation.size)
    entries = continuous_entries(pure.spec)
    np.testing.assert_allclose(
        np.asarray(host_state.params["normalize.mean"])[entries], everything.mean(axis=0)[entries], rtol=1e-4
    )
    assert float(host_state.extensions["statistics"].observed.count) == len(everything)


def test_probe_is_solved_with_normalisation_and_the_saved_policy_has_it_inside(tmp_path: Path) -> None:
    trainer = made(tmp_path)
    trainer.train(60 * UPDATE)
    mean, _ = trainer.evaluate(64)
    assert mean > 0.97 * Options().horizon
    latest = trainer.session.store.latest()
    assert latest is not None
    game = make("probe", 32, seed=5)
    game.reset()
    params = trainer._live().params
    assert np.abs(params["normalize.mean"]).max() > 0.1
    _, value = trainer.network.apply(params, trainer.network.prepare(jnp.asarray(game.observation), params))
    decision = OnnxPolicy.from_checkpoint(latest).act(game.observation, game.legal_mask)
    np.testing.assert_allclose(decision.values, value, atol=1e-5)
    trainer.close()


@pytest.mark.parametrize("stepping", ["fused", "host"])
def test_continued_equals_straight_through(stepping: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items() if name != "game"]
    flags += ["--normalize-obs", "--reward-transform=normalize", f"--stepping={stepping}"]
    for name, total in (("straight", 6), ("parts", 2), ("parts", 6)):
        assert run(["train", "probe", *flags, f"--run={name}", f"--total-timesteps={total * UPDATE}"]) == 0
    straight, parts = (
        load_checkpoint(tmp_path / "runs" / which / f"checkpoints/{6 * UPDATE:012d}").state()
        for which in ("straight", "parts")
    )
    assert straight.keys() == parts.keys()
    assert any("observed" in name for name in straight)
    assert any("discounted" in name for name in straight)
    for name, value in straight.items():
        np.testing.assert_array_equal(parts[name], value, err_msg=name)


def test_a_run_without_normalisation_stores_nothing_new(tmp_path: Path) -> None:
    """So checkpoints made before this existed go on loading."""
    trainer = made(tmp_path, normalize_obs=False, reward_transform="symlog")
    assert not any("statistics" in name for name in load_checkpoint(trainer.save_model()).state())
    trainer.close()


def test_a_start_brings_its_statistics_which_stay_while_it_is_pulled_to(tmp_path: Path) -> None:
    first = made(tmp_path / "first")
    first.train(4 * UPDATE)
    path = first.save_model()
    stored = {name: np.asarray(value) for name, value in first._live().params.items()}
    first.close()
    second = made(tmp_path / "second", init_from=str(path), init_kl=1.0, init_kl_updates=2, seed=7)
    means = []
    for update in range(4):
        second.train((update + 1) * UPDATE)
        means.append(np.asarray(second._live().params["normalize.mean"]))
    count = float(second._live().extensions["statistics"].observed.count)
    second.close()
    np.testing.assert_array_equal(means[0], stored["normalize.mean"])
    np.testing.assert_array_equal(means[1], stored["normalize.mean"])
    assert not np.array_equal(means[2], stored["normalize.mean"])
    assert count == 8 * UPDATE


def test_a_start_of_the_other_kind_is_one_sentence(tmp_path: Path) -> None:
    first = made(tmp_path / "first")
    path = first.save_model()
    first.close()
    with pytest.raises(CheckpointError, match=r"trained with normalised observations.*--normalize-obs"):
        made(tmp_path / "second", init_from=str(path), normalize_obs=False)
