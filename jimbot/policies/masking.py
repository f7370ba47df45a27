"""The one reference for masked categorical maths: log-probability, entropy, sampling, arg-max.

Written against the array-API namespace of its inputs, so the very same lines run on NumPy and on JAX (eager, jitted
or under vmap). Every other backend is tested against this file.

Illegal actions get exactly probability 0: their log-probability is `NEVER`, a finite number whose exponential is 0
in float32. A true −inf would poison gradients (0 · −inf is not a number).
"""

from __future__ import annotations

from typing import Any

import numpy as np

NEVER = np.float32(-1e30)


def log_probabilities(logits: Any, legal_mask: Any) -> Any:
    """(…, A) log-probabilities over the legal actions; exact for 10⁴ actions and extreme logits."""
    xp = logits.__array_namespace__()
    highest = xp.max(xp.where(legal_mask, logits, -np.inf), axis=-1, keepdims=True)
    # Bounded below: two legal logits can lie further apart than float32 reaches.
    shifted = xp.where(legal_mask, xp.maximum(logits - highest, NEVER), NEVER)
    total = xp.sum(xp.exp(shifted), axis=-1, keepdims=True)
    return xp.where(legal_mask, shifted - xp.log(total), NEVER)


def probabilities(log_probability: Any, legal_mask: Any) -> Any:
    """(…, A) probabilities; exactly 0 where illegal."""
    xp = log_probability.__array_namespace__()
    return xp.where(legal_mask, xp.exp(log_probability), xp.zeros_like(log_probability))


def entropy(log_probability: Any, legal_mask: Any) -> Any:
    """(…,) entropy in nats; counts legal actions only, 0 where a single one is legal."""
    xp = log_probability.__array_namespace__()
    legal = xp.where(legal_mask, log_probability, xp.zeros_like(log_probability))
    return -xp.sum(probabilities(log_probability, legal_mask) * legal, axis=-1)


def of_action(values: Any, actions: Any) -> Any:
    """(…,) the entry of each row's action in (…, A) values."""
    xp = values.__array_namespace__()
    return xp.squeeze(xp.take_along_axis(values, xp.expand_dims(actions, axis=-1), axis=-1), axis=-1)


def best(log_probability: Any, legal_mask: Any) -> Any:
    """(…,) the most probable legal action; ties go to the lowest number."""
    xp = log_probability.__array_namespace__()
    return xp.argmax(xp.where(legal_mask, log_probability, -np.inf), axis=-1)


def sample(log_probability: Any, legal_mask: Any, uniform: Any) -> Any:
    """(…,) an action drawn by inverting the distribution function at `uniform` in (0, 1].

    Several times cheaper than adding Gumbel noise to every action. Rounding in the running sum could in principle
    point one past a legal action, so the answer is checked and the best legal action taken instead.
    """
    xp = log_probability.__array_namespace__()
    running = xp.cumulative_sum(probabilities(log_probability, legal_mask), axis=-1)
    target = xp.expand_dims(uniform, axis=-1) * running[..., -1:]
    drawn = xp.sum(xp.astype(running < target, xp.int32), axis=-1)
    drawn = xp.minimum(drawn, legal_mask.shape[-1] - 1)
    return xp.where(of_action(legal_mask, drawn), drawn, xp.astype(best(log_probability, legal_mask), drawn.dtype))
