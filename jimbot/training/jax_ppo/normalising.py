"""Running statistics of observations and returns, inside the compiled update.

They change between two updates only, so what was collected is learned as it was seen. The statistics of observations
are handed to the network as parameters no gradient reaches: they travel with the checkpoint and into the ONNX file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jimbot.games.spec import GameSpec
from jimbot.policies.jax_networks import Params
from jimbot.policies.networks import continuous_entries
from jimbot.training.init_policy import fixed_statistics_updates
from jimbot.training.jax_ppo.rollout import Rollout
from jimbot.training.running_statistics import LIMIT, merged, no_moments, normalisation, scale
from jimbot.training.settings.record import TrainSettings

Array = Any


class Statistics(NamedTuple):
    """Empty where nothing is normalised: such runs store nothing."""

    observed: Any = ()  # Moments of observations, (D,)
    rewarded: Any = ()  # Moments of discounted returns, ()
    discounted: Any = ()  # (N,) float32, the running discounted return of every row


def initial_statistics(settings: TrainSettings, spec: GameSpec, rows: int) -> Statistics:
    normalise_reward = settings.reward_transform == "normalize"
    return Statistics(
        observed=no_moments((spec.observation.size,), jnp) if settings.normalize_obs else (),
        rewarded=no_moments((), jnp) if normalise_reward else (),
        discounted=jnp.zeros(rows) if normalise_reward else (),
    )


def with_rewards(settings: TrainSettings, statistics: Statistics, rollout: Rollout) -> tuple[Statistics, Rollout]:
    """The rollout with rewards divided by the spread of discounted returns, those of the rollout included."""
    if settings.reward_transform != "normalize":
        return statistics, rollout

    def follow(running: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        reward, ended = step
        running = settings.gamma * running + reward
        return jnp.where(ended, 0.0, running), running

    ended = rollout.terminated | rollout.truncated
    discounted, returns = jax.lax.scan(follow, statistics.discounted, (rollout.reward, ended))
    rewarded = merged(statistics.rewarded, jnp.mean(returns), jnp.var(returns), float(returns.size))
    reward = jnp.clip(rollout.reward * scale(rewarded, jnp), -LIMIT, LIMIT)
    return statistics._replace(rewarded=rewarded, discounted=discounted), rollout._replace(reward=reward)


def with_observations(
    settings: TrainSettings, spec: GameSpec, statistics: Statistics, rollout: Rollout, update: Array, params: Params
) -> tuple[Statistics, Params]:
    """Statistics and parameters after an update."""
    if not settings.normalize_obs:
        return statistics, params
    means, variances = rollout.seen  # (T, D) each
    variance = jnp.mean(variances, axis=0) + jnp.var(means, axis=0)  # within steps and between them
    observed = merged(statistics.observed, jnp.mean(means, axis=0), variance, float(rollout.action.size))
    numbers = normalisation(observed, continuous_entries(spec), jnp)
    moving = update >= fixed_statistics_updates(settings)
    params = params | {name: jnp.where(moving, value, params[name]) for name, value in numbers.items()}
    return statistics._replace(observed=observed), params
