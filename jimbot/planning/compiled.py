"""Simulations of a game written in JAX, by a policy whose network is known, as one compiled program: re-deal, move,
play on, value the end. Nothing goes through Python in between, so the simulations of all running games cost little more
than their rules.

It is `Rollouts` behind the same door. `mctx` would bring a search tree; what pays here is one ply in many
determinizations, which needs none, and a tree would have to hold hidden cards.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games import seeds as seedbank
from jimbot.games.contract import BatchGame, FunctionalGame, game_entry
from jimbot.games.functional import Rows, from_named_leaves, row_streams, start
from jimbot.planning.rollouts import Simulations
from jimbot.policies import masking
from jimbot.policies.contract import Policy
from jimbot.policies.jax_networks import Params, make_network
from jimbot.policies.portable import OnnxPolicy
from jimbot.policies.reward_transform import transform_reward
from jimbot.runs.manifest import Manifest

_PROGRAMS = 8  # kept, by game, network and reward


class CompiledRollouts:
    """Plays simulations of `game` inside JAX."""

    def __init__(
        self, game: BatchGame, network: str, params: Params, gamma: float, reward_transform: str, copies: int
    ) -> None:
        entry = game_entry(game.spec.id)
        assert entry.functional is not None
        self._params, self._copies = params, copies
        self._play, self._blank = _program(entry.functional, game.options, network, gamma, reward_transform, copies)

    def close(self) -> None:
        """Nothing is held."""

    def returns(self, game: BatchGame, simulations: Simulations) -> np.ndarray:
        """(J,) float64, what each try brought."""
        found = np.zeros(len(simulations.row))
        sources, source_of = np.unique(simulations.row, return_inverse=True)
        saved = game.snapshot(sources)
        for first in range(0, len(found), self._copies):
            used = np.arange(first, min(first + self._copies, len(found)))
            filled = np.resize(used, self._copies)  # one size only, whatever is left for the last part
            rows = from_named_leaves(
                self._blank,
                {name: part[source_of[filled]] for name, part in saved.items() if part.ndim},
                "position",
            )
            determinizations = jnp.asarray(np.stack(seedbank.split(simulations.determinization[filled]), axis=1))
            brought = self._play(
                self._params, rows.state, jnp.asarray(simulations.action[filled], jnp.int32), determinizations,
                jnp.asarray(simulations.depth[filled], jnp.int32),
            )  # fmt: skip
            found[used] = np.asarray(brought)[: len(used)]
        return found


def network_of(policy: Policy, manifest: Manifest | None) -> tuple[str, Params] | None:
    """(description as text, parameters) of a policy that is one of our networks; None where it is not."""
    if not isinstance(policy, OnnxPolicy) or manifest is None or not manifest.network or not policy.model:
        return None
    if manifest.network.get("action_values"):  # its value is another function of the network
        return None
    from jimbot.policies.onnx_form import params_of

    params = params_of(manifest.network, policy.model)
    return json.dumps(manifest.network, sort_keys=True), {name: jnp.asarray(value) for name, value in params.items()}


@lru_cache(maxsize=_PROGRAMS)
def _program(
    functional: Callable[[Any], FunctionalGame], options: Any, described: str, gamma: float, kind: str, copies: int
) -> tuple[Callable[..., Any], Rows]:
    """(one batch of simulations, rows of its shapes)."""
    game, network = functional(options), make_network(json.loads(described))

    def look(params: Params, state: Any) -> tuple[Any, Any]:
        logits, value = network.apply(params, network.prepare(game.observe_batch(state), params))
        legal = game.legal_mask_batch(state)
        return masking.best(masking.log_probabilities(logits, legal), legal).astype(jnp.int32), value

    def play(params: Params, state: Any, action: Any, determinization: Any, depth: Any) -> Any:
        def turn(now: tuple[Any, ...]) -> tuple[Any, ...]:
            number, state, action, over, weight, returns = now
            state, transition, _ = game.play_batch(state, action, determinization)
            reward = transform_reward(kind, transition.reward_terms.sum(axis=1), jnp)
            returns += jnp.where(over, 0.0, weight * reward)
            over |= transition.terminated | transition.truncated
            action, value = look(params, state)
            returns += jnp.where(~over & (depth == number), weight * gamma * value, 0.0)
            return number + 1, state, action, over | (depth == number), weight * gamma, returns

        dealt = jax.vmap(game.redraw_hidden)(state, determinization)
        begin = (jnp.int32(0), dealt, action, jnp.zeros(copies, bool), jnp.float32(1.0), jnp.zeros(copies, jnp.float32))
        return jax.lax.while_loop(lambda now: ~now[3].all(), turn, begin)[-1]

    shapes = jax.eval_shape(partial(start, game), jnp.asarray(row_streams(0, copies)))
    return jax.jit(play), shapes
