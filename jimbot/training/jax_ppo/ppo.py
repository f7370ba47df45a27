"""PPO, top to bottom: collect, advantages, loss, update.

The records hold what PPO needs and nothing else. Whatever is optional (a teacher, a KL anchor, running statistics, …)
is an `Extension` (`extension.py`) in a list that is known when the program is compiled: it may rewrite the rollout, add
arrays and weights to the samples, add a term to the loss, and hold parameters back. Without extensions this file is all
there is to the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from jimbot.games import functional
from jimbot.games.contract import FunctionalGame
from jimbot.policies import masking
from jimbot.policies.jax_networks import JaxNetwork, Params
from jimbot.policies.networks import part_of
from jimbot.policies.reward_transform import transform_reward
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.records import Hyperparameters, Outputs, Rollout, Samples, Tally, Update, measure, total
from jimbot.training.session.log_rows import Measured
from jimbot.training.settings.names import nearest_divisor

Array = Any  # jax.Array, or np.ndarray where a game is stepped from Python
COLLECT, SHUFFLE, TEACH = 0, 1, 2  # what a per-update key is used for
FAR = 1.5  # times target_kl: how far an epoch may move the policy, on average, before it was the last
SIGNAL, NOISE = "train/gradient_signal", "train/gradient_noise"


# --- collect ---


def phase_key(key: Array, update: Array, phase: int) -> Array:
    """A key used for one phase of one update and never again."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.wrap_key_data(key), update), phase)


def uniforms(key: Array, turn: Array | int, rows: int) -> Array:
    """(rows,) numbers in (0, 1] that decide the actions of a turn."""
    return 1.0 - jax.random.uniform(jax.random.fold_in(key, turn), (rows,))


def act(network: JaxNetwork, params: Params, features: Array, legal_mask: Array, uniform: Array) -> tuple[Array, ...]:
    """(action, its log-probability, value) for every row."""
    logits, value = network.apply(params, features)
    log_probability = masking.log_probabilities(logits, legal_mask)
    action = masking.sample(log_probability, legal_mask, uniform)
    return action, masking.of_action(log_probability, action), value


def collect_fused(
    game: FunctionalGame,
    network: JaxNetwork,
    extensions: Sequence[Extension],
    reward_transform: str,
    num_steps: int,
    params: Params,
    rows: functional.Rows,
    tally: Tally,
    key: Array,
) -> tuple[functional.Rows, Tally, Rollout, Measured]:
    """A rollout of a JAX game, as one scan inside the caller's program.

    What is stored for a step is what its action was chosen from. The observation after an episode's end is the new
    game's first; the value of a cut-off (truncated) episode's last observation is kept apart for bootstrapping.
    """
    actions = game.spec.actions
    block_of = jnp.asarray(actions.block_of)

    def observe(state: Any) -> tuple[Array, Array, Any]:
        observation = game.observe_batch(state)
        return network.prepare(observation, params), game.legal_mask_batch(state), observed(extensions, observation)

    def value_of(features: Array) -> Array:
        return network.apply(params, features)[1]

    def step(carry: Any, turn: Array) -> tuple[Any, Any]:
        rows, tally, features, legal_mask, extras = carry
        uniform = uniforms(key, turn, legal_mask.shape[0])
        action, log_probability, value = act(network, params, features, legal_mask, uniform)
        rows, (transition, ended, final_state) = functional.advance(game, rows, action)
        # A batch-level branch: no observation of ended games is built unless some game was cut off.
        final_value = jax.lax.cond(
            jnp.any(transition.truncated),
            lambda: jnp.where(transition.truncated, value_of(observe(final_state)[0]), 0.0),
            lambda: jnp.zeros_like(value),
        )
        legal = masking.of_action(legal_mask, action)
        tally, measured = measure(
            *(tally, block_of, len(actions.blocks), action, legal),
            *(transition.reward_terms, ended, transition.stats, jnp.ones_like(legal), jnp.ones_like(legal)),
        )
        reward = transform_reward(reward_transform, jnp.sum(transition.reward_terms, axis=-1), jnp)
        stored = (features, legal_mask, action, log_probability, value, reward)
        stored += (transition.terminated, transition.truncated, final_value)
        return (rows, tally, *observe(rows.state)), (stored, extras, measured)

    first = (rows, tally, *observe(rows.state))
    (rows, tally, features, *_), (stored, extras, measured) = jax.lax.scan(step, first, jnp.arange(num_steps))
    rollout = every_row_decides(*stored, last_value=value_of(features))._replace(extras=extras)
    return rows, tally, rollout, total(measured)


def observed(extensions: Sequence[Extension], observation: Array) -> dict[str, Any]:
    """What extensions keep of a step's observations (N, D), by their names."""
    found = {extension.name: extension.observe(observation) for extension in extensions}
    return {name: kept for name, kept in found.items() if kept is not None}


def every_row_decides(*stored: Array, last_value: Array) -> Rollout:
    """A rollout in which every row chose for itself at every step, as in games of one player."""
    everywhere = jnp.ones(stored[2].shape, bool)
    return Rollout(*stored, last_value, everywhere, ~everywhere, everywhere.astype(jnp.float32), everywhere, {})


# --- advantages ---


def advantages(rollout: Rollout, gamma: float, gae_lambda: float) -> Array:
    """(T, N) generalised advantages of decisions; of other positions how much better they turned out than their value.

    A terminated step has no future. A truncated one has: the value of the observation it was cut off at. In both
    cases nothing flows back from the next episode. What a row is given while it waits belongs to its last decision, and
    no time passes for it. Where there was nothing to choose time passes, and what follows counts instead of the value.
    """

    def back(coming: tuple[Array, Array, Array], step: Any) -> Any:
        following, later, pending = coming  # of the row's next decision: value, advantage; and rewards up to it
        reward, value, terminated, truncated, final_value, acts, waits = step
        ended = terminated | truncated
        following = jnp.where(terminated, 0.0, jnp.where(truncated, final_value, following))
        later, pending = jnp.where(ended, 0.0, later), jnp.where(ended, 0.0, pending) + reward
        now = pending + gamma * following - value + gamma * gae_lambda * later
        # A decision before this one discounts what it finds here once more than the row that waits should.
        waiting = (now + value) / gamma - value
        going = (
            jnp.where(acts, value, jnp.where(waits, following, pending + gamma * following)),
            jnp.where(acts, now, jnp.where(waits, later, gamma * later)),
            jnp.where(waits, pending, 0.0),
        )
        return going, jnp.where(waits, waiting, now)

    nothing = jnp.zeros_like(rollout.last_value)
    steps = (rollout.reward, rollout.value, rollout.terminated, rollout.truncated, rollout.final_value)
    steps += (rollout.acting, rollout.waiting)
    return jax.lax.scan(back, (rollout.last_value, nothing, nothing), steps, reverse=True)[1]


# --- loss ---


def ppo_loss(
    hyper: Hyperparameters, extensions: Sequence[Extension], update: Update, params: Params, batch: Samples
) -> tuple[Array, dict[str, Array]]:
    """Clipped policy loss, squared value error, masked entropy bonus, and the terms of extensions; with metrics."""
    logits, value = update.network.apply(params, batch.features)
    log_probabilities = masking.log_probabilities(logits, batch.legal_mask)
    acts, counts = batch.weights["policy"], batch.weights["value"]
    log_ratio = masking.of_action(log_probabilities, batch.action) - batch.log_probability
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1 - hyper.clip_eps, 1 + hyper.clip_eps)
    pg_loss = -mean(jnp.minimum(ratio * batch.advantage, clipped * batch.advantage), acts)
    value_loss = 0.5 * mean((value - batch.target) ** 2, counts)
    entropy = mean(masking.entropy(log_probabilities, batch.legal_mask), acts)
    loss = pg_loss + hyper.vf_coef * value_loss - hyper.ent_coef * entropy
    metrics = {}
    for extension in extensions:
        term, said = extension.loss(update, Outputs(log_probabilities, value), batch)
        loss, metrics = loss + term if said else loss, metrics | said
    return loss, {
        "train/loss": loss,
        "train/pg_loss": pg_loss,
        "train/value_loss": value_loss,
        "train/entropy": entropy,
        "train/approx_kl": mean(ratio - 1 - log_ratio, acts),
        "train/clip_frac": mean((jnp.abs(ratio - 1) > hyper.clip_eps).astype(jnp.float32), acts),
        **metrics,
    }


def mean(values: Array, weight: Array) -> Array:
    """The mean by weights that sum to 1."""
    return jnp.sum(jnp.where(weight > 0, weight * values, 0.0))


def variance(values: Array, weight: Array) -> Array:
    return mean((values - mean(values, weight)) ** 2, weight)


def shares(weight: Array) -> Array:
    """Weights of any sum, bool or float, as weights that sum to 1."""
    return weight / jnp.maximum(jnp.sum(weight, dtype=jnp.float32), 1.0)


def normalised(advantage: Array, weight: Array) -> Array:
    """With mean 0 and spread 1 over the minibatch."""
    return (advantage - mean(advantage, weight)) / (jnp.sqrt(variance(advantage, weight)) + 1e-8)


# --- update ---


class Learner(NamedTuple):
    """What a gradient step changes."""

    params: Params
    optimiser: Any
    heading: Params  # sum of this update's gradients of the policy's own layers


class Step(NamedTuple):
    """What is kept of a gradient step: its metrics, and how its gradient agrees with those before it."""

    metrics: dict[str, Array]
    square: Array  # () its squared length
    agreement: Array  # () its product with `Learner.heading`


def learn(
    hyper: Hyperparameters,
    extensions: Sequence[Extension],
    update: Update,
    optimiser_state: Any,
    rollout: Rollout,
    lr: Array,
    key: Array,
) -> tuple[Params, Any, dict[str, Array]]:
    """One PPO update; returns parameters, optimiser state and `train/` metrics (means over gradient steps)."""
    advantage = advantages(rollout, hyper.gamma, hyper.gae_lambda)
    batch = samples_of(rollout, advantage)
    for extension in extensions:
        batch = extension.prepare(update, rollout, batch)
    gradient = gradient_of(lambda params, part: ppo_loss(hyper, extensions, update, params, part), batch, hyper)
    optimiser = make_optimiser(hyper.max_grad_norm)

    def descend(learner: Learner, chosen: Array) -> tuple[Learner, Step]:
        gradients, metrics = gradient(learner.params, chosen)
        direction, optimiser_state = optimiser.update(gradients, learner.optimiser)
        params = jax.tree.map(lambda value, step: value - lr * step, learner.params, direction)
        for extension in extensions:
            params = extension.restrict(update, learner.params, params)
        own = _policy_part(gradients)
        step = Step(metrics, _product(own, own), _product(own, learner.heading))
        return Learner(params, optimiser_state, jax.tree.map(jnp.add, learner.heading, own)), step

    learner = Learner(update.params, optimiser_state, jax.tree.map(jnp.zeros_like, _policy_part(update.params)))
    learner, steps, first, minibatches = run_epochs(descend, learner, batch, hyper, key)
    metrics = steps.metrics | explained_variance(rollout, advantage)
    rows = batch.action.shape[0] // hyper.num_minibatches
    metrics |= signal_and_noise(first.square, first.agreement, minibatches, rows)
    return learner.params, learner.optimiser, metrics


def samples_of(rollout: Rollout, advantage: Array) -> Samples:
    """The rollout's positions, flat."""
    parts = (rollout.features, rollout.legal_mask, rollout.action, rollout.log_probability, advantage)
    weights = {"policy": rollout.weight, "value": rollout.counts}
    samples = Samples(*parts, advantage + rollout.value, rollout.value, weights, {})
    return jax.tree.map(lambda values: values.reshape(-1, *values.shape[2:]), samples)


def make_optimiser(max_grad_norm: float) -> optax.GradientTransformation:
    """Clipping and Adam's direction; the caller multiplies by the learning rate, which may change without compiling."""
    return optax.chain(optax.clip_by_global_norm(max_grad_norm), optax.scale_by_adam(eps=1e-5))


Gradient = Callable[[Params, Array], tuple[Params, Any]]


def gradient_of(
    loss: Callable[[Params, Samples], tuple[Array, Any]], batch: Samples, hyper: Hyperparameters
) -> Gradient:
    """(parameters, rows of a minibatch) → gradients and metrics, accumulated over pieces where memory is short."""

    def of_rows(params: Params, rows: Array, advantage: Array, weights: dict[str, Array]) -> tuple[Params, Any]:
        samples = jax.tree.map(lambda values: values[rows], batch)._replace(advantage=advantage, weights=weights)
        return jax.grad(loss, has_aux=True)(params, samples)

    def of_minibatch(params: Params, chosen: Array) -> tuple[Params, Any]:
        weights = {name: shares(weight[chosen]) for name, weight in batch.weights.items()}
        parts = (chosen, normalised(batch.advantage[chosen], weights["policy"]), weights)
        if hyper.gradient_accumulation == 1:
            return of_rows(params, *parts)
        pieces = nearest_divisor(len(chosen), hyper.gradient_accumulation)
        stacked = jax.tree.map(lambda values: values.reshape(pieces, -1), parts)

        def add(total: Any, piece: Any) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, of_rows(params, *piece)), None

        first = jax.tree.map(lambda values: values[0], stacked)
        return jax.lax.scan(add, _zeros(jax.eval_shape(of_rows, params, *first)), stacked)[0]

    return of_minibatch


def run_epochs(
    descend: Callable[[Any, Array], tuple[Any, Step]], learner: Any, batch: Samples, hyper: Hyperparameters, key: Array
) -> tuple[Any, Step, Step, Array]:
    """One gradient step for every minibatch of every epoch; an update ends early after an epoch that moved the policy
    further than `target_kl` allows (0: any distance).

    Rows whose value counts come first in every epoch's order. Minibatches keep their size, so their number follows from
    how many rows count; the last of an epoch takes some of the one before along rather than being nearly empty. Returns
    the learner, the means over all steps, the sums over the first epoch, and the number of minibatches in an epoch.
    """
    size = batch.action.shape[0]
    rows = size // hyper.num_minibatches
    counted = jnp.sum(batch.weights["value"], dtype=jnp.int32)
    minibatches = jnp.maximum(1, -(-counted // rows))

    def order(epoch: Array) -> Array:
        mixed = jax.random.permutation(jax.random.fold_in(key, epoch), size)
        return mixed[jnp.argsort(~batch.weights["value"][mixed], stable=True)]

    orders = jax.vmap(order)(jnp.arange(hyper.update_epochs))

    def one_epoch(state: Any) -> Any:
        number, learner, sums, first, _ = state

        def step(minibatch: Array, state: Any) -> Any:
            learner, found = state
            start = jnp.minimum(minibatch * rows, jnp.maximum(counted - rows, 0))
            learner, said = descend(learner, jax.lax.dynamic_slice(orders, (number, start), (1, rows))[0])
            return learner, jax.tree.map(jnp.add, found, said)

        learner, found = jax.lax.fori_loop(0, minibatches, step, (learner, nothing))
        first = jax.tree.map(lambda old, new: jnp.where(number == 0, new, old), first, found)
        moved = found.metrics["train/approx_kl"] / minibatches
        return number + 1, learner, jax.tree.map(jnp.add, sums, found), first, moved

    def going(state: Any) -> Array:
        number, *_, moved = state
        near = moved <= FAR * hyper.target_kl if hyper.target_kl else True
        return (number < hyper.update_epochs) & jnp.asarray(near)

    nothing = _zeros(jax.eval_shape(descend, learner, orders[0, :rows])[1])
    begin = (jnp.int32(0), learner, nothing, nothing, jnp.float32(0))
    epochs, learner, sums, first, _ = jax.lax.while_loop(going, one_epoch, begin)
    return learner, jax.tree.map(lambda sum_: sum_ / (epochs * minibatches), sums), first, minibatches


def explained_variance(rollout: Rollout, advantage: Array) -> dict[str, Array]:
    """How much of what values should have been they already were."""
    weight, target = shares(rollout.acting), advantage + rollout.value
    unexplained = variance(target - rollout.value, weight)
    return {"train/explained_variance": 1 - unexplained / jnp.maximum(variance(target, weight), 1e-12)}


def signal_and_noise(squares: Array, products: Array, minibatches: Array, rows: int) -> dict[str, Array]:
    """Squared length of the true gradient, and variance of one sample's: the gradient noise scale of McCandlish et al.
    (2018) is their ratio, the batch at which the noise of a gradient is as large as the gradient.

    Two independent minibatches agree (their product is the squared length of the true gradient, on average) or do not
    (their own squared lengths are larger by the noise), so the first epoch measures both without a further gradient:
    from sums, over its minibatches, of their squared lengths and of their products with the sum of those before them.
    Only the policy's own layers are measured, which the value's loss does not reach. 0 and 0 for a single minibatch.
    """
    pairs = minibatches * (minibatches - 1) / 2
    signal = products / jnp.maximum(pairs, 1)
    noise = rows * (squares / minibatches - signal)
    several = minibatches > 1
    return {SIGNAL: jnp.where(several, signal, 0.0), NOISE: jnp.where(several, noise, 0.0)}


def _policy_part(gradients: Params) -> Params:
    return {name: value for name, value in gradients.items() if part_of(name) == "policy"}


def _product(one: Params, other: Params) -> Array:
    return sum((jnp.vdot(one[name], other[name]) for name in one), start=jnp.float32(0))


def _zeros(shapes: Any) -> Any:
    return jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
