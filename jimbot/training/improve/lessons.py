"""What a plan teaches, and the gradient steps towards it.

The policy is pulled to the whole improved distribution of every position that was planned (cross-entropy), the value of
every position to what came of it: the λ-return of the game as it was played on, its error in units of the returns'
variance, as a clone's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.policies import masking
from jimbot.policies.jax_networks import Params, make_network
from jimbot.training.imitation.batches import LEAST_VARIANCE, Batch
from jimbot.training.jax_ppo.ppo import make_optimiser
from jimbot.training.jax_ppo.program import KEPT_PROGRAMS


class Lesson(NamedTuple):
    """T steps of N games, played with a plan."""

    observation: np.ndarray  # (T, N, D) float32
    legal_mask: np.ndarray  # (T, N, A) bool
    improved: np.ndarray  # (T, N, A) float32, zero where illegal
    action: np.ndarray  # (T, N) int32, played
    planned: np.ndarray  # (T, N) bool
    reward: np.ndarray  # (T, N) float32, as it is learned
    value: np.ndarray  # (T + 1, N) float32, before every step and after the last
    final_value: np.ndarray  # (T, N) float32, of the last position of a game that was cut off
    terminated: np.ndarray  # (T, N) bool
    truncated: np.ndarray  # (T, N) bool

    @classmethod
    def empty(cls, steps: int, rows: int, width: int, actions: int) -> Lesson:
        return cls(
            np.zeros((steps, rows, width), np.float32),
            np.zeros((steps, rows, actions), bool),
            np.zeros((steps, rows, actions), np.float32),
            np.zeros((steps, rows), np.int32),
            np.zeros((steps, rows), bool),
            np.zeros((steps, rows), np.float32),
            np.zeros((steps + 1, rows), np.float32),
            np.zeros((steps, rows), np.float32),
            np.zeros((steps, rows), bool),
            np.zeros((steps, rows), bool),
        )

    def returns(self, gamma: float, lam: float) -> np.ndarray:
        """(T, N) float32, the λ-return of every step. A game that was cut off counts with the value of its last
        position, one that ended with nothing."""
        found = np.zeros_like(self.reward)
        following = self.value[-1]
        for turn in range(len(found) - 1, -1, -1):
            ended = self.terminated[turn] | self.truncated[turn]
            after = np.where(ended, self.final_value[turn], (1 - lam) * self.value[turn + 1] + lam * following)
            following = found[turn] = self.reward[turn] + gamma * np.where(self.terminated[turn], 0.0, after)
        return found

    def batches(self, gamma: float, lam: float, size: int, luck: np.random.Generator) -> Iterator[Batch]:
        """One pass over all positions in random order; what was not planned teaches its value only."""
        count = self.reward.size
        parts = ("observation", "legal_mask", "improved", "action", "planned")
        flat = {name: getattr(self, name).reshape(count, *getattr(self, name).shape[2:]) for name in parts}
        target = self.returns(gamma, lam).reshape(count)
        order = luck.permutation(count)
        for first in range(0, count - size + 1, size):
            rows = order[first : first + size]
            yield Batch(
                observation=flat["observation"][rows],
                legal_mask=flat["legal_mask"][rows],
                action=flat["action"][rows],
                target=target[rows],
                value_weight=np.ones(size, np.float32),
                weight=flat["planned"][rows].astype(np.float32),
                probabilities=flat["improved"][rows],
            )


@lru_cache(maxsize=KEPT_PROGRAMS)
def descending(described: str, vf_coef: float, max_grad_norm: float) -> Callable[..., Any]:
    """(parameters, optimiser, minibatch, variance of returns, learning rate) → both a step further, and the losses."""
    network, optimiser = make_network(json.loads(described)), make_optimiser(max_grad_norm)

    def loss(params: Params, batch: Batch, variance: Any) -> tuple[Any, dict[str, Any]]:
        logits, value = network.apply(params, network.prepare(batch.observation))
        log_probability = masking.log_probabilities(logits, batch.legal_mask)
        taught = jnp.where(batch.legal_mask, batch.probabilities * log_probability, 0.0)
        planned = jnp.sum(batch.weight)
        policy_loss = -jnp.sum(batch.weight * jnp.sum(taught, axis=-1)) / jnp.maximum(1.0, planned)
        agree = masking.best(log_probability, batch.legal_mask) == jnp.argmax(batch.probabilities, axis=-1)
        value_loss = jnp.mean((value - batch.target) ** 2) / variance
        total = policy_loss + vf_coef * value_loss
        return total, {
            "train/loss": total,
            "train/policy_loss": policy_loss,
            "train/value_loss": value_loss,
            "train/entropy": jnp.mean(masking.entropy(log_probability, batch.legal_mask)),
            "train/plan_agreement": jnp.sum(batch.weight * agree) / jnp.maximum(1.0, planned),
        }

    def descend(params: Params, state: Any, batch: Batch, variance: Any, lr: Any) -> tuple[Params, Any, Any]:
        gradients, measured = jax.grad(loss, has_aux=True)(params, batch, variance)
        direction, state = optimiser.update(gradients, state)
        return jax.tree.map(lambda value, step: value - lr * step, params, direction), state, measured

    return jax.jit(descend)


def learn(
    program: Callable[..., Any], params: Params, optimiser: Any, passes: Iterator[Batch], variance: float, lr: float
) -> tuple[Params, Any, dict[str, float]]:
    """Takes a step per minibatch; the losses are means over all of them."""
    found: list[dict[str, float]] = []
    for batch in passes:
        params, optimiser, measured = program(params, optimiser, batch, max(LEAST_VARIANCE, variance), lr)
        found.append({name: float(value) for name, value in measured.items()})
    return params, optimiser, {name: float(np.mean([row[name] for row in found])) for name in found[0]}
