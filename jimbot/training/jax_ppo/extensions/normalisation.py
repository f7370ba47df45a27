"""Running statistics of observations and returns.

They change between two updates only, so what was collected is learned as it was seen. The statistics of observations
are handed to the network as parameters no gradient reaches: they travel with the checkpoint and into the ONNX file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.policies.jax_networks import Params
from jimbot.policies.networks import continuous_entries
from jimbot.training.init_policy import fixed_statistics_updates
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.records import Array, Rollout, Update
from jimbot.training.running_statistics import LIMIT, Moments, merged, moments_of, no_moments, normalisation, scale
from jimbot.training.settings.record import TrainSettings


class Statistics(NamedTuple):
    """What is known so far; empty where something is not normalised."""

    observed: Any = ()  # Moments of observations, (D,)
    rewarded: Any = ()  # Moments of discounted returns, ()
    discounted: Any = ()  # (N,) float32, the running discounted return of every row


class Normalisation(Extension):
    """`normalize_obs`, and `reward_transform: normalize`."""

    name = "statistics"

    @classmethod
    def wanted(cls, settings: TrainSettings) -> bool:
        return settings.normalize_obs or settings.reward_transform == "normalize"

    @property
    def _rewards(self) -> bool:
        return self.settings.reward_transform == "normalize"

    def initial_state(self, params: Params, rows: int) -> Statistics:
        return Statistics(
            observed=no_moments((self.spec.observation.size,), jnp) if self.settings.normalize_obs else (),
            rewarded=no_moments((), jnp) if self._rewards else (),
            discounted=jnp.zeros(rows) if self._rewards else (),
        )

    def observe(self, observation: Array) -> Any:
        return (jnp.mean(observation, axis=0), jnp.var(observation, axis=0)) if self.settings.normalize_obs else None

    def transform(self, update: Update, rollout: Rollout) -> tuple[Statistics, Rollout]:
        """Rewards divided by the spread of discounted returns, those of the rollout included."""
        statistics: Statistics = update.state[self.name]
        if not self._rewards:
            return statistics, rollout

        def follow(running: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
            reward, ended = step
            running = self.settings.gamma * running + reward
            return jnp.where(ended, 0.0, running), running

        ended = rollout.terminated | rollout.truncated
        discounted, returns = jax.lax.scan(follow, statistics.discounted, (rollout.reward, ended))
        rewarded = merged(statistics.rewarded, jnp.mean(returns), jnp.var(returns), float(returns.size))
        reward = jnp.clip(rollout.reward * scale(rewarded, jnp), -LIMIT, LIMIT)
        return statistics._replace(rewarded=rewarded, discounted=discounted), rollout._replace(reward=reward)

    def after_learning(self, update: Update, rollout: Rollout, params: Params) -> tuple[Statistics, Params]:
        """The network's numbers follow those of all observations so far, once the policy may change with them."""
        statistics: Statistics = update.state[self.name]
        if not self.settings.normalize_obs:
            return statistics, params
        means, variances = rollout.extras[self.name]  # (T, D) each
        variance = jnp.mean(variances, axis=0) + jnp.var(means, axis=0)  # within steps and between them
        observed = merged(statistics.observed, jnp.mean(means, axis=0), variance, float(rollout.action.size))
        numbers = normalisation(observed, continuous_entries(self.spec), jnp)
        moving = update.number >= fixed_statistics_updates(self.settings)
        params = params | {name: jnp.where(moving, value, params[name]) for name, value in numbers.items()}
        return statistics._replace(observed=observed), params

    def begin(self, state: Statistics, copied: Callable[[], Params], steps: int | None) -> Statistics:
        if steps is None or not self.settings.normalize_obs:
            return state
        params = {name: np.asarray(value) for name, value in copied().items()}
        return state._replace(observed=Moments(*(jnp.array(part, jnp.float32) for part in moments_of(params, steps))))

    def keep_rows(self, state: Statistics, rows: np.ndarray) -> Statistics:
        return state._replace(discounted=jax.tree.map(lambda of_row: of_row[rows], state.discounted))
