"""`FunctionalGame`: what a game written in JAX implements, pure functions that a learner compiles into its own program.

`jimbot.games.functional` turns one into a BatchGame. Nothing here imports JAX before it is used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar

from jimbot.games.spec import GameSpec

State = TypeVar("State")


class Transition(NamedTuple):
    """What one step of one functional game produced (JAX arrays; under vmap all with a leading batch axis)."""

    reward_terms: Any  # (K,) float32
    terminated: Any  # () bool
    truncated: Any  # () bool
    stats: Any  # (S,) float32, the episode statistics as they stand now


class FunctionalGame(ABC, Generic[State]):
    """A game as pure JAX functions of one game; the random generator lives inside the state.

    `*_batch` are the whole-batch forms that learners call. The defaults are plain vmap; a game overrides them where
    that is wasteful (under vmap every branch runs for every game).
    """

    spec: GameSpec
    options: Any

    @abstractmethod
    def init(self, seed: Any) -> State:
        """A new game from a seed given as (2,) uint32 halves (high, low)."""

    @abstractmethod
    def step(self, state: State, action: Any) -> tuple[State, Transition]:
        """One legal action; does not restart. What an illegal action does is the game's own affair."""

    @abstractmethod
    def observe(self, state: State) -> Any:
        """(D,) float32: what the player may know."""

    @abstractmethod
    def legal_mask(self, state: State) -> Any:
        """(A,) bool."""

    @abstractmethod
    def redraw_hidden(self, state: State, seed: Any) -> State:
        """The same situation with everything the player cannot know re-dealt from a (2,) uint32 seed."""

    @abstractmethod
    def describe(self, state: State) -> str:
        """One concrete state in words."""

    def init_batch(self, seeds: Any) -> State:
        """New games from (N, 2) uint32 seeds."""
        import jax

        return jax.vmap(self.init)(seeds)

    def play_batch(self, state: State, actions: Any, restart_seeds: Any) -> tuple[State, Transition, State]:
        """Steps every game and restarts the ended ones from `restart_seeds` (N, 2) uint32.

        Returns (state to act from next, transition, state at the end of the step before any restart). The last one
        is only for `final_observation`: where a game did not end it may be anything.
        """
        import jax
        import jax.numpy as jnp

        after, transition = jax.vmap(self.step)(state, actions)
        ended = transition.terminated | transition.truncated
        fresh = self.init_batch(restart_seeds)

        def choose(new: Any, old: Any) -> Any:
            return jnp.where(ended.reshape(ended.shape + (1,) * (old.ndim - 1)), new, old)

        return jax.tree.map(choose, fresh, after), transition, after

    def observe_batch(self, state: State) -> Any:
        """(N, D) float32."""
        import jax

        return jax.vmap(self.observe)(state)

    def legal_mask_batch(self, state: State) -> Any:
        """(N, A) bool."""
        import jax

        return jax.vmap(self.legal_mask)(state)
