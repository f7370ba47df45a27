"""Learning from a rollout: advantages, the PPO loss, and epochs of shuffled minibatches."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from jimbot.policies import masking
from jimbot.policies.jax_networks import JaxNetwork, Params
from jimbot.training.jax_ppo.rollout import Rollout

Array = jax.Array


class LossSettings(NamedTuple):
    """What the compiled update is specialised on (static); the learning rate alone is traced."""

    gamma: float
    gae_lambda: float
    clip_eps: float
    vf_coef: float
    ent_coef: float
    max_grad_norm: float
    num_minibatches: int
    update_epochs: int


class Samples(NamedTuple):
    """A flat batch, or a minibatch of it."""

    features: Array  # (B, F) float32
    legal_mask: Array  # (B, A) bool
    action: Array  # (B,) int32
    log_probability: Array  # (B,) float32
    advantage: Array  # (B,) float32
    target: Array  # (B,) float32, what the value should have been


class LossParts(NamedTuple):
    total: Array
    pg_loss: Array
    value_loss: Array
    entropy: Array
    approx_kl: Array
    clip_frac: Array


def advantages(rollout: Rollout, gamma: float, gae_lambda: float) -> Array:
    """(T, N) generalised advantages.

    A terminated step has no future. A truncated one has: the value of the observation it was cut off at. In both
    cases nothing flows back from the next episode.
    """
    following = jnp.concatenate([rollout.value[1:], rollout.last_value[None]])
    following = jnp.where(rollout.truncated, rollout.final_value, following)
    following = jnp.where(rollout.terminated, 0.0, following)
    delta = rollout.reward + gamma * following - rollout.value
    carry_on = gamma * gae_lambda * ~(rollout.terminated | rollout.truncated)

    def back(later: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        delta, keep = step
        now = delta + keep * later
        return now, now

    return jax.lax.scan(back, jnp.zeros_like(rollout.last_value), (delta, carry_on), reverse=True)[1]


def ppo_loss(network: JaxNetwork, settings: LossSettings, params: Params, batch: Samples) -> tuple[Array, LossParts]:
    """Clipped policy loss, squared value error, masked entropy bonus."""
    logits, value = network.apply(params, batch.features)
    log_probabilities = masking.log_probabilities(logits, batch.legal_mask)
    log_ratio = masking.of_action(log_probabilities, batch.action) - batch.log_probability
    ratio = jnp.exp(log_ratio)
    advantage = (batch.advantage - jnp.mean(batch.advantage)) / (jnp.std(batch.advantage) + 1e-8)
    clipped = jnp.clip(ratio, 1 - settings.clip_eps, 1 + settings.clip_eps)
    pg_loss = -jnp.mean(jnp.minimum(ratio * advantage, clipped * advantage))
    value_loss = 0.5 * jnp.mean((value - batch.target) ** 2)
    entropy = jnp.mean(masking.entropy(log_probabilities, batch.legal_mask))
    loss = pg_loss + settings.vf_coef * value_loss - settings.ent_coef * entropy
    return loss, LossParts(
        total=loss,
        pg_loss=pg_loss,
        value_loss=value_loss,
        entropy=entropy,
        approx_kl=jnp.mean(ratio - 1 - log_ratio),
        clip_frac=jnp.mean(jnp.abs(ratio - 1) > settings.clip_eps),
    )


def make_optimiser(max_grad_norm: float) -> optax.GradientTransformation:
    """Clipping and Adam's direction; the caller multiplies by the learning rate, which may change without compiling."""
    return optax.chain(optax.clip_by_global_norm(max_grad_norm), optax.scale_by_adam(eps=1e-5))


def learn(
    network: JaxNetwork,
    settings: LossSettings,
    params: Params,
    optimiser_state: Any,
    rollout: Rollout,
    lr: Array,
    key: Array,
) -> tuple[Params, Any, dict[str, Array]]:
    """One PPO update; returns parameters, optimiser state and `train/` metrics (means over gradient steps)."""
    optimiser = make_optimiser(settings.max_grad_norm)
    advantage = advantages(rollout, settings.gamma, settings.gae_lambda)
    target = advantage + rollout.value
    arrays = Samples(rollout.features, rollout.legal_mask, rollout.action, rollout.log_probability, advantage, target)
    batch = jax.tree.map(lambda values: values.reshape(-1, *values.shape[2:]), arrays)
    size = batch.action.shape[0]

    def order(epoch: Array) -> Array:
        shuffled = jax.random.permutation(jax.random.fold_in(key, epoch), size)
        return shuffled.reshape(settings.num_minibatches, -1)

    indices = jax.vmap(order)(jnp.arange(settings.update_epochs)).reshape(
        settings.update_epochs * settings.num_minibatches, -1
    )
    gradient = jax.grad(lambda params, samples: ppo_loss(network, settings, params, samples), has_aux=True)

    def descend(carry: Any, chosen: Array) -> tuple[Any, LossParts]:
        params, optimiser_state = carry
        samples = jax.tree.map(lambda values: values[chosen], batch)
        gradients, parts = gradient(params, samples)
        direction, optimiser_state = optimiser.update(gradients, optimiser_state)
        params = jax.tree.map(lambda value, step: value - lr * step, params, direction)
        return (params, optimiser_state), parts

    (params, optimiser_state), parts = jax.lax.scan(descend, (params, optimiser_state), indices)
    metrics = {f"train/{name}": jnp.mean(values) for name, values in parts._asdict().items() if name != "total"}
    metrics["train/loss"] = jnp.mean(parts.total)
    spread = jnp.var(target)
    metrics["train/explained_variance"] = 1 - jnp.var(target - rollout.value) / jnp.maximum(spread, 1e-12)
    return params, optimiser_state, metrics
