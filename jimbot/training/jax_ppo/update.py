"""Learning from a rollout: advantages, the PPO loss, and epochs of shuffled minibatches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from jimbot.policies import masking
from jimbot.policies.jax_networks import JaxNetwork, Params
from jimbot.training.jax_ppo.guidance import Guidance, divergence, reference_log_probabilities
from jimbot.training.jax_ppo.rollout import Rollout
from jimbot.training.settings.rllib_names import nearest_divisor

Array = jax.Array


class LossSettings(NamedTuple):
    """The numbers of the loss, which may be traced (see `shared`), and the counts that shape the update."""

    gamma: float
    gae_lambda: float
    clip_eps: float
    vf_coef: float
    ent_coef: float
    max_grad_norm: float
    num_minibatches: int
    update_epochs: int
    gradient_pieces: int = 1
    target_kl: float = 0.0


class Samples(NamedTuple):
    """A flat batch, or a minibatch of it."""

    features: Array  # (B, F) float32
    legal_mask: Array  # (B, A) bool
    action: Array  # (B,) int32
    log_probability: Array  # (B,) float32
    advantage: Array  # (B,) float32
    target: Array  # (B,) float32, what the value should have been
    weight: Array | None = None  # (B,) bool, what is learned from; None: everything
    reference: Array | None = None  # (B, A) float32, log-probabilities of the policy that init_kl pulls to


class LossParts(NamedTuple):
    total: Array
    pg_loss: Array
    value_loss: Array
    entropy: Array
    approx_kl: Array
    clip_frac: Array
    init_kl: Array | None = None  # divergence from the policy the run began with, where there is a pull to it


def advantages(rollout: Rollout, gamma: float, gae_lambda: float) -> Array:
    """(T, N) generalised advantages of decisions; 0 where a row had nothing to decide.

    A terminated step has no future. A truncated one has: the value of the observation it was cut off at. In both
    cases nothing flows back from the next episode. What a row is given while it waits belongs to its last decision.
    """
    acting = jnp.ones_like(rollout.terminated) if rollout.acting is None else rollout.acting

    def back(coming: tuple[Array, Array, Array], step: Any) -> Any:
        following, later, pending = coming  # of the row's next decision: value, advantage; and rewards up to it
        reward, value, terminated, truncated, final_value, acts = step
        ended = terminated | truncated
        following = jnp.where(terminated, 0.0, jnp.where(truncated, final_value, following))
        later, pending = jnp.where(ended, 0.0, later), jnp.where(ended, 0.0, pending) + reward
        now = pending + gamma * following - value + gamma * gae_lambda * later
        going = (jnp.where(acts, value, following), jnp.where(acts, now, later), jnp.where(acts, 0.0, pending))
        return going, jnp.where(acts, now, 0.0)

    nothing = jnp.zeros_like(rollout.last_value)
    steps = (rollout.reward, rollout.value, rollout.terminated, rollout.truncated, rollout.final_value, acting)
    return jax.lax.scan(back, (rollout.last_value, nothing, nothing), steps, reverse=True)[1]


def mean(values: Array, weight: Array | None) -> Array:
    """The mean over the samples that count."""
    if weight is None:
        return jnp.mean(values)
    return jnp.sum(jnp.where(weight, values, 0.0)) / jnp.maximum(jnp.sum(weight), 1)


def variance(values: Array, weight: Array | None) -> Array:
    return jnp.var(values) if weight is None else mean((values - mean(values, weight)) ** 2, weight)


def normalised(advantage: Array, weight: Array | None) -> Array:
    """With mean 0 and spread 1 over the minibatch."""
    return (advantage - mean(advantage, weight)) / (jnp.sqrt(variance(advantage, weight)) + 1e-8)


def ppo_loss(
    network: JaxNetwork,
    settings: LossSettings,
    params: Params,
    batch: Samples,
    pull: Array | None = None,
    normalise: bool = True,
) -> tuple[Array, LossParts]:
    """Clipped policy loss, squared value error, masked entropy bonus, and the pull to a reference if there is one.
    `normalise` False: the advantages are already, over the minibatch this batch is a piece of."""
    logits, value = network.apply(params, batch.features)
    log_probabilities = masking.log_probabilities(logits, batch.legal_mask)
    log_ratio = masking.of_action(log_probabilities, batch.action) - batch.log_probability
    ratio = jnp.exp(log_ratio)
    weight = batch.weight
    advantage = normalised(batch.advantage, weight) if normalise else batch.advantage
    clipped = jnp.clip(ratio, 1 - settings.clip_eps, 1 + settings.clip_eps)
    pg_loss = -mean(jnp.minimum(ratio * advantage, clipped * advantage), weight)
    value_loss = 0.5 * mean((value - batch.target) ** 2, weight)
    entropy = mean(masking.entropy(log_probabilities, batch.legal_mask), weight)
    loss = pg_loss + settings.vf_coef * value_loss - settings.ent_coef * entropy
    init_kl = None
    if pull is not None and batch.reference is not None:
        init_kl = mean(divergence(batch.reference, log_probabilities, batch.legal_mask), weight)
        init_kl = jnp.where(pull > 0, init_kl, 0.0)
        loss = loss + pull * init_kl
    return loss, LossParts(
        total=loss,
        pg_loss=pg_loss,
        value_loss=value_loss,
        entropy=entropy,
        approx_kl=mean(ratio - 1 - log_ratio, weight),
        clip_frac=mean((jnp.abs(ratio - 1) > settings.clip_eps).astype(jnp.float32), weight),
        init_kl=init_kl,
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
    guide: Guidance | None = None,
) -> tuple[Params, Any, dict[str, Array]]:
    """One PPO update; returns parameters, optimiser state and `train/` metrics (means over gradient steps)."""
    pull, learns = (guide.pull, guide.learns) if guide is not None else (None, None)
    optimiser = make_optimiser(settings.max_grad_norm)
    advantage = advantages(rollout, settings.gamma, settings.gae_lambda)
    target = advantage + rollout.value
    decided = (rollout.features, rollout.legal_mask, rollout.action, rollout.log_probability)
    arrays = Samples(*decided, advantage, target, weight=rollout.acting)
    batch = jax.tree.map(lambda values: values.reshape(-1, *values.shape[2:]), arrays)
    if guide is not None and pull is not None:
        reference = reference_log_probabilities(
            network, guide, batch.features, batch.legal_mask, settings.num_minibatches
        )
        batch = batch._replace(reference=reference)
    size = batch.action.shape[0]

    def order(epoch: Array) -> Array:
        shuffled = jax.random.permutation(jax.random.fold_in(key, epoch), size)
        if batch.weight is None:
            return shuffled
        return shuffled[jnp.argsort(~batch.weight[shuffled], stable=True)]  # what counts comes first

    orders = jax.vmap(order)(jnp.arange(settings.update_epochs))  # (epochs, B)
    gradient = _gradient(network, settings, batch, pull)

    def descend(carry: Any, chosen: Array) -> tuple[Any, LossParts]:
        params, optimiser_state = carry
        gradients, parts = gradient(params, chosen)
        direction, optimiser_state = optimiser.update(gradients, optimiser_state)
        moved = jax.tree.map(lambda value, step: value - lr * step, params, direction)
        # Frozen parameters stay bit for bit, while the optimiser goes on measuring their gradients: once they may
        # move, their step size is a settled one.
        params = moved if learns is None else {n: jnp.where(learns[n], moved[n], params[n]) for n in moved}
        return (params, optimiser_state), parts

    if batch.weight is None and not settings.target_kl:
        indices = orders.reshape(settings.update_epochs * settings.num_minibatches, -1)
        (params, optimiser_state), parts = jax.lax.scan(descend, (params, optimiser_state), indices)
    else:
        (params, optimiser_state), parts = _while_it_pays(
            settings, descend, (params, optimiser_state), orders, batch.weight
        )
    named = {name: values for name, values in parts._asdict().items() if values is not None}
    metrics = {f"train/{name}": jnp.mean(values) for name, values in named.items() if name != "total"}
    metrics["train/loss"] = jnp.mean(parts.total)
    unexplained = variance(target - rollout.value, rollout.acting)
    metrics["train/explained_variance"] = 1 - unexplained / jnp.maximum(variance(target, rollout.acting), 1e-12)
    return params, optimiser_state, metrics


def _while_it_pays(
    settings: LossSettings, descend: Callable[..., Any], carry: Any, orders: Array, weight: Array | None
) -> tuple[Any, LossParts]:
    """Epochs of minibatches of only what counts, given up once the policy has moved further than `target_kl` allows.

    Minibatches keep their size, so their number follows from how many samples count; the last of an epoch takes some of
    the one before along rather than being nearly empty.
    """
    size = orders.shape[1]
    rows = size // settings.num_minibatches
    count = jnp.int32(size) if weight is None else jnp.sum(weight, dtype=jnp.int32)
    many = jnp.maximum(1, -(-count // rows))

    def going(state: Any) -> Array:
        number, _, _, moved = state
        far = moved > 1.5 * settings.target_kl if settings.target_kl else False
        return (number < settings.update_epochs * many) & ~jnp.asarray(far)

    def step(state: Any) -> Any:
        number, carry, sums, _ = state
        start = jnp.minimum(number % many * rows, jnp.maximum(count - rows, 0))
        carry, parts = descend(carry, jax.lax.dynamic_slice(orders, (number // many, start), (1, rows))[0])
        return number + 1, carry, jax.tree.map(jnp.add, sums, parts), parts.approx_kl

    shapes = jax.eval_shape(descend, carry, orders[0, :rows])[1]
    nothing = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    done, carry, sums, _ = jax.lax.while_loop(going, step, (jnp.int32(0), carry, nothing, jnp.float32(0)))
    return carry, jax.tree.map(lambda total: total / done, sums)


def _gradient(
    network: JaxNetwork, settings: LossSettings, batch: Samples, pull: Array | None
) -> Callable[[Params, Array], tuple[Params, LossParts]]:
    """(parameters, rows of a minibatch) → gradients and losses; in pieces, of which only one is in memory at a time."""
    whole = settings.gradient_pieces == 1

    def of_rows(params: Params, rows: Array, advantage: Array) -> tuple[Params, LossParts]:
        samples = jax.tree.map(lambda values: values[rows], batch)._replace(advantage=advantage)
        lossy = jax.grad(lambda params: ppo_loss(network, settings, params, samples, pull, whole), has_aux=True)
        return lossy(params)

    def in_pieces(params: Params, chosen: Array) -> tuple[Params, LossParts]:
        many = nearest_divisor(len(chosen), settings.gradient_pieces)
        weight = None if batch.weight is None else batch.weight[chosen]
        advantage = normalised(batch.advantage[chosen], weight).reshape(many, -1)
        rows = chosen.reshape(many, -1)
        counted = jnp.ones(rows.shape) if weight is None else weight.reshape(rows.shape).astype(jnp.float32)
        share = counted.sum(axis=1) / jnp.maximum(counted.sum(), 1.0)

        def add(total: Any, piece: tuple[Array, Array, Array]) -> tuple[Any, None]:
            found = of_rows(params, piece[0], piece[1])
            return jax.tree.map(lambda sums, values: sums + piece[2] * values, total, found), None

        nothing = jax.tree.map(
            lambda shape: jnp.zeros(shape.shape, shape.dtype), jax.eval_shape(of_rows, params, rows[0], advantage[0])
        )
        return jax.lax.scan(add, nothing, (rows, advantage, share))[0]

    return (lambda params, chosen: of_rows(params, chosen, batch.advantage[chosen])) if whole else in_pieces
