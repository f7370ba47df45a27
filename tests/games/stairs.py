"""A tiny game in NumPy that brings every hook along: climb stairs, landing by landing, without a false step.

Importing the module is enough for `register_game("stairs", "tests.games.stairs")`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from jimbot.errors import SnapshotError
from jimbot.games.contract import BatchGame, GameEntry, InfoMetric, Milestones, RareEvent, RecordingForm
from jimbot.games.hooks.people import Moment
from jimbot.games.seeds import train_seeds
from jimbot.games.spec import ActionBlock, ActionSpec, Field, GameSpec, ObservationSpec
from jimbot.games.verification import FileReport

STEPS_PER_LANDING, LANDINGS = 2, 4
UP, REST = 0, 1


@dataclass(frozen=True)
class Options:
    limit: int = 50
    """Steps after which a game is cut off."""


SPEC = GameSpec(
    id="stairs",
    version=1,
    players=1,
    observation=ObservationSpec((Field("height", (1,), "stairs climbed"), Field("wet", (1,), "1: the next is wet"))),
    actions=ActionSpec((ActionBlock("move", ("up", "rest")),)),
    reward_terms=("climbed",),
    episode_stats=("won", "height"),
    options=Options,
    ladder="height",
)


class Stairs(BatchGame):
    """`up` climbs one stair, on a wet one it ends the game; `rest` lets it dry. The seed says which are wet."""

    def __init__(self, num_envs: int, seed: int, options: Options, checked: bool) -> None:
        super().__init__(SPEC, num_envs, seed, checked)
        self.options = options
        self.rng = np.random.default_rng(seed)
        self.luck = np.zeros(num_envs, np.uint64)
        self.height, self.wet, self.turn = (np.zeros(num_envs, np.int64) for _ in range(3))

    def reset(self, seeds: np.ndarray | None = None) -> None:
        self.begin(np.ones(self.num_envs, bool), seeds)
        for array in (self.reward, self.reward_terms, self.terminated, self.truncated):
            array[:] = 0

    def begin(self, rows: np.ndarray, seeds: np.ndarray | None = None) -> None:
        self.seeds[rows] = train_seeds(self.rng, int(rows.sum())) if seeds is None else seeds
        self.luck[rows] = self.seeds[rows]
        self.height[rows] = self.turn[rows] = 0
        self.weather(rows)
        self.show()

    def weather(self, rows: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            self.luck[rows] = self.luck[rows] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        self.wet[rows] = (self.luck[rows] >> np.uint64(40)).astype(np.int64) % 3 == 0

    def step(self, actions: np.ndarray, hold: np.ndarray | None = None) -> None:
        self.check_actions(actions, hold)
        free = np.ones(self.num_rows, bool) if hold is None else ~np.asarray(hold, bool)
        up = free & (np.asarray(actions) == UP)
        slipped = up & (self.wet == 1)
        self.height += up & ~slipped
        self.turn += free
        self.reward_terms[:, 0] = self.reward[:] = (up & ~slipped).astype(np.float32)
        won = free & (self.height >= STEPS_PER_LANDING * LANDINGS)
        self.terminated[:] = slipped | won
        self.truncated[:] = free & (self.turn >= self.options.limit) & ~self.terminated
        self.final_stats[:] = np.stack([won, self.height], axis=1)
        self.weather(free)
        self.show()
        self.restart(self.terminated | self.truncated)

    def restart(self, ended: np.ndarray) -> None:
        self.final_observation[ended] = self.observation[ended]
        if ended.any():
            self.begin(ended)

    def cut_off(self, rows: np.ndarray) -> None:
        ended = np.isin(np.arange(self.num_rows), rows)
        self.final_stats[ended] = np.stack([np.zeros(self.num_rows), self.height], axis=1)[ended]
        self.truncated |= ended
        self.restart(ended)

    def show(self) -> None:
        self.observation[:] = np.stack([self.height, self.wet], axis=1)
        self.legal_mask[:] = True

    parts = ("luck", "height", "wet", "turn", "seeds")

    def snapshot(self, rows: np.ndarray | None = None) -> dict[str, np.ndarray]:
        index = slice(None) if rows is None else rows
        return {name: getattr(self, name)[index].copy() for name in self.parts} | {"luck of restarts": self._state()}

    def restore(self, snapshot: Mapping[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        if set(snapshot) != {*self.parts, "luck of restarts"}:
            raise SnapshotError("This is no snapshot of the stairs; use one that snapshot() returned.")
        for name in self.parts:
            getattr(self, name)[slice(None) if rows is None else rows] = snapshot[name]
        if rows is None:
            self.rng.bit_generator.state = json.loads(str(snapshot["luck of restarts"]))
        self.show()

    def _state(self) -> np.ndarray:
        return np.array(json.dumps(self.rng.bit_generator.state))

    def redraw_hidden(self, rows: np.ndarray, seeds: np.ndarray) -> None:
        self.luck[rows] = seeds

    def describe(self, row: int) -> str:
        return f"on stair {self.height[row]}, the next is {'wet' if self.wet[row] else 'dry'}"


def landing(game: BatchGame) -> np.ndarray:
    return 1 + cast(Stairs, game).height // STEPS_PER_LANDING


def high_up(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = np.flatnonzero((after[:, 0] > before[:, 0]) & (after[:, 0] >= STEPS_PER_LANDING))
    return rows, after[rows, 0].astype(np.int64)


class Climb:
    """The stairs' own recording: a string of letters."""

    game = "stairs"

    def __init__(self, seed: int, moves: str) -> None:
        self.seed, self.moves = seed, moves

    @property
    def count(self) -> int:
        return len(self.moves)

    def to_json(self) -> str:
        return json.dumps({"format": "stairs", "game": self.game, "seed": self.seed, "moves": self.moves})

    def title(self) -> str:
        return f"Stairs of seed {self.seed}"

    def lines(self) -> Iterator[str]:
        yield from ({"u": "one up", "r": "a rest"}[move] for move in self.moves)
        yield f"{self.moves.count('u')} times up."

    def picture(self, step: int) -> Iterator[Any]:
        yield "/" * self.moves[:step].count("u")
        yield "there"

    def moments(self) -> Iterator[Moment]:
        game = Stairs(1, 0, Options(), True)
        game.reset(np.array([self.seed], np.uint64))
        for move in self.moves:
            yield Moment(game, {"u": "one up", "r": "a rest"}[move])
            game.step(np.array(["ur".index(move)]))
        yield Moment(game, None)

    def document(self, step: int | None) -> dict[str, Any]:
        return {"moves": list(self.moves) if step is None else [self.moves[step - 1]]}


class ClimbRecorder:
    def __init__(self, game: BatchGame) -> None:
        self.climb = Climb(int(game.seeds[0]), "")

    def note(self, action: int) -> None:
        self.climb.moves += "ur"[action]

    def finish(self, total_return: float) -> Climb:
        return self.climb


def read_climb(text: str, name: str) -> Climb:
    document = json.loads(text)
    return Climb(document["seed"], document["moves"])


def verify(path: Path) -> Iterable[FileReport]:
    """Recorded is how many stairs there are."""
    report = FileReport(path.name, "stairs")
    with report.entry("stairs") as entry:
        entry.exact("landings", json.loads(path.read_text()), LANDINGS)
    yield report


def make(num_envs: int, seed: int = 0, options: Options = Options(), checked: bool = False) -> Stairs:
    return Stairs(num_envs, seed, options, checked)


GAME = GameEntry(
    spec=SPEC,
    make=make,
    recording=RecordingForm(ClimbRecorder, read_climb),
    milestones=Milestones("landing", LANDINGS, landing, lambda game, rows: cast(Stairs, game).cut_off(rows)),
    rare_events=lambda: (RareEvent("high_up", 5.0, 2, STEPS_PER_LANDING * LANDINGS + 1, high_up),),
    info_metrics={
        "landing": InfoMetric(lambda game, row: int(landing(game)[row])),
        "height": InfoMetric(lambda game, row: int(cast(Stairs, game).height[row]), "height"),
        "won": InfoMetric(lambda game, row: False, "won"),
    },
    verify=verify,
    benchmark=lambda num_envs, seconds, cold: {"game": "stairs", "num_envs": num_envs or 3},
)
