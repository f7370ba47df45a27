"""Advantages and the PPO loss against plain-Python references."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jimbot.policies import masking
from jimbot.training.jax_ppo.program import loss_settings
from jimbot.training.jax_ppo.rollout import Rollout
from jimbot.training.jax_ppo.update import Samples, advantages, learn, make_optimiser, ppo_loss
from tests.training.small import probe_parts

STEPS, ROWS = 12, 5


def made_up_rollout(rng: np.random.Generator) -> Rollout:
    shape = (STEPS, ROWS)
    terminated = rng.random(shape) < 0.2
    truncated = ~terminated & (rng.random(shape) < 0.2)
    return Rollout(
        features=rng.normal(size=(*shape, 3)).astype(np.float32),
        legal_mask=np.ones((*shape, 4), bool),
        action=np.zeros(shape, np.int32),
        log_probability=np.zeros(shape, np.float32),
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
    np.testing.assert_allclose(advantages(jax.tree.map(jnp.asarray, rollout), 0.97, 0.9), expected, atol=1e-5)


def test_a_truncated_step_is_bootstrapped_and_a_terminated_one_is_not() -> None:
    rollout = made_up_rollout(np.random.default_rng(1))
    never, last = np.zeros((STEPS, ROWS), bool), np.zeros((STEPS, ROWS), bool)
    last[-1] = True
    final = np.where(last, np.float32(10), 0)
    cut = rollout._replace(terminated=never, truncated=last, final_value=final)
    over = rollout._replace(terminated=last, truncated=never, final_value=np.zeros_like(final))
    cut_end, over_end = (np.asarray(advantages(jax.tree.map(jnp.asarray, r), 0.9, 0.9))[-1] for r in (cut, over))
    np.testing.assert_allclose(cut_end - over_end, 0.9 * 10, rtol=1e-5)


def test_loss_equals_a_float64_reference() -> None:
    settings, network, game = probe_parts()
    losses = loss_settings(settings)
    rng = np.random.default_rng(2)
    size, actions = 64, game.spec.actions.size
    legal_mask = rng.random((size, actions)) < 0.2
    legal_mask[:, 0] = True
    action = np.array([rng.choice(np.flatnonzero(row)) for row in legal_mask], np.int32)
    batch = Samples(
        features=rng.normal(size=(size, game.spec.observation.size)).astype(np.float32),
        legal_mask=legal_mask,
        action=action,
        log_probability=np.log(rng.uniform(0.1, 1, size)).astype(np.float32),
        advantage=rng.normal(size=size).astype(np.float32),
        target=rng.normal(size=size).astype(np.float32),
    )
    params = network.init(0)
    loss, parts = jax.jit(lambda params, batch: ppo_loss(network, losses, params, batch))(params, batch)

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
    assert float(parts.entropy) == pytest.approx(entropy, rel=1e-4)
    assert float(parts.clip_frac) == pytest.approx((np.abs(ratio - 1) > 0.2).mean())


def test_entropy_in_the_loss_counts_legal_actions_only() -> None:
    mask = np.zeros((1, 48), bool)
    mask[0, 8:12] = True
    log_probability = masking.log_probabilities(np.zeros((1, 48), np.float32), mask)
    assert float(masking.entropy(log_probability, mask)[0]) == pytest.approx(np.log(4))


def learned(rollout: Rollout, **changes: float) -> dict[str, np.ndarray]:
    """The parameters after one update of a small network."""
    settings, network, _ = probe_parts()
    params = network.init(0)
    optimiser = make_optimiser(settings.ppo.max_grad_norm).init(params)
    losses = loss_settings(settings)._replace(**changes)
    rollout = jax.tree.map(jnp.asarray, rollout)
    found = learn(network, losses, params, optimiser, rollout, jnp.float32(1e-2), jax.random.key(1))[0]
    return {name: np.asarray(value) for name, value in found.items()}


def test_passes_end_once_the_policy_has_moved_too_far() -> None:
    """With a bound nothing reaches an update is what it is without one; with one that everything passes, a step."""
    _, _, game = probe_parts()
    rng = np.random.default_rng(4)
    plain = made_up_rollout(rng)
    shape = plain.action.shape
    rollout = plain._replace(
        features=rng.normal(size=(*shape, game.spec.observation.size)).astype(np.float32),
        legal_mask=np.ones((*shape, game.spec.actions.size), bool),
        action=rng.integers(0, game.spec.actions.size, shape).astype(np.int32),
    )
    minibatches = {"num_minibatches": 1, "update_epochs": 3}
    without, far, near, once = (
        learned(rollout, **{**minibatches, **changes})
        for changes in ({}, {"target_kl": 1e9}, {"target_kl": 1e-12}, {"update_epochs": 1})
    )
    for name, value in without.items():
        np.testing.assert_allclose(far[name], value, atol=1e-6)
        np.testing.assert_allclose(near[name], once[name], atol=1e-6)
    assert any((near[name] != without[name]).any() for name in near)
