"""Advantages and the PPO loss against plain-Python references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.errors import SettingsError, UnknownNameError
from jimbot.games.balatro.entry import GAME as BALATRO
from jimbot.games.spec import ActionBlock, ActionSpec
from jimbot.policies import masking
from jimbot.training.jax_ppo import ppo
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.extensions import extensions_of
from jimbot.training.jax_ppo.extensions.entropy_blocks import EntropyBlocks
from jimbot.training.jax_ppo.extensions.forced_moves import ForcedMoves
from jimbot.training.jax_ppo.program import hyperparameters
from jimbot.training.jax_ppo.records import Outputs, Rollout, Samples, Update
from jimbot.training.settings.record import load_settings
from tests.training.small import first_update, probe_parts, rollout_of, samples_of_arrays, small_settings

STEPS, ROWS = 12, 5


def made_up_rollout(rng: np.random.Generator) -> Rollout:
    shape = (STEPS, ROWS)
    terminated = rng.random(shape) < 0.2
    truncated = ~terminated & (rng.random(shape) < 0.2)
    return rollout_of(
        features=rng.normal(size=(*shape, 3)).astype(np.float32),
        legal_mask=np.ones((*shape, 4), bool),
        action=np.zeros(shape, np.int32),
        value=rng.normal(size=shape).astype(np.float32),
        reward=rng.normal(size=shape).astype(np.float32),
        terminated=terminated,
        truncated=truncated,
        final_value=np.where(truncated, rng.normal(size=shape), 0).astype(np.float32),
        last_value=rng.normal(size=ROWS).astype(np.float32),
    )


def reference_advantages(rollout: Rollout, gamma: float, gae_lambda: float) -> np.ndarray:
    """The definition, row by row: a sum of discounted errors that stops where the episode does."""
    answer = np.zeros((STEPS, ROWS))
    for row in range(ROWS):
        for start in range(STEPS):
            total, weight = 0.0, 1.0
            for step in range(start, STEPS):
                if rollout.terminated[step, row]:
                    future = 0.0
                elif rollout.truncated[step, row]:
                    future = rollout.final_value[step, row]
                else:
                    future = rollout.last_value[row] if step == STEPS - 1 else rollout.value[step + 1, row]
                total += weight * (rollout.reward[step, row] + gamma * future - rollout.value[step, row])
                weight *= gamma * gae_lambda
                if rollout.terminated[step, row] or rollout.truncated[step, row]:
                    break
            answer[start, row] = total
    return answer


def test_advantages_equal_the_definition_with_both_kinds_of_ending() -> None:
    rollout = made_up_rollout(np.random.default_rng(0))
    assert rollout.terminated.any()
    assert rollout.truncated.any()
    expected = reference_advantages(rollout, 0.97, 0.9)
    np.testing.assert_allclose(ppo.advantages(jax.tree.map(jnp.asarray, rollout), 0.97, 0.9), expected, atol=1e-5)


def test_a_truncated_step_is_bootstrapped_and_a_terminated_one_is_not() -> None:
    rollout = made_up_rollout(np.random.default_rng(1))
    never, last = np.zeros((STEPS, ROWS), bool), np.zeros((STEPS, ROWS), bool)
    last[-1] = True
    final = np.where(last, np.float32(10), 0)
    cut = rollout._replace(terminated=never, truncated=last, final_value=final)
    over = rollout._replace(terminated=last, truncated=never, final_value=np.zeros_like(final))
    cut_end, over_end = (np.asarray(ppo.advantages(jax.tree.map(jnp.asarray, r), 0.9, 0.9))[-1] for r in (cut, over))
    np.testing.assert_allclose(cut_end - over_end, 0.9 * 10, rtol=1e-5)


def test_loss_equals_a_float64_reference() -> None:
    settings, network, game = probe_parts()
    rng = np.random.default_rng(2)
    size, actions = 64, game.spec.actions.size
    legal_mask = rng.random((size, actions)) < 0.2
    legal_mask[:, 0] = True
    action = np.array([rng.choice(np.flatnonzero(row)) for row in legal_mask], np.int32)
    batch = samples_of_arrays(
        features=rng.normal(size=(size, game.spec.observation.size)).astype(np.float32),
        legal_mask=legal_mask,
        action=action,
        log_probability=np.log(rng.uniform(0.1, 1, size)).astype(np.float32),
        advantage=rng.normal(size=size).astype(np.float32),
        target=rng.normal(size=size).astype(np.float32),
    )
    params = network.init(0)
    levelled = batch._replace(advantage=ppo.normalised(batch.advantage, batch.weights["policy"]))
    compiled = jax.jit(
        lambda params, batch: ppo.ppo_loss(hyperparameters(settings), (), first_update(network, params), params, batch)
    )
    loss, metrics = compiled(params, levelled)

    logits, value = (np.asarray(x, np.float64) for x in network.apply(params, batch.features))
    logits = np.where(legal_mask, logits, -np.inf)
    probability = np.exp(logits - logits.max(axis=1, keepdims=True))
    probability /= probability.sum(axis=1, keepdims=True)
    ratio = probability[np.arange(size), action] / np.exp(batch.log_probability.astype(np.float64))
    advantage = (batch.advantage - batch.advantage.mean()) / batch.advantage.std()
    pg_loss = -np.minimum(ratio * advantage, np.clip(ratio, 0.8, 1.2) * advantage).mean()
    value_loss = 0.5 * ((value - batch.target) ** 2).mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(np.where(probability > 0, probability * np.log(probability), 0), axis=1).mean()
    expected = pg_loss + settings.ppo.vf_coef * value_loss - settings.ppo.ent_coef * entropy
    assert float(loss) == pytest.approx(expected, rel=1e-4)
    assert float(metrics["train/entropy"]) == pytest.approx(entropy, rel=1e-4)
    assert float(metrics["train/clip_frac"]) == pytest.approx((np.abs(ratio - 1) > 0.2).mean())


def test_entropy_in_the_loss_counts_legal_actions_only() -> None:
    mask = np.zeros((1, 48), bool)
    mask[0, 8:12] = True
    log_probability = masking.log_probabilities(np.zeros((1, 48), np.float32), mask)
    assert float(masking.entropy(log_probability, mask)[0]) == pytest.approx(np.log(4))


@lru_cache
def learning(**changes: float) -> Callable[[Rollout], dict[str, np.ndarray]]:
    """One update of a small network, compiled."""
    settings, network, game = probe_parts()
    params = network.init(0)
    optimiser = ppo.make_optimiser(settings.ppo.max_grad_norm).init(params)
    settings = settings.model_copy(update=changes)
    parts: list[Extension] = [part for part in extensions_of(settings, game.spec) if isinstance(part, ForcedMoves)]

    def one_update(rollout: Rollout) -> dict[str, jax.Array]:
        update = first_update(network, params)
        for part in parts:
            _, rollout = part.transform(update, rollout)
        hyper, lr = hyperparameters(settings), jnp.float32(1e-2)
        return ppo.learn(hyper, parts, update, optimiser, rollout, lr, jax.random.key(1))[0]

    return jax.jit(one_update)


def learned(rollout: Rollout, **changes: float) -> dict[str, np.ndarray]:
    """The parameters after one update."""
    return {name: np.asarray(value) for name, value in learning(**changes)(rollout).items()}


def test_entropy_by_blocks_weighs_only_what_is_chosen_inside_them() -> None:
    """Two blocks, one twice as likely: ln 3 - ⅔ ln 2 between them, ln 2 and ln 4 inside."""
    actions = ActionSpec((ActionBlock("few", ("a", "b")), ActionBlock("many", ("c", "d", "e", "f", "illegal"))))
    spec = replace(probe_parts()[2].spec, actions=actions)
    mask = np.array([[True] * 6 + [False]])
    chance = np.array([[1 / 3, 1 / 3, 1 / 12, 1 / 12, 1 / 12, 1 / 12, 1]])
    log_probability = masking.log_probabilities(jnp.log(jnp.asarray(chance, jnp.float32)), mask)
    between = np.log(3) - 2 / 3 * np.log(2)
    whole = masking.entropy(log_probability, jnp.asarray(mask))
    for factors in ({}, {"many": 0.25}, {"few": 3.0, "many": 0.0}):
        unpaid = EntropyBlocks(small_settings(ent_blocks=factors), spec).inside(log_probability, jnp.asarray(mask))
        inside = factors.get("few", 1) * 2 / 3 * np.log(2) + factors.get("many", 1) * 1 / 3 * np.log(4)
        assert float((whole - unpaid)[0]) == pytest.approx(between + inside, rel=1e-5)
    with pytest.raises(UnknownNameError, match="'meny'"):
        EntropyBlocks(small_settings(ent_blocks={"meny": 2.0}), spec)


def test_levels_of_decisions_take_turns_at_exploring_and_every_position_knows_its_level() -> None:
    from jimbot.games import make
    from jimbot.training.jax_ppo.extensions.entropy_blocks import REST, TURN, HierarchicalExploration

    settings = load_settings({"game": "balatro", "exploration": "hierarchical", "ent_coef": 0.5})
    game = make("balatro", 64, seed=1)
    part = HierarchicalExploration(settings, game.spec)
    game.reset()
    rng, seen = np.random.default_rng(0), Counter[str]()
    for _ in range(60):
        legal = game.legal_mask.copy()
        levels = np.asarray(part.level_of(jnp.asarray(legal)))
        assert levels.sum(axis=1).max() == 1
        action = np.where(legal, rng.random(legal.shape), -1).argmax(axis=1)
        for row, number in enumerate(action):
            block = game.spec.actions.blocks[game.spec.actions.block_of[number]].name
            named = [level for level, blocks in BALATRO.decision_levels.items() if block in blocks]
            if named:  # who can play a hand is on the level of hands
                assert part.levels[levels[row].argmax()] == named[0]
                seen[named[0]] += 1
        game.step(action)
    assert set(seen) == {"hand", "shop", "blind"}
    legal, network = game.legal_mask.copy(), None
    game.close()
    flat = masking.log_probabilities(jnp.zeros(legal.shape), jnp.asarray(legal))
    samples = Samples(None, jnp.asarray(legal), None, None, None, None, None, {"policy": jnp.full(64, 1 / 64)}, {})
    levels = np.asarray(part.level_of(jnp.asarray(legal)))
    entropy = np.log(legal.sum(axis=1))
    for turn in range(4):
        update = Update(network, {}, jnp.int32(turn * TURN), {})
        term, said = part.loss(update, Outputs(flat, jnp.zeros(64)), samples)
        resting = levels.any(axis=1) & ~levels[:, turn % 3]
        assert float(term) == pytest.approx(0.5 * (1 - REST) * np.where(resting, entropy, 0).mean(), rel=1e-4)
        assert said["explore/level"] == turn % 3
        for place, name in enumerate(part.levels):
            if levels[:, place].any():
                assert float(said[f"explore/entropy_{name}"]) == pytest.approx(
                    entropy[levels[:, place]].mean(), rel=1e-4
                )
    with pytest.raises(SettingsError, match="names no levels"):
        HierarchicalExploration(small_settings(exploration="hierarchical"), probe_parts()[2].spec)


def probe_rollout(rng: np.random.Generator) -> Rollout:
    """Made up, in the shapes of the small probe."""
    _, _, game = probe_parts()
    plain = made_up_rollout(rng)
    shape = plain.action.shape
    return plain._replace(
        features=rng.normal(size=(*shape, game.spec.observation.size)).astype(np.float32),
        legal_mask=np.ones((*shape, game.spec.actions.size), bool),
        action=rng.integers(0, game.spec.actions.size, shape).astype(np.int32),
    )


def test_passes_end_once_the_policy_has_moved_too_far() -> None:
    """With a bound nothing reaches an update is what it is without one; with one that everything passes it is a whole
    pass, not the two minibatches after which one of them is too far."""
    rollout = probe_rollout(np.random.default_rng(4))
    minibatches = {"num_minibatches": 4, "update_epochs": 3}
    without, far, near, once = (
        learned(rollout, **{**minibatches, **changes})
        for changes in ({}, {"target_kl": 1e9}, {"target_kl": 1e-12}, {"update_epochs": 1})
    )
    for name, value in without.items():
        np.testing.assert_allclose(far[name], value, atol=1e-6)
        np.testing.assert_allclose(near[name], once[name], atol=1e-6)
    assert any((near[name] != without[name]).any() for name in near)


def with_forced(rollout: Rollout, forced: np.ndarray) -> Rollout:
    """Where `forced` (T, N) only the action that was taken is legal."""
    only = np.eye(rollout.legal_mask.shape[-1], dtype=bool)[rollout.action]
    return rollout._replace(legal_mask=np.where(forced[..., None], only, rollout.legal_mask))


def test_advantages_without_forced_positions_are_those_of_a_game_of_longer_steps() -> None:
    """Time passes where there was no choice, and what follows counts instead of a value there."""
    rng = np.random.default_rng(5)
    forced = rng.random((STEPS, ROWS)) < 0.4
    rollout = jax.tree.map(jnp.asarray, with_forced(made_up_rollout(rng), forced))
    _, network, game = probe_parts()
    part = ForcedMoves(small_settings(forced_every=8), game.spec)
    _, left = part.transform(first_update(network, {}), rollout)
    found = np.asarray(ppo.advantages(left, 0.9, 0.8))
    for row in range(ROWS):
        following, later = float(rollout.last_value[row]), 0.0
        for step in reversed(range(STEPS)):
            if rollout.terminated[step, row] or rollout.truncated[step, row]:
                following, later = float(rollout.final_value[step, row]), 0.0
            target = float(rollout.reward[step, row]) + 0.9 * following
            error = target + 0.9 * 0.8 * later - float(rollout.value[step, row])
            assert found[step, row] == pytest.approx(error, abs=1e-4)
            following, later = (target, 0.9 * later) if forced[step, row] else (float(rollout.value[step, row]), error)


def test_forced_positions_are_learned_from_at_every_so_manieth_step_only() -> None:
    rng = np.random.default_rng(6)
    rollout = probe_rollout(rng)
    forced = rng.random((STEPS, ROWS)) < 0.4
    rollout = with_forced(rollout, forced)
    taught = forced & (np.arange(STEPS)[:, None] % 4 == 0)
    assert taught.any()

    def blurred(where: np.ndarray) -> Rollout:
        return rollout._replace(features=np.where(where[..., None], np.float32(7), rollout.features))

    plain = learned(rollout, forced_every=4)
    for name, value in learned(blurred(forced & ~taught), forced_every=4).items():
        np.testing.assert_array_equal(value, plain[name])
    assert (learned(blurred(taught), forced_every=4)["value.weight"] != plain["value.weight"]).any()
    assert (learned(blurred(forced & ~taught))["value.weight"] != learned(rollout)["value.weight"]).any()


def test_noise_of_gradients_is_found_from_minibatches() -> None:
    """200 minibatches of 50 samples around a known gradient: (length 2)² of signal, 0.5² per entry of noise."""
    rng = np.random.default_rng(8)
    true = np.zeros(300)
    true[0] = 2.0
    found = true + 0.5 / np.sqrt(50) * rng.normal(size=(200, 300))
    before = np.cumsum(found, axis=0) - found
    squares, products = (found**2).sum(), (found * before).sum()
    measured = ppo.signal_and_noise(jnp.float32(squares), jnp.float32(products), jnp.int32(200), 50)
    assert float(measured[ppo.SIGNAL]) == pytest.approx(4.0, rel=0.02)
    assert float(measured[ppo.NOISE]) == pytest.approx(300 * 0.25, rel=0.05)
    alone = ppo.signal_and_noise(jnp.float32(9.0), jnp.float32(0.0), jnp.int32(1), 50)
    assert float(alone[ppo.SIGNAL]) == float(alone[ppo.NOISE]) == 0


def test_an_update_measures_the_noise_of_its_own_minibatches() -> None:
    """Made-up rewards that nothing seen explains: what minibatches agree on is little beside what they do not."""
    settings, network, _ = probe_parts()
    params = network.init(0)
    hyper = hyperparameters(settings)._replace(num_minibatches=4, update_epochs=2)
    rollout = jax.tree.map(jnp.asarray, probe_rollout(np.random.default_rng(9)))
    optimiser = ppo.make_optimiser(settings.ppo.max_grad_norm).init(params)
    update = first_update(network, params)
    metrics = ppo.learn(hyper, (), update, optimiser, rollout, jnp.float32(0), jax.random.key(1))[2]
    assert float(metrics[ppo.NOISE]) > float(metrics[ppo.SIGNAL])
