"""A tiny game of two players (best of some rounds of rock, paper, scissors), to test seats without a real one.

Every third round the second player only watches, so rows that are not acting occur too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jimbot.errors import SnapshotError, UsageError
from jimbot.games.contract import ActionBlock, ActionSpec, BatchGame, Field, GameEntry, GameSpec, ObservationSpec
from jimbot.games.seeds import train_seeds

HANDS = ("rock", "paper", "scissors")


@dataclass(frozen=True)
class Options:
    rounds: int = 5


SPEC = GameSpec(
    id="duel",
    version=1,
    players=2,
    observation=ObservationSpec((
        Field("seat", (1,), "0 or 1"),
        Field("round", (1,), "rounds played"),
        Field("prize", (1,), "what this round pays"),
        Field("seen", (1,), "what the other showed last, 0 for nothing", ids=len(HANDS) + 1),
    )),
    actions=ActionSpec((ActionBlock("hand", HANDS),)),
    reward_terms=("prize",),
    episode_stats=("won",),
    options=Options,
)  # fmt: skip


class Duel(BatchGame):
    def __init__(self, num_envs: int, seed: int = 0, options: Options = Options(), checked: bool = False) -> None:
        super().__init__(SPEC, num_envs, seed, checked)
        self.options = options
        self.rng = np.random.default_rng(seed)
        self.state = np.zeros((num_envs, 6), np.uint64)  # seed, round, seen by 0, seen by 1, score of 0 + 100, luck

    def reset(self, seeds: np.ndarray | None = None) -> None:
        self._deal(np.arange(self.num_envs), train_seeds(self.rng, self.num_envs) if seeds is None else seeds)
        for array in (self.reward, self.reward_terms, self.terminated, self.truncated):
            array[:] = 0
        self._look()

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        self.check_actions(actions, hold)
        held = np.zeros(self.num_rows, bool) if hold is None else np.asarray(hold)
        for array in (self.reward, self.terminated, self.truncated):
            array[:] = 0
        for number in np.flatnonzero(~held[::2]):
            row, game = 2 * number, self.state[number]
            mine, theirs = (np.where(self.acting, actions, 0))[row : row + 2]
            outcome = (0, 1, -1)[(mine - theirs) % 3] * self._prize(game)
            self.reward[row : row + 2] = outcome, -outcome
            game[1:5] = game[1] + 1, theirs + 1, mine + 1, int(game[4]) + outcome
            if game[1] >= self.options.rounds:
                self.terminated[row : row + 2] = True
                self._look()
                self.final_observation[row : row + 2] = self.observation[row : row + 2]
                won = int(game[4]) - 100
                self.final_stats[row : row + 2, 0] = won, -won
                self._deal(np.array([number]), train_seeds(self.rng, 1))
        self.reward_terms[:, 0] = self.reward
        self._look()

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        words = np.array([int(part) for part in self._rng_words()], object).astype(str)
        return {"state": self.state.copy(), "rng": words}

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        if "state" not in snapshot or snapshot["state"].shape != self.state.shape:
            raise SnapshotError("Not a duel.")
        self.state[:] = snapshot["state"]
        words: Any = self.rng.bit_generator.state
        words["state"] = {"state": int(snapshot["rng"][0]), "inc": int(snapshot["rng"][1])}
        self.rng.bit_generator.state = words
        self._look()

    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        if len(rows) != len(seeds):
            raise UsageError("One seed per row.")

    def describe(self, row: int) -> str:
        return f"round {int(self.state[row // 2, 1])}, seat {row % 2}"

    def _rng_words(self) -> tuple[int, int]:
        state = self.rng.bit_generator.state["state"]
        return state["state"], state["inc"]

    def _prize(self, game: np.ndarray) -> int:
        return 1 + int(game[0] >> game[1]) % 3

    def _deal(self, games: np.ndarray, seeds: np.ndarray) -> None:
        self.state[games] = 0
        self.state[games, 0] = seeds
        self.state[games, 4] = 100

    def _look(self) -> None:
        self.seeds[:] = np.repeat(self.state[:, 0], 2)
        self.acting[1::2] = self.state[:, 1] % 3 != 2
        self.legal_mask[:] = self.acting[:, None]
        self.legal_mask[:, 0] = True
        prizes = np.array([self._prize(game) for game in self.state])
        for seat in (0, 1):
            columns = (np.full(self.num_envs, seat), self.state[:, 1], prizes, self.state[:, 2 + seat])
            self.observation[seat::2] = np.stack(columns, axis=1)


GAME = GameEntry(spec=SPEC, make=Duel)
