"""PPO, as in the paper: advantages, the clipped loss, and passes over shuffled minibatches.

`learn` is the whole algorithm. What it leaves to others: which positions teach what (`samples`), the gradient in pieces
and its noise (`gradients`), the order of the passes and when they end (`passes`), a pull to another policy and layers
that do not learn yet (`guidance`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from jimbot.policies import masking
from jimbot.policies.jax_networks import JaxNetwork, Params
from jimbot.training.jax_ppo.entropy import Blocks
from jimbot.training.jax_ppo.entropy import entropy as entropy_of
from jimbot.training.jax_ppo.gradients import gradient_of, policy_part, product, signal_and_noise
from jimbot.training.jax_ppo.guidance import Guidance, divergence, only_what_learns, with_reference
from jimbot.training.jax_ppo.passes import run_passes, shuffled
from jimbot.training.jax_ppo.rollout import Rollout
from jimbot.training.jax_ppo.samples import Samples, leave_out_forced, mean, samples_of, shares, variance

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
    forced_every: int = 1
    clip_value: float = 0.0
    rival_coef: float = 0.0
    blocks: Blocks | None = None  # of actions whose entropy counts by a factor of its own; None: all the same


class LossParts(NamedTuple):
    """What a gradient step says about itself."""

    total: Array
    pg_loss: Array
    value_loss: Array
    entropy: Array
    approx_kl: Array
    clip_frac: Array
    init_kl: Array | None = None  # divergence from the policy the run began with, where there is a pull to it
    teacher_loss: Array | None = None  # minus the log-probability of what the teacher would do, where there is one
    teacher_agreement: Array | None = None  # share of its answers that the policy finds best, too
    rival_loss: Array | None = None  # minus the log-probability of what the rival did, where that is predicted
    rival_agreement: Array | None = None  # share of it that was thought likeliest


class Learner(NamedTuple):
    """What a gradient step changes."""

    params: Params
    optimiser: Any
    heading: Params  # sum of this update's gradients of the policy's own layers


class Step(NamedTuple):
    """What is kept of a gradient step: its losses, and how its gradient agrees with those before it."""

    parts: LossParts
    square: Array  # () its squared length
    agreement: Array  # () its product with `Learner.heading`

    @property
    def approx_kl(self) -> Array:
        return self.parts.approx_kl


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
    rollout = leave_out_forced(rollout, settings.forced_every)
    advantage = advantages(rollout, settings.gamma, settings.gae_lambda)
    batch = samples_of(rollout, advantage, keep_value=settings.clip_value > 0)
    batch = with_reference(network, guide, batch, settings.num_minibatches)
    gradient = gradient_of(
        lambda params, samples: ppo_loss(network, settings, params, samples, guide), batch, settings.gradient_pieces
    )
    optimiser = make_optimiser(settings.max_grad_norm)

    def descend(learner: Learner, chosen: Array) -> tuple[Learner, Step]:
        gradients, parts = gradient(learner.params, chosen)
        direction, optimiser_state = optimiser.update(gradients, learner.optimiser)
        moved = jax.tree.map(lambda value, step: value - lr * step, learner.params, direction)
        params = only_what_learns(guide, learner.params, moved)
        own = policy_part(gradients)
        step = Step(parts, product(own, own), product(own, learner.heading))
        return Learner(params, optimiser_state, jax.tree.map(jnp.add, learner.heading, own)), step

    size = batch.action.shape[0]
    counted = size if batch.counts is None else jnp.sum(batch.counts, dtype=jnp.int32)
    orders = shuffled(key, settings.update_epochs, batch)
    learner = Learner(params, optimiser_state, jax.tree.map(jnp.zeros_like, policy_part(params)))
    learner, steps, first, many = run_passes(
        descend, learner, orders, counted, settings.num_minibatches, settings.target_kl
    )
    metrics = loss_metrics(steps.parts) | explained(rollout, advantage)
    if guide is not None and guide.teach is not None:
        metrics["train/teacher_weight"] = guide.teach
    metrics |= signal_and_noise(first.square, first.agreement, many, size // settings.num_minibatches)
    return learner.params, learner.optimiser, metrics


def advantages(rollout: Rollout, gamma: float, gae_lambda: float) -> Array:
    """(T, N) generalised advantages of decisions; of other positions how much better they turned out than their value.

    A terminated step has no future. A truncated one has: the value of the observation it was cut off at. In both
    cases nothing flows back from the next episode. What a row is given while it waits belongs to its last decision, and
    no time passes for it. Where there was nothing to choose time passes, and what follows counts instead of the value.
    """
    acting = jnp.ones_like(rollout.terminated) if rollout.acting is None else rollout.acting
    forced = jnp.zeros_like(acting) if rollout.forced is None else rollout.forced

    def back(coming: tuple[Array, Array, Array], step: Any) -> Any:
        following, later, pending = coming  # of the row's next decision: value, advantage; and rewards up to it
        reward, value, terminated, truncated, final_value, acts, passes = step
        ended = terminated | truncated
        following = jnp.where(terminated, 0.0, jnp.where(truncated, final_value, following))
        later, pending = jnp.where(ended, 0.0, later), jnp.where(ended, 0.0, pending) + reward
        now = pending + gamma * following - value + gamma * gae_lambda * later
        # A decision before this one discounts what it finds here once more than the row that waits should.
        waiting = (now + value) / gamma - value
        found = jnp.where(acts | passes, now, waiting)
        after = pending + gamma * following
        going = (
            jnp.where(acts, value, jnp.where(passes, after, following)),
            jnp.where(acts, now, jnp.where(passes, gamma * later, later)),
            jnp.where(acts | passes, 0.0, pending),
        )
        return going, found

    nothing = jnp.zeros_like(rollout.last_value)
    steps = (rollout.reward, rollout.value, rollout.terminated, rollout.truncated, rollout.final_value, acting, forced)
    return jax.lax.scan(back, (rollout.last_value, nothing, nothing), steps, reverse=True)[1]


def ppo_loss(
    network: JaxNetwork, settings: LossSettings, params: Params, batch: Samples, guide: Guidance | None = None
) -> tuple[Array, LossParts]:
    """Clipped policy loss, squared value error, masked entropy bonus; the pull to a reference, the answers of a teacher
    and the prediction of the rival, where there are any."""
    rival = None
    if batch.rival is None:
        logits, value = network.apply(params, batch.features)
    else:
        logits, value, rival = network.foresee(params, batch.features)
    log_probabilities = masking.log_probabilities(logits, batch.legal_mask)
    log_ratio = masking.of_action(log_probabilities, batch.action) - batch.log_probability
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1 - settings.clip_eps, 1 + settings.clip_eps)
    pg_loss = -mean(jnp.minimum(ratio * batch.advantage, clipped * batch.advantage), batch.acts)
    value_loss = 0.5 * mean(value_error(value, batch, settings.clip_value), batch.counts)
    entropy = mean(entropy_of(log_probabilities, batch.legal_mask, settings.blocks), batch.acts)
    loss = pg_loss + settings.vf_coef * value_loss - settings.ent_coef * entropy
    init_kl = None
    if guide is not None and guide.pull is not None and batch.reference is not None:
        init_kl = mean(divergence(batch.reference, log_probabilities, batch.legal_mask), batch.acts)
        init_kl = jnp.where(guide.pull > 0, init_kl, 0.0)
        loss = loss + guide.pull * init_kl
    teacher_loss = teacher_agreement = None
    if guide is not None and guide.teach is not None and batch.label is not None:
        teacher_loss = -mean(masking.of_action(log_probabilities, jnp.maximum(batch.label, 0)), batch.asked)
        agrees = masking.best(log_probabilities, batch.legal_mask) == batch.label
        teacher_agreement = mean(agrees.astype(jnp.float32), batch.asked)
        loss = loss + guide.teach * teacher_loss
    rival_loss = rival_agreement = None
    if rival is not None and batch.rival is not None:
        done = jnp.maximum(batch.rival, 0)
        rival_loss = -mean(masking.of_action(jax.nn.log_softmax(rival), done), batch.foreseen)
        rival_agreement = mean((jnp.argmax(rival, axis=-1) == done).astype(jnp.float32), batch.foreseen)
        loss = loss + settings.rival_coef * rival_loss
    return loss, LossParts(
        total=loss,
        pg_loss=pg_loss,
        value_loss=value_loss,
        entropy=entropy,
        approx_kl=mean(ratio - 1 - log_ratio, batch.acts),
        clip_frac=mean((jnp.abs(ratio - 1) > settings.clip_eps).astype(jnp.float32), batch.acts),
        init_kl=init_kl,
        teacher_loss=teacher_loss,
        teacher_agreement=teacher_agreement,
        rival_loss=rival_loss,
        rival_agreement=rival_agreement,
    )


def value_error(value: Array, batch: Samples, clip_value: float) -> Array:
    """(B,) squared errors; with clipping the larger of those with and without the step cut off."""
    error = (value - batch.target) ** 2
    if batch.value is None:
        return error
    near = batch.value + jnp.clip(value - batch.value, -clip_value, clip_value)
    return jnp.maximum(error, (near - batch.target) ** 2)


def make_optimiser(max_grad_norm: float) -> optax.GradientTransformation:
    """Clipping and Adam's direction; the caller multiplies by the learning rate, which may change without compiling."""
    return optax.chain(optax.clip_by_global_norm(max_grad_norm), optax.scale_by_adam(eps=1e-5))


def loss_metrics(parts: LossParts) -> dict[str, Array]:
    named = {name: value for name, value in parts._asdict().items() if value is not None}
    return {f"train/{'loss' if name == 'total' else name}": value for name, value in named.items()}


def explained(rollout: Rollout, advantage: Array) -> dict[str, Array]:
    """How much of what values should have been they already were."""
    weight, target = shares(rollout.acting), advantage + rollout.value
    unexplained = variance(target - rollout.value, weight)
    return {"train/explained_variance": 1 - unexplained / jnp.maximum(variance(target, weight), 1e-12)}
