"""One game played from start to end and no further, for interfaces that reset by hand.

A BatchGame restarts by itself; Gymnasium's and PettingZoo's single environments stop and wait. `OneGame` is that
difference: after the end it keeps showing the game that ended.

Seeds: every game is drawn from the train bank by the generator the adapter was seeded with, so nothing that learns
through an adapter can meet a seed of evaluation. Who evaluates asks for the game:
`reset(options={"game_seed": 123})`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.contract import game_entry, make
from jimbot.games.drawing import picture
from jimbot.games.seeds import train_seeds

GAME_SEED = "game_seed"  # the reset option of all adapters


class OneGame:
    """A single game with one row per player, held still between its end and the next start."""

    def __init__(self, game_id: str, options: Mapping[str, Any], checked: bool) -> None:
        self.game = make(game_id, 1, options=options, checked=checked)
        self.spec = self.game.spec
        self.entry = game_entry(game_id)
        self.seed = np.uint64(0)  # of the game being played, kept after its end
        self.ended = False
        self._started = False

    def start(self, rng: np.random.Generator, reset_options: Mapping[str, Any] | None = None) -> None:
        """A new game: the one asked for in the options of `reset`, otherwise a fresh one of the train bank."""
        seeds = asked_seeds(reset_options, 1)
        self.game.reset(train_seeds(rng, 1) if seeds is None else seeds)
        self.seed = self.game.seeds[0]
        self.ended, self._started = False, True

    def play(self, actions: np.ndarray) -> None:
        """One step; `actions` (players,) int."""
        if self.ended or not self._started:
            state = "has ended" if self.ended else "has not begun"
            raise UsageError(f"The game of '{self.spec.id}' {state}, so it cannot be stepped. Call reset() first.")
        self.game.step(actions)
        self.ended = bool((self.game.terminated | self.game.truncated).any())

    def observation(self, row: int = 0) -> np.ndarray:
        """(D,) float32, a copy."""
        return (self.game.final_observation if self.ended else self.game.observation)[row].copy()

    def legal_mask(self, row: int = 0) -> np.ndarray:
        """(A,) bool, a copy. After the end all is legal: a mask without any legal action would break every softmax."""
        return np.ones(self.spec.actions.size, bool) if self.ended else self.game.legal_mask[row].copy()

    def info(self, row: int = 0) -> dict[str, Any]:
        """What an adapter reports beside the observation."""
        info: dict[str, Any] = {
            "action_mask": self.legal_mask(row),
            "seed": self.seed,
            "reward_terms": self.game.reward_terms[row].copy(),
        }
        return {**info, "stats": self.stats(row)} if self.ended else info

    def stats(self, row: int = 0) -> dict[str, float]:
        """The statistics of the game that ended."""
        return dict(zip(self.spec.episode_stats, self.game.final_stats[row].tolist(), strict=True))

    def picture(self) -> Any:
        """What a console prints: the board as drawn by the game, or its words; after the end the statistics."""
        if not self._started:
            return f"A game of {self.spec.id} that has not begun. Call reset() first."
        if self.ended:
            return "The game is over: " + ", ".join(f"{name} {value:g}" for name, value in self.stats().items())
        return picture(self.entry, self.game)


def asked_seeds(reset_options: Mapping[str, Any] | None, num_envs: int) -> np.ndarray | None:
    """The exact game seeds asked for in the options of `reset`, if any: one number, or one per game."""
    asked = (reset_options or {}).get(GAME_SEED)
    if asked is None:
        return None
    try:
        seeds = np.asarray(asked, np.uint64)
    except (OverflowError, TypeError, ValueError) as problem:
        raise UsageError(f"{GAME_SEED} is {asked!r}; expected whole numbers from 0 to 2**64 - 1.") from problem
    if seeds.size != num_envs:
        raise UsageError(f"{GAME_SEED} names {seeds.size} games; expected {num_envs}, one seed per game.")
    return seeds.reshape(num_envs)
