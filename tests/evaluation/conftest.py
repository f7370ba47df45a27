"""`countdown`: a tiny NumPy game whose every outcome is known from its seed, for judging the judges.

A game of seed s lasts 1 + s % 7 steps. Action 0 ("take") pays 1, action 1 ("pass") 0; the third action is never legal.
A game is won when everything was taken. With the option `endless` no game ever ends by itself; with `limit` it is cut
off (truncated) after so many steps. The batch keeps a diary of which seed was stepped how often.
"""

from __future__ import annotations

import sys
import types
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from jimbot.games import contract
from jimbot.games.contract import BatchGame, GameEntry, register_game
from jimbot.games.spec import ActionBlock, ActionSpec, Field, GameSpec, ObservationSpec
from jimbot.policies.contract import Decision


@dataclass(frozen=True)
class Options:
    endless: bool = False
    limit: int = 0


SPEC = GameSpec(
    id="countdown",
    version=1,
    players=1,
    observation=ObservationSpec((Field("left", (1,), "steps left"),)),
    actions=ActionSpec((ActionBlock("all", ("take", "pass", "cheat")),)),
    reward_terms=("taken", "nothing"),
    episode_stats=("taken", "won"),
    options=Options,
)


class Countdown(BatchGame):
    diary: ClassVar[Counter[int]] = Counter()
    batches: ClassVar[list[int]] = []

    def __init__(self, num_envs: int, seed: int, options: Options, checked: bool) -> None:
        super().__init__(SPEC, num_envs, seed, checked)
        self.options = options
        self.turn = np.zeros(num_envs, np.int64)
        self.taken = np.zeros(num_envs, np.int64)
        Countdown.batches.append(num_envs)

    def reset(self, seeds: np.ndarray | None = None) -> None:
        assert seeds is not None, "evaluation always gives seeds"
        self.seeds[:] = seeds
        self.turn[:] = self.taken[:] = 0
        self.show()

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        self.check_actions(actions, hold)
        assert hold is not None
        free = ~hold
        for seed in self.seeds[free]:
            Countdown.diary[int(seed)] += 1
        taken = (actions == 0) & free
        self.turn += free
        self.taken += taken
        self.reward_terms[:] = np.stack([taken, np.zeros_like(taken)], axis=1)
        self.reward[:] = self.reward_terms.sum(axis=1)
        done = self.turn >= self.lengths()
        self.terminated[:] = free & done & (not self.options.endless)
        self.truncated[:] = free & ~self.terminated & (self.options.limit > 0) & (self.turn >= self.options.limit)
        self.final_stats[:] = np.stack([self.taken, self.taken >= self.lengths()], axis=1)
        ended = self.terminated | self.truncated
        self.seeds[ended] += np.uint64(1_000_000)  # the restart that must not count
        self.turn[ended] = self.taken[ended] = 0
        self.show()

    def lengths(self) -> np.ndarray:
        return 1 + (self.seeds % np.uint64(7)).astype(np.int64)

    def show(self) -> None:
        self.observation[:, 0] = self.lengths() - self.turn
        self.legal_mask[:] = [True, True, False]

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        raise NotImplementedError

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        raise NotImplementedError

    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        raise NotImplementedError

    def describe(self, row: int) -> str:
        return "counting down"


class Always:
    """Plays one action for ever; with a chance of passing, drawn from the luck it is given."""

    def __init__(self, action: int, name: str, pass_chance: float = 0.0) -> None:
        self.action, self.name, self.pass_chance = action, name, pass_chance

    def act(self, observation, legal_mask, deterministic=True, key=None) -> Decision:
        actions = np.full(len(observation), self.action, np.int64)
        if self.pass_chance:
            actions[key.random(len(actions)) < self.pass_chance] = 1
        return Decision(actions, np.eye(3, dtype=np.float32)[actions], np.zeros(len(actions), np.float32))


@pytest.fixture
def countdown() -> Iterator[type[Countdown]]:
    def make(num_envs: int, seed: int = 0, options: Options = Options(), checked: bool = False) -> Countdown:
        return Countdown(num_envs, seed, options, checked)

    module = types.ModuleType("countdown_for_tests")
    module.__dict__["GAME"] = GameEntry(SPEC, make, heuristics={"taker": lambda: Always(0, "taker")})
    sys.modules["countdown_for_tests"] = module
    register_game("countdown", "countdown_for_tests")
    Countdown.diary.clear()
    Countdown.batches.clear()
    yield Countdown
    del contract._GAMES["countdown"], sys.modules["countdown_for_tests"]


@pytest.fixture
def always() -> type[Always]:
    return Always
