"""Teachers and a game for the tests of imitation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jimbot.games.contract import ActionBlock, ActionSpec, BatchGame, Field, GameEntry, GameSpec, ObservationSpec
from jimbot.games.seeds import train_seeds
from jimbot.policies.contract import Decision
from jimbot.policies.portable import OnnxPolicy
from jimbot.training.imitation.dataset import DatasetInfo
from jimbot.training.imitation.record import record
from tests.cli.making import save_perfect


def perfect_teacher(folder: Path) -> OnnxPolicy:
    """Plays `probe` without a mistake."""
    return OnnxPolicy.from_checkpoint(save_perfect(folder / "teacher"))


def record_perfect(folder: Path, games: int = 64, **changes: object) -> tuple[Path, DatasetInfo]:
    path = folder / "perfect.npz"
    changes = {"num_envs": 16, **changes}
    return path, record(perfect_teacher(folder), "probe", games, path, **changes)


class FirstLegal:
    """Always takes the legal action with the lowest number."""

    name = "first"

    def act(self, observation, legal_mask, deterministic=True, key=None) -> Decision:
        assert legal_mask.any(axis=1).all()
        actions = legal_mask.argmax(axis=1)
        return Decision(actions, np.eye(legal_mask.shape[1], dtype=np.float32)[actions], np.zeros(len(actions)))


@dataclass(frozen=True)
class NoOptions:
    pass


TURNS = 6
SPEC = GameSpec(
    id="turns",
    version=1,
    players=2,
    observation=ObservationSpec((Field("turn", (1,), "turns played"),)),
    actions=ActionSpec((ActionBlock("move", ("wait", "go")),)),
    reward_terms=("step",),
    episode_stats=("turns",),
    options=NoOptions,
)


class Turns(BatchGame):
    """Two players move in turn, six turns in all; each turn t pays both of them t + 1."""

    def __init__(self, num_envs: int, seed: int = 0, options: NoOptions = NoOptions(), checked: bool = False) -> None:
        super().__init__(SPEC, num_envs, seed, checked)
        self.turn = np.zeros(num_envs, np.int64)
        self.rng = np.random.default_rng(seed)

    def reset(self, seeds: np.ndarray | None = None) -> None:
        self.turn[:] = 0
        self.seeds[:] = np.repeat(train_seeds(self.rng, self.num_envs) if seeds is None else seeds, 2)
        self._look()

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        self.check_actions(actions, hold)
        live = np.ones(self.num_envs, bool) if hold is None else ~hold[::2]
        self.reward[:] = np.repeat(np.where(live, self.turn + 1, 0), 2)
        self.reward_terms[:] = self.reward[:, None]
        self.turn += live
        over = live & (self.turn == TURNS)
        self.terminated[:] = np.repeat(over, 2)
        self.final_stats[:] = TURNS
        self.seeds[self.terminated] = np.repeat(train_seeds(self.rng, int(over.sum())), 2)
        self.turn[over] = 0
        self._look()

    def _look(self) -> None:
        self.observation[:] = np.repeat(self.turn, 2)[:, None]
        self.acting[:] = np.stack([self.turn % 2 == 0, self.turn % 2 == 1], axis=1).reshape(-1)
        self.legal_mask[:, 0] = ~self.acting
        self.legal_mask[:, 1] = self.acting

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        return {"turn": self.turn.copy()}

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        self.turn[:] = snapshot["turn"]
        self._look()

    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        pass

    def describe(self, row: int) -> str:
        return f"turn {self.turn[row // 2]}"


GAME = GameEntry(spec=SPEC, make=Turns)
