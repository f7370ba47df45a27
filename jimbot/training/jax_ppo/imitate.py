"""One small step towards what an adviser said, after each update that there is anything to imitate in.

It has an optimiser of its own, so PPO's measures of its gradients stay its own. That optimiser is not kept in
checkpoints: when answers arrive depends on somebody else, so such a run is never repeated to the bit anyway.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.policies import masking
from jimbot.policies.jax_networks import JaxNetwork, Params, make_network
from jimbot.training.advice.demonstrations import Demonstrations
from jimbot.training.jax_ppo.shared import KEPT_PROGRAMS, network_text
from jimbot.training.jax_ppo.update import make_optimiser

ROWS = 64  # demonstrations per step


class Imitation:
    """Steps towards demonstrations."""

    def __init__(self, network: JaxNetwork, max_grad_norm: float, coef: float, seed: int) -> None:
        self._step, self._init = _compiled(network_text(network), max_grad_norm)
        self._coef, self._luck = coef, np.random.default_rng([seed, 17])
        self._optimiser: Any = None
        self.loss = float("nan")

    def learn(self, params: Params, demonstrations: Demonstrations, lr: float) -> Params:
        """The parameters a step nearer to some demonstrations; as they are where there are none."""
        if not len(demonstrations) or not self._coef:
            return params
        if self._optimiser is None:
            self._optimiser = self._init(params)
        drawn = demonstrations.drawn(ROWS, self._luck)
        params, self._optimiser, loss = self._step(params, self._optimiser, *drawn, lr * self._coef)
        self.loss = float(loss)
        return params


@lru_cache(maxsize=KEPT_PROGRAMS)
def _compiled(described: str, max_grad_norm: float) -> tuple[Callable[..., Any], Callable[[Params], Any]]:
    network, optimiser = make_network(json.loads(described)), make_optimiser(max_grad_norm)

    def loss(params: Params, observation: Any, legal_mask: Any, action: Any, weight: Any) -> Any:
        logits, _ = network.apply(params, network.prepare(observation, params))
        chosen = masking.of_action(masking.log_probabilities(logits, legal_mask), action)
        return -jnp.sum(weight * chosen) / jnp.maximum(jnp.sum(weight), 1e-6)

    def step(params: Params, state: Any, observation: Any, legal: Any, action: Any, weight: Any, rate: Any) -> Any:
        found, gradients = jax.value_and_grad(loss)(params, observation, legal, action, weight)
        direction, state = optimiser.update(gradients, state)
        return jax.tree.map(lambda value, move: value - rate * move, params, direction), state, found

    return jax.jit(step), jax.jit(optimiser.init)


@lru_cache(maxsize=KEPT_PROGRAMS)
def answering(described: str) -> Callable[..., Any]:
    """(parameters, observation, legal mask) → probabilities and values, compiled."""
    network = make_network(json.loads(described))

    def answer(params: Params, observation: Any, legal_mask: Any) -> Any:
        logits, value = network.apply(params, network.prepare(observation, params))
        return masking.probabilities(masking.log_probabilities(logits, legal_mask), legal_mask), value

    return jax.jit(answer)
