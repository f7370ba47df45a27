"""Rows of a functional (JAX) game: automatic restarts, and the BatchGame made from it.

`advance` is the one definition of "step, then restart what ended". The fused learner scans it inside its own
program and `FunctionalBatchGame` calls it from Python, so both see the very same games.
"""

from __future__ import annotations

import copy
import os
import re
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jimbot.errors import SnapshotError, UsageError
from jimbot.games import seeds as seedbank
from jimbot.games.contract import BatchGame, FunctionalGame, Transition

Array = jax.Array


class Rows(NamedTuple):
    """N live games and the streams their restart seeds come from."""

    state: Any  # the games' own state, leading axis N
    stream: Array  # (N, 2) uint32, fixed per row; restart seeds derive from it and the episode number
    episode: Array  # (N,) uint32, episodes started so far, so no seed is drawn twice
    seed: Array  # (N, 2) uint32, the seed being played now


class Advanced(NamedTuple):
    """What `advance` hands back beside the new rows."""

    transition: Transition
    ended: Array  # (N,) bool
    final_state: Any  # state before restarts; only rows that ended are meaningful


def train_seed(stream: Array, episode: Array) -> Array:
    """The train-bank seed (2,) uint32 of one row's episode: drawn, then moved on past judging seeds."""
    drawn = jax.random.bits(jax.random.fold_in(jax.random.wrap_key_data(stream), episode), (2,))

    def judging(seed: Array) -> Array:
        return seedbank.residue(seed[0], seed[1]) < seedbank.FIRST_TRAIN_RESIDUE

    return jax.lax.while_loop(judging, lambda seed: seed.at[1].add(jnp.uint32(1)), drawn)


def row_streams(seed: int, num_rows: int) -> np.ndarray:
    """(N, 2) uint32 restart streams of a batch, from one trainer or evaluator seed."""
    return np.random.default_rng(seed).integers(0, 2**32, (num_rows, 2), dtype=np.uint32)


def start(game: FunctionalGame, streams: Array, episode: Array | None = None) -> Rows:
    """Every row's first game (or its next, after `episode` (N,) uint32 started ones), from its own stream."""
    episode = jnp.zeros(len(streams), jnp.uint32) if episode is None else episode
    first = jax.vmap(train_seed)(streams, episode)
    return Rows(_strong(game.init_batch(first)), streams, episode + 1, first)


def start_from(game: FunctionalGame, streams: Array, first: Array, episode: Array | None = None) -> Rows:
    """Every row's first game, from given (N, 2) uint32 seeds."""
    episode = jnp.zeros(len(streams), jnp.uint32) if episode is None else episode
    return Rows(_strong(game.init_batch(first)), streams, episode + 1, first)


def advance(game: FunctionalGame, rows: Rows, actions: Array) -> tuple[Rows, Advanced]:
    """One step of every row; ended games restart from the next seed of their row."""
    following = jax.vmap(train_seed)(rows.stream, rows.episode)
    state, transition, final_state = game.play_batch(rows.state, actions, following)
    ended = transition.terminated | transition.truncated
    episode = rows.episode + ended.astype(jnp.uint32)
    seed = jnp.where(ended[:, None], following, rows.seed)
    return Rows(_strong(state), rows.stream, episode, seed), Advanced(transition, ended, final_state)


def _strong(state: Any) -> Any:
    """The state without weak types: a number written in the rules must not make a program compile twice."""
    return jax.tree.map(lambda leaf: jax.lax.convert_element_type(leaf, leaf.dtype), state)


def select_rows(condition: Array, chosen: Any, otherwise: Any) -> Any:
    """Per-row choice between two trees with leading axis N."""

    def pick(a: Array, b: Array) -> Array:
        return jnp.where(condition.reshape(condition.shape + (1,) * (a.ndim - 1)), a, b)

    return jax.tree.map(pick, chosen, otherwise)


def named_leaves(tree: Any) -> dict[str, np.ndarray]:
    """A tree of arrays as {path: array}: what snapshots and checkpoints store."""
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def from_named_leaves(like: Any, leaves: Mapping[str, np.ndarray], what: str) -> Any:
    """The inverse of `named_leaves`; `like` gives structure, shapes and dtypes, all of which must agree."""

    def take(path: Any, leaf: Any) -> Array:
        name = jax.tree_util.keystr(path)
        if name not in leaves:
            raise SnapshotError(f"The {what} lacks '{name}'; it was written by another version or is damaged.")
        found = leaves[name]
        if found.shape != leaf.shape or found.dtype != leaf.dtype:
            raise SnapshotError(
                f"The {what} has '{name}' as {found.dtype}{found.shape}; expected {leaf.dtype}{leaf.shape}. "
                "It belongs to another game, network or number of games."
            )
        return jnp.asarray(found)

    return jax.tree_util.tree_map_with_path(take, like)


def _jax_runs() -> bool:
    """Whether JAX has started its threads in this process; asking JAX itself would start them."""
    return bool(getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None))


_forked = False


def _note_fork() -> None:
    global _forked
    _forked = _jax_runs()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def _check_not_forked(game: str) -> None:
    """JAX waits for ever in a child that was forked while it ran: its threads stayed behind."""
    if _forked:
        raise UsageError(
            f"This process was forked from one in which JAX runs, where '{game}' would wait for ever. Start it anew "
            'instead: gymnasium.make_vec(..., vectorization_mode="async", vector_kwargs={"context": "spawn"}), or '
            'multiprocessing.get_context("spawn").'
        )


class FunctionalBatchGame(BatchGame):
    """A FunctionalGame stepped from Python: jit + vmap behind the BatchGame contract."""

    def __init__(self, game: FunctionalGame, num_envs: int, seed: int = 0, checked: bool = False) -> None:
        super().__init__(game.spec, num_envs, seed, checked)
        self.game = game
        self.options = game.options
        self.rows: Rows | None = None
        self._final_state: Any = None
        self._streams = row_streams(seed, num_envs)  # NumPy: until games begin, this process may still be forked
        programs = _compiled(game)
        self._start, self._start_from, self._advance, self._keep_held, self._look, self._observe = programs

    def reset(self, seeds: np.ndarray | None = None) -> None:
        _check_not_forked(self.spec.id)
        # A second reset goes on in the streams, so that it too deals games never seen before.
        episode = jnp.zeros(self.num_envs, jnp.uint32) if self.rows is None else self.rows.episode
        if seeds is None:
            self.rows = self._start(self._streams, episode)
        else:
            seeds = np.asarray(seeds, np.uint64)
            if seeds.shape != (self.num_envs,):
                raise UsageError(f"reset got seeds of shape {seeds.shape}; expected ({self.num_envs},), one per game.")
            first = jnp.asarray(np.stack(seedbank.split(seeds), axis=1))
            self.rows = self._start_from(self._streams, first, episode)
        self.reward[:] = 0
        self.reward_terms[:] = 0
        self.terminated[:] = False
        self.truncated[:] = False
        self._refresh()

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        rows = self.live_rows()
        self.check_actions(actions, hold)
        moves = jnp.asarray(actions, jnp.int32)
        self.rows, advanced = self._advance(rows, moves)
        if hold is not None:
            self.rows, advanced = self._keep_held(jnp.asarray(hold, bool), rows, self.rows, advanced)
        transition, ended, final_state = advanced
        self.reward_terms[:] = transition.reward_terms
        self.reward[:] = self.reward_terms.sum(axis=1)
        self.terminated[:] = transition.terminated
        self.truncated[:] = transition.truncated
        self.final_stats[:] = transition.stats
        if np.asarray(ended).any():
            self.final_observation[:] = self._observe(final_state)
            self._final_state = final_state
        self._refresh()

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        index = slice(None) if rows is None else np.asarray(rows)
        saved = {name: leaf[index].copy() for name, leaf in named_leaves(self.live_rows()).items()}
        return {"game": np.array(self._tag()), **saved}

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        tag = str(snapshot.get("game", "nothing known"))
        if self._of_positions(tag) != self._of_positions(self._tag()):
            raise SnapshotError(f"The snapshot is of '{tag}'; this game is '{self._tag()}'. Use one of this version.")
        index = slice(None) if rows is None else np.asarray(rows)
        live = named_leaves(self.live_rows() if rows is not None or self.rows is not None else self._blank_rows())
        merged = {}
        for name, leaf in live.items():
            leaf = leaf.copy()
            if name not in snapshot or snapshot[name].shape != leaf[index].shape or snapshot[name].dtype != leaf.dtype:
                raise SnapshotError(f"The snapshot of '{tag}' is damaged or of another size: '{name}' does not fit.")
            leaf[index] = snapshot[name]
            merged[name] = leaf
        self.rows = from_named_leaves(self.rows or self._blank_rows(), merged, "snapshot")
        self._refresh()

    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        live = self.live_rows()
        chosen = np.asarray(rows)
        halves = jnp.asarray(np.stack(seedbank.split(seeds), axis=1))
        part = jax.tree.map(lambda leaf: leaf[chosen], live.state)
        redrawn = jax.vmap(self.game.redraw_hidden)(part, halves)
        state = jax.tree.map(lambda leaf, new: leaf.at[chosen].set(new), live.state, redrawn)
        self.rows = live._replace(state=state)
        self._refresh()

    def cut_off(self, rows: np.ndarray) -> None:
        """Right after a step: the games of these rows end here (`truncated`), and the step stays paid."""
        live, ending = self.live_rows(), np.zeros(self.num_rows, bool)
        ending[rows] = True
        self.final_observation[ending] = self.observation[ending]
        self._final_state = live.state
        self.truncated |= ending  # final_stats are those of the step: every game's as they stood after it
        self.rows = select_rows(jnp.asarray(ending), self._start(self._streams, live.episode), live)
        self._refresh()

    def final_board(self, row: int) -> BatchGame | None:
        if self._final_state is None:
            return None
        shown = copy.copy(self)
        shown.rows = self.live_rows()._replace(state=self._final_state)
        return shown

    def describe(self, row: int) -> str:
        return self.game.describe(self.row_state(row))

    def row_state(self, row: int) -> Any:
        """One game's own state (of the functional game)."""
        return jax.tree.map(lambda leaf: np.asarray(leaf[row]), self.live_rows().state)

    def _refresh(self) -> None:
        rows = self.live_rows()
        observation, legal_mask = self._look(rows.state)
        self.observation[:] = observation
        self.legal_mask[:] = legal_mask
        seed = np.asarray(rows.seed)
        self.seeds[:] = seedbank.join(seed[:, 0], seed[:, 1])

    def live_rows(self) -> Rows:
        """The games and their streams as they stand."""
        if self.rows is None:
            raise UsageError(f"Game '{self.spec.id}' was stepped before its first reset. Call reset() first.")
        return self.rows

    def _blank_rows(self) -> Rows:
        shapes = jax.eval_shape(partial(start, self.game), self._streams)
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    def _of_positions(self, tag: str) -> str:
        """A tag without the options that leave positions what they are (`beside_positions` of a game's options)."""
        for name in getattr(self.options, "beside_positions", ()):
            tag = re.sub(rf"(, )?\b{name}=[^,)]*", "", tag)
        return tag

    def _tag(self) -> str:
        return f"{self.spec.id} v{self.spec.version} {self.game.options}"


def look_at(game: FunctionalGame, state: Any) -> tuple[np.ndarray, np.ndarray]:
    """(observation (D,), legal_mask (A,)) of one state."""
    observation, legal_mask = _compiled(game)[_LOOK](jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], state))
    return np.asarray(observation[0]), np.asarray(legal_mask[0])


_programs: dict[Any, tuple[Any, ...]] = {}
_LOOK = 4  # of the programs below


def _compiled(game: FunctionalGame) -> tuple[Any, ...]:
    """The jitted programs of a game, shared by all batches of the same game and options."""
    key = (type(game), game.options)
    if key not in _programs:
        # A program of its own, so that the rules (most of what there is to compile) are compiled only once.
        def keep_held(hold: Array, rows: Rows, new: Rows, advanced: Advanced) -> tuple[Rows, Advanced]:
            transition, ended, final_state = advanced
            quiet = Transition(
                jnp.where(hold[:, None], 0.0, transition.reward_terms),
                transition.terminated & ~hold,
                transition.truncated & ~hold,
                transition.stats,
            )
            return select_rows(hold, rows, new), Advanced(quiet, ended & ~hold, final_state)

        _programs[key] = (
            jax.jit(partial(start, game)),
            jax.jit(partial(start_from, game)),
            jax.jit(partial(advance, game)),
            jax.jit(keep_held),
            jax.jit(lambda state: (game.observe_batch(state), game.legal_mask_batch(state))),
            jax.jit(game.observe_batch),
        )
    return _programs[key]
