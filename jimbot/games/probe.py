"""`probe`: a tiny game with a known optimum that no learner solves without its mask.

Each step shows a colour. Exactly one door is open, in all colours, and only the mask tells which door. Going through
the open door of the shown colour pays 1, through another colour 0. So with the mask the best return is `horizon`;
a player that ignores the mask finds the open door once in `DOORS` tries and cannot expect more than
`horizon / DOORS`, however long it learns. Every learner is tested on it, with the unmasked control that must fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jimbot.games.contract import FunctionalGame, GameEntry, Transition
from jimbot.games.functional import FunctionalBatchGame
from jimbot.games.spec import ActionBlock, ActionSpec, Field, GameSpec, ObservationSpec

COLOURS = ("red", "green", "blue", "gold")
DOORS = 12
MAX_HORIZON = 64


@dataclass(frozen=True)
class Options:
    horizon: int = 8
    """Steps to a normal end (terminated)."""
    step_limit: int = 0
    """If above 0, the game is cut off (truncated) after this many steps."""

    def __post_init__(self) -> None:
        if not 1 <= self.horizon <= MAX_HORIZON:
            raise ValueError(f"horizon is {self.horizon}; expected 1 to {MAX_HORIZON}.")
        if self.step_limit < 0:
            raise ValueError(f"step_limit is {self.step_limit}; expected 0 (none) or more.")


SPEC = GameSpec(
    id="probe",
    version=1,
    players=1,
    observation=ObservationSpec(
        (
            Field("colour", (len(COLOURS),), "the colour that pays now, one-hot"),
            Field("progress", (1,), "share of the game played"),
        )
    ),
    actions=ActionSpec(
        tuple(
            ActionBlock(f"door_{door}", tuple(f"door {door} {colour}" for colour in COLOURS)) for door in range(DOORS)
        )
    ),
    reward_terms=("match",),
    episode_stats=("matches",),
    options=Options,
)


class State(NamedTuple):
    key: Any  # (2,) uint32
    turn: Any  # () int32
    colour: Any  # () int32
    door: Any  # () int32
    matches: Any  # () int32


class Probe(FunctionalGame[State]):
    spec = SPEC

    def __init__(self, options: Options = Options()) -> None:
        self.options = options

    def init(self, seed: Any) -> State:
        zero = jnp.int32(0)
        return self._deal(State(seed, zero, zero, zero, zero))

    def step(self, state: State, action: Any) -> tuple[State, Transition]:
        match = (action == state.door * len(COLOURS) + state.colour).astype(jnp.int32)
        state = self._deal(state._replace(turn=state.turn + 1, matches=state.matches + match))
        terminated = state.turn >= self.options.horizon
        truncated = ~terminated & (self.options.step_limit > 0) & (state.turn >= self.options.step_limit)
        reward_terms = match.astype(jnp.float32)[None]
        return state, Transition(reward_terms, terminated, truncated, state.matches.astype(jnp.float32)[None])

    def observe(self, state: State) -> Any:
        progress = state.turn.astype(jnp.float32) / self.options.horizon
        return jnp.concatenate([jax.nn.one_hot(state.colour, len(COLOURS)), progress[None]])

    def legal_mask(self, state: State) -> Any:
        return jnp.asarray(SPEC.actions.block_of) == state.door

    def redraw_hidden(self, state: State, seed: Any) -> State:
        return state._replace(key=seed)

    def describe(self, state: State) -> str:
        return f"turn {int(state.turn)}: the {COLOURS[int(state.colour)]} side of door {int(state.door)} pays"

    def _deal(self, state: State) -> State:
        draw = jax.random.bits(jax.random.fold_in(jax.random.wrap_key_data(state.key), state.turn), (2,))
        return state._replace(
            colour=(draw[0] % len(COLOURS)).astype(jnp.int32), door=(draw[1] % DOORS).astype(jnp.int32)
        )


def make(num_envs: int, seed: int = 0, options: Options = Options(), checked: bool = False) -> FunctionalBatchGame:
    return FunctionalBatchGame(Probe(options), num_envs, seed, checked)


ABOUT = "A yardstick for learners: every turn one side of the open door pays, and the board says which."

GAME = GameEntry(spec=SPEC, make=make, functional=Probe, about=ABOUT)
