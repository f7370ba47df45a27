"""Collecting experience: one scan for JAX games, one Python loop for the others, the same choices in both.

What is stored for a step is what its action was chosen from. The observation after an episode's end is the new
game's first; the value of a cut-off (truncated) episode's last observation is kept apart for bootstrapping.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.games import functional
from jimbot.games.contract import BatchGame, FunctionalGame
from jimbot.policies import masking
from jimbot.policies.jax_networks import JaxNetwork, Params
from jimbot.policies.reward_transform import transform_reward
from jimbot.runs.files import make_directory
from jimbot.training.league.opponents import Seats
from jimbot.training.session.log_rows import Measured

Array = Any  # jax.Array, or np.ndarray where a game is stepped from Python
COLLECT, SHUFFLE, TEACH = 0, 1, 2  # what a per-update key is used for


class Rollout(NamedTuple):
    """T steps of N rows, and what it takes to value them."""

    features: Array  # (T, N, F) float32: the prepared observation the action was chosen from
    legal_mask: Array  # (T, N, A) bool
    action: Array  # (T, N) int32
    log_probability: Array  # (T, N) float32, of the action when it was chosen
    value: Array  # (T, N) float32
    reward: Array  # (T, N) float32, as the learner sees it
    terminated: Array  # (T, N) bool
    truncated: Array  # (T, N) bool
    final_value: Array  # (T, N) float32, value of the last observation where truncated, else 0
    last_value: Array  # (N,) float32, value of the observation after the last step
    acting: Array | None = None  # (T, N) bool, whether there was anything to decide; None: always
    counts: Array | None = None  # (T, N) bool, whether the value is learned: rows that others play are not; None: all
    forced: Array | None = None  # (T, N) bool, whether one legal action made it no decision; None: that is not asked
    label: Array | None = None  # (T, N) int32, what the teacher would have done; −1: not asked. None: no teacher
    weight: Array | None = None  # (T, N) float32, how much the action teaches; None: all the same
    guest: Array | None = None  # (T, N) bool, whether the teacher itself played; None: it never does
    rival: Array | None = None  # (T, N) int32, what the other side did in the same step; −1: nothing. None: not asked
    seen: Any = ()  # (T, D) mean and variance of every step's observations, where they are normalised


class Guest(Protocol):
    """Somebody who plays the first rows of a batch in the learner's place."""

    def choose(self, observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        """(N,) legal actions."""
        ...


class Tally(NamedTuple):
    """Running return and length of every row's current episode."""

    episode_return: Array  # (N,) float32
    episode_length: Array  # (N,) int32


def phase_key(key: Array, update: Array, phase: int) -> Array:
    """A key used for one phase of one update and never again."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.wrap_key_data(key), update), phase)


def luck(key: Array, turn: Array | int, rows: int) -> Array:
    """(rows,) numbers in (0, 1] that decide the actions of a turn."""
    return 1.0 - jax.random.uniform(jax.random.fold_in(key, turn), (rows,))


def seen_of(network: JaxNetwork, observation: Array) -> Any:
    """Mean and variance (D,) of a step's observations, for networks that normalise."""
    return (jnp.mean(observation, axis=0), jnp.var(observation, axis=0)) if network.description.get("normalize") else ()


def act(network: JaxNetwork, params: Params, features: Array, legal_mask: Array, uniform: Array) -> tuple[Array, ...]:
    """(action, its log-probability, value) for every row."""
    logits, value = network.apply(params, features)
    log_probability = masking.log_probabilities(logits, legal_mask)
    action = masking.sample(log_probability, legal_mask, uniform)
    return action, masking.of_action(log_probability, action), value


def measure(
    tally: Tally,
    block_of: Any,
    num_blocks: int,
    action: Any,
    legal: Any,
    reward_terms: Any,
    ended: Any,
    stats: Any,
    acting: Any,
    ours: Any,
) -> tuple[Tally, Measured]:
    """Sums of one step and the running episodes after it; episodes of rows that are not `ours` do not count."""
    reward = jnp.sum(reward_terms, axis=-1)
    returns, lengths = tally.episode_return + reward, tally.episode_length + acting
    over = ended & ours
    blocks = jnp.sum((block_of[action][:, None] == jnp.arange(num_blocks)) & acting[:, None], axis=0)
    measured = Measured(
        reward=jnp.sum(reward),
        reward_terms=jnp.sum(reward_terms, axis=0),
        decisions=jnp.sum(acting),
        blocks=blocks,
        illegal=jnp.sum(~legal),
        episodes=jnp.sum(over),
        episode_return=jnp.sum(jnp.where(over, returns, 0.0)),
        episode_length=jnp.sum(jnp.where(over, lengths, 0)),
        stats=jnp.sum(jnp.where(over[:, None], stats, 0.0), axis=0),
        best_stats=jnp.max(jnp.where(over[:, None], stats, -jnp.inf), axis=0),
    )
    return Tally(jnp.where(ended, 0.0, returns), jnp.where(ended, 0, lengths)), measured


def total(steps: Measured) -> Measured:
    """One Measured out of a stack of them (leading axis T)."""
    summed = jax.tree.map(lambda values: jnp.sum(values, axis=0), steps)
    return summed._replace(best_stats=jnp.max(steps.best_stats, axis=0))


def collect_fused(
    game: FunctionalGame,
    network: JaxNetwork,
    reward_transform: str,
    num_steps: int,
    params: Params,
    rows: functional.Rows,
    tally: Tally,
    key: Array,
) -> tuple[functional.Rows, Tally, Rollout, Measured]:
    """A rollout of a JAX game, as one scan inside the caller's program."""
    actions = game.spec.actions
    block_of = jnp.asarray(actions.block_of)

    def look(state: Any) -> tuple[Array, Array, Any]:
        observation = game.observe_batch(state)
        return network.prepare(observation, params), game.legal_mask_batch(state), seen_of(network, observation)

    def value_of(features: Array) -> Array:
        return network.apply(params, features)[1]

    def step(carry: Any, turn: Array) -> tuple[Any, Any]:
        rows, tally, features, legal_mask, seen = carry
        action, log_probability, value = act(
            network, params, features, legal_mask, luck(key, turn, legal_mask.shape[0])
        )
        rows, (transition, ended, final_state) = functional.advance(game, rows, action)
        # A batch-level branch: no observation of ended games is built unless some game was cut off.
        final_value = jax.lax.cond(
            jnp.any(transition.truncated),
            lambda: jnp.where(transition.truncated, value_of(look(final_state)[0]), 0.0),
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
        return (rows, tally, *look(rows.state)), (stored, seen, measured)

    first = (rows, tally, *look(rows.state))
    (rows, tally, features, *_), (stored, seen, measured) = jax.lax.scan(step, first, jnp.arange(num_steps))
    return rows, tally, Rollout(*stored, last_value=value_of(features), seen=seen), total(measured)


def _space(folder: Path | None, name: str, shape: tuple[int, ...], kind: Any) -> np.ndarray:
    """Room for one part of the experience; only the two that are large can lie in files."""
    if folder is None:
        return np.zeros(shape, kind)
    make_directory(folder)
    return np.lib.format.open_memmap(folder / f"{name}.npy", mode="w+", dtype=kind, shape=shape)


class HostCollector:
    """The same rollout over a game stepped from Python, into preallocated arrays.

    The rows are cut into two halves that take turns: while the device computes the actions of one half, the game
    steps the other. What is collected does not depend on it. With `seats` some rows are played by others.
    """

    def __init__(
        self,
        game: BatchGame,
        network: JaxNetwork,
        reward_transform: str,
        num_steps: int,
        halves: int | None = None,
        seats: Seats | None = None,
        folder: Path | None = None,
        guest: Guest | None = None,
        foresees: bool = False,
    ) -> None:
        """`folder`: where experience lies in memory-mapped files; None: in memory. `foresees`: the rival's actions are
        kept, too."""
        self.foresees = foresees
        self.guest, self._guest_rows = guest, 0
        self.game = game
        self.seats = seats
        self.num_steps = num_steps
        self.reward_transform = reward_transform
        rows, spec = game.num_rows, game.spec
        if halves is None:  # a game in JAX computes held rows too, and on the same device
            halves = 1 if isinstance(game, functional.FunctionalBatchGame) else min(2, game.num_envs)
        # Every other game, so that each half keeps all threads of the game busy; players of a game stay together.
        half_of = np.arange(rows) // spec.players % halves
        self._held = [half_of != half for half in range(halves)]
        alone = spec.players == 1
        self._halves = [slice(h, None, halves) if alone else np.flatnonzero(half_of == h) for h in range(halves)]
        shape = (num_steps, rows)
        self.observation = _space(folder, "observation", (*shape, spec.observation.size), np.float32)
        self.legal_mask = _space(folder, "legal_mask", (*shape, spec.actions.size), bool)
        self.acting, self.ours = np.ones(shape, bool), np.ones(shape, bool)
        self.guests, self.whole = np.zeros(shape, bool), np.ones(shape, bool)
        self.moved = np.zeros(shape, bool)  # whoever played the row
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
        self._luck = jax.jit(jax.vmap(lambda key, turn: luck(key, turn, rows), in_axes=(None, 0)))
        self._value = jax.jit(lambda params, seen: network.apply(params, network.prepare(seen, params))[1])

    def collect(self, params: Params, tally: Tally, key: Array, guest_rows: int = 0) -> tuple[Tally, Rollout, Measured]:
        """Plays `num_steps` steps, the guest in the first `guest_rows` rows; the rollout's `features` are raw."""
        self._guest_rows = guest_rows
        uniform = np.asarray(self._luck(key, np.arange(self.num_steps)))
        self.final.clear()
        turns = [(turn, half) for turn in range(self.num_steps) for half in range(len(self._halves))]
        chosen = self._ask(params, uniform, *turns[0])
        for place, (turn, half) in enumerate(turns):
            asked = place + 1 < len(turns) and len(self._halves) > 1
            coming = self._ask(params, uniform, *turns[place + 1]) if asked else None  # computed during the step below
            self._step(params, turn, half, chosen)
            if place + 1 < len(turns):
                chosen = coming or self._ask(params, uniform, *turns[place + 1])
        legal = masking.of_action(self.legal_mask, self.action)
        ended = self.terminated | self.truncated
        own = self.ours & self.whole & ~self.guests
        earned = np.where(self.ours[:, :, None], self.reward_terms, 0)  # what a rival gains is not the learner's
        steps = (self.action, legal, earned, ended, self.stats, self.acting, own)
        tally, measured = self._measure_all(tally, *steps)
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
            *((self.acting, self.ours) if self.game.spec.players > 1 or self.game.may_refuse else ()),
            guest=None if self.guest is None else self.guests,
            rival=self._rivals() if self.foresees else None,
        )
        return tally, rollout, measured

    def _rivals(self) -> np.ndarray:
        """(T, N) int32: what the other row of the game did, whoever played it; −1 where it had nothing to do."""
        done = np.where(self.moved, self.action, -1).reshape(self.num_steps, -1, 2)
        return done[:, :, ::-1].reshape(self.action.shape).astype(np.int32)

    def steps(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Observations (N, D) before and after every step of the rollout; after a game's last step its own last one."""
        for turn in range(self.num_steps):
            after = self.observation[turn + 1] if turn + 1 < self.num_steps else self.game.observation
            if turn in self.final:
                rows, shown = self.final[turn]
                after = after.copy()
                after[rows] = shown
            yield self.observation[turn], after

    def _ask(self, params: Params, uniform: np.ndarray, turn: int, half: int) -> Any:
        """Starts computing the actions of half the rows; JAX returns before they are there."""
        rows = self._halves[half]
        self.observation[turn, rows] = self.game.observation[rows]
        self.legal_mask[turn, rows] = self.game.legal_mask[rows]
        if self.seats is not None:
            self.ours[turn, rows] = ~self.seats.others[rows]
        self.acting[turn, rows] = self.game.acting[rows] & self.ours[turn, rows]
        return self._choose(params, self.observation[turn, rows], self.legal_mask[turn, rows], uniform[turn, rows])

    def _ask_guest(self, turn: int, half: int) -> None:
        """Replaces the actions of the rows that the guest plays. It is certain of what it does."""
        self.guests[turn, self._halves[half]] = False
        theirs = np.flatnonzero(~self._held[half][: self._guest_rows] & self.acting[turn, : self._guest_rows])
        if self.guest is not None and len(theirs):
            self.action[turn, theirs] = self.guest.choose(self.game.observation[theirs], self.game.legal_mask[theirs])
            self.log_probability[turn, theirs] = 0.0
            self.guests[turn, theirs] = True

    def _step(self, params: Params, turn: int, half: int, chosen: Any) -> None:
        """Waits for the actions of half the rows and plays them."""
        game, rows = self.game, self._halves[half]
        began = time.perf_counter()
        for array, values in zip((self.action, self.log_probability, self.value), chosen, strict=True):
            array[turn, rows] = values
        if self.seats is not None:
            self.seats.act(np.flatnonzero(~self._held[half]), self.action[turn])
        self._ask_guest(turn, half)
        acted = time.perf_counter()
        self.moved[turn, rows] = game.acting[rows]
        game.step(self.action[turn], hold=self._held[half])
        self.moved[turn, rows] &= ~game.refused[rows]
        self.acting[turn, rows] &= ~game.refused[rows]
        self.reward_terms[turn, rows] = game.reward_terms[rows]
        self.terminated[turn, rows], self.truncated[turn, rows] = game.terminated[rows], game.truncated[rows]
        self.stats[turn, rows] = game.final_stats[rows]
        if game.whole is not None:
            self.whole[turn, rows] = game.whole[rows]
        self.final_value[turn, rows] = 0.0
        if game.truncated[rows].any():
            values = np.asarray(self._value(params, game.final_observation))
            self.final_value[turn, rows] = np.where(game.truncated, values, 0.0)[rows]
        if (over := np.flatnonzero(~self._held[half] & (game.terminated | game.truncated))).size:
            earlier = self.final.get(turn, (over[:0], game.final_observation[:0]))
            shown = game.final_observation[over]
            self.final[turn] = np.concatenate([earlier[0], over]), np.concatenate([earlier[1], shown])
        if self.seats is not None:
            self.seats.after(np.flatnonzero(~self._held[half]))
        self.seconds["act"] += acted - began
        self.seconds["simulate"] += time.perf_counter() - acted
