"""Collecting experience from a game stepped from Python: the same rollout as `ppo.collect_fused`, the same choices."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games import functional
from jimbot.games.contract import BatchGame
from jimbot.policies import masking
from jimbot.policies.jax_networks import JaxNetwork, Params
from jimbot.policies.reward_transform import transform_reward
from jimbot.runs.files import make_directory
from jimbot.training.jax_ppo.extension import Extension
from jimbot.training.jax_ppo.ppo import COLLECT, act, phase_key, uniforms
from jimbot.training.jax_ppo.records import Array, Rollout, Tally, measure, total
from jimbot.training.session.log_rows import Measured

Steps = Iterable[tuple[np.ndarray, np.ndarray]]
"""Observations (N, D) before and after each step of a rollout; a step that ended its game shows how it ended."""


def _space(folder: Path | None, name: str, shape: tuple[int, ...], kind: Any) -> np.ndarray:
    """Room for one part of the experience; only the two that are large can lie in files."""
    if folder is None:
        return np.zeros(shape, kind)
    make_directory(folder)
    return np.lib.format.open_memmap(folder / f"{name}.npy", mode="w+", dtype=kind, shape=shape)


class HostCollector:
    """Plays a batch of games into preallocated arrays.

    Double buffering: the rows are cut into two buffers that take turns; while the device computes the actions of the
    one, the game steps the other. What is collected does not depend on it. Extensions may play rows themselves.
    """

    def __init__(
        self,
        game: BatchGame,
        network: JaxNetwork,
        reward_transform: str,
        num_steps: int,
        extensions: Sequence[Extension] = (),
        buffers: int | None = None,
        folder: Path | None = None,
    ) -> None:
        """`folder`: where experience lies in memory-mapped files; None: in memory."""
        self.game, self.num_steps, self.extensions = game, num_steps, extensions
        self.reward_transform, self.update = reward_transform, 0
        rows, spec = game.num_rows, game.spec
        if buffers is None:  # a game in JAX computes held rows too, and on the same device
            buffers = 1 if isinstance(game, functional.FunctionalBatchGame) else min(2, game.num_envs)
        # Every other game, so that each buffer keeps all threads of the game busy; players of a game stay together.
        buffer_of = np.arange(rows) // spec.players % buffers
        self._held = [buffer_of != buffer for buffer in range(buffers)]
        self._buffers = [np.flatnonzero(buffer_of == buffer) for buffer in range(buffers)]
        shape = (num_steps, rows)
        self.observation = _space(folder, "observation", (*shape, spec.observation.size), np.float32)
        self.legal_mask = _space(folder, "legal_mask", (*shape, spec.actions.size), bool)
        self.acting = np.ones(shape, bool)  # whether the learner had anything to decide
        self.counts = np.ones(shape, bool)  # whether the row is the learner's
        self.own = np.ones(shape, bool)  # whether the policy chose the action itself
        self.action = np.zeros(shape, np.int32)
        self.log_probability, self.value, self.final_value = (np.zeros(shape, np.float32) for _ in range(3))
        self.reward_terms = np.zeros((*shape, len(spec.reward_terms)), np.float32)
        self.terminated, self.truncated = np.zeros(shape, bool), np.zeros(shape, bool)
        self.stats = np.zeros((*shape, len(spec.episode_stats)), np.float32)
        self.final: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # turn → rows that ended, their last observations
        self.seconds = {"simulate": 0.0, "act": 0.0}
        block_of = jnp.asarray(spec.actions.block_of)

        @jax.jit
        def choose(params: Params, observation: Array, legal_mask: Array, uniform: Array) -> Any:
            return act(network, params, network.prepare(observation, params), legal_mask, uniform)

        @jax.jit
        def measure_all(tally: Tally, *steps: Array) -> tuple[Tally, Measured]:
            def one(tally: Tally, step: Any) -> tuple[Tally, Measured]:
                return measure(tally, block_of, len(spec.actions.blocks), *step)

            tally, measured = jax.lax.scan(one, tally, steps)
            return tally, total(measured)

        self._choose = choose
        self._measure_all = measure_all
        self._uniforms = jax.jit(jax.vmap(lambda key, turn: uniforms(key, turn, rows), in_axes=(None, 0)))
        self._value = jax.jit(lambda params, seen: network.apply(params, network.prepare(seen, params))[1])

    def collect(self, params: Params, tally: Tally, key: Array, update: int) -> tuple[Tally, Rollout, Measured]:
        """Plays `num_steps` steps; the rollout's `features` are raw observations. `key` is the run's."""
        self.update = update
        self.own[:] = True
        self.final.clear()
        uniform = np.asarray(self._uniforms(phase_key(key, update, COLLECT), np.arange(self.num_steps)))
        turns = [(turn, buffer) for turn in range(self.num_steps) for buffer in range(len(self._buffers))]
        chosen = self._ask(params, uniform, *turns[0])
        for place, (turn, buffer) in enumerate(turns):
            asked = place + 1 < len(turns) and len(self._buffers) > 1
            coming = self._ask(params, uniform, *turns[place + 1]) if asked else None  # computed during the step below
            self._step(params, turn, buffer, chosen)
            if place + 1 < len(turns):
                chosen = coming or self._ask(params, uniform, *turns[place + 1])
        tally, measured = self._measure(tally)
        rollout = Rollout(
            self.observation,
            self.legal_mask,
            self.action,
            self.log_probability,
            self.value,
            transform_reward(self.reward_transform, self.reward_terms.sum(axis=-1)),
            self.terminated,
            self.truncated,
            self.final_value,
            np.asarray(self._value(params, self.game.observation)),
            acting=self.acting,
            waiting=~self.acting,
            weight=(self.acting & self.own).astype(np.float32),
            counts=self.counts,
            extras={},
        )
        for extension in self.extensions:
            rollout = extension.collected(self, rollout, key, update)
        return tally, rollout, measured

    def steps(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Observations (N, D) before and after every step of the rollout; after a game's last step its own last one."""
        for turn in range(self.num_steps):
            after = self.observation[turn + 1] if turn + 1 < self.num_steps else self.game.observation
            if turn in self.final:
                rows, shown = self.final[turn]
                after = after.copy()
                after[rows] = shown
            yield self.observation[turn], after

    def _measure(self, tally: Tally) -> tuple[Tally, Measured]:
        legal = masking.of_action(self.legal_mask, self.action)
        ended = self.terminated | self.truncated
        ours = self.counts & self.own
        earned = np.where(self.counts[:, :, None], self.reward_terms, 0)  # what an opponent gains is not the learner's
        return self._measure_all(tally, self.action, legal, earned, ended, self.stats, self.acting, ours)

    def _ask(self, params: Params, uniform: np.ndarray, turn: int, buffer: int) -> Any:
        """Starts computing the actions of a buffer of rows; JAX returns before they are there."""
        rows = self._buffers[buffer]
        self.observation[turn, rows] = self.game.observation[rows]
        self.legal_mask[turn, rows] = self.game.legal_mask[rows]
        for extension in self.extensions:
            extension.before_acting(self, turn, rows)
        self.acting[turn, rows] = self.game.acting[rows] & self.counts[turn, rows]
        return self._choose(params, self.observation[turn, rows], self.legal_mask[turn, rows], uniform[turn, rows])

    def _step(self, params: Params, turn: int, buffer: int, chosen: Any) -> None:
        """Waits for the actions of a buffer of rows and plays them."""
        game, rows = self.game, self._buffers[buffer]
        began = time.perf_counter()
        for array, values in zip((self.action, self.log_probability, self.value), chosen, strict=True):
            array[turn, rows] = values
        for extension in self.extensions:
            extension.override(self, turn, rows)
        acted = time.perf_counter()
        game.step(self.action[turn], hold=self._held[buffer])
        self.acting[turn, rows] &= ~game.refused[rows]
        self.reward_terms[turn, rows] = game.reward_terms[rows]
        self.terminated[turn, rows], self.truncated[turn, rows] = game.terminated[rows], game.truncated[rows]
        self.stats[turn, rows] = game.final_stats[rows]
        self.final_value[turn, rows] = 0.0
        if game.truncated[rows].any():
            values = np.asarray(self._value(params, game.final_observation))
            self.final_value[turn, rows] = np.where(game.truncated, values, 0.0)[rows]
        if (over := rows[(game.terminated | game.truncated)[rows]]).size:
            earlier = self.final.get(turn, (over[:0], game.final_observation[:0]))
            shown = game.final_observation[over]
            self.final[turn] = np.concatenate([earlier[0], over]), np.concatenate([earlier[1], shown])
        for extension in self.extensions:
            extension.after_step(self, turn, rows)
        self.seconds["act"] += acted - began
        self.seconds["simulate"] += time.perf_counter() - acted
