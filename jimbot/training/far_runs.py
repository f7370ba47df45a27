"""Games of a training run that came far, kept with what they held: what `jimbot graph discover --from-run` learns from.

Only the newest are kept, in one small file of the run that is written with every checkpoint. What a game holds is read
from its observations when it reaches a milestone, so nothing is asked of the game itself.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import KnowledgeError, UnreadableError, UsageError
from jimbot.games.contract import available_games, game_entry
from jimbot.games.entry import GameEntry
from jimbot.knowledge.played import MILESTONE, Holdings, PlayedRun
from jimbot.reading.plain import json_value
from jimbot.runs.catalogue import find_run
from jimbot.runs.files import read_text, write_atomically

FILE = "far_runs.jsonl"
_KEPT = ("jokers", "played", "money", "cards", "deck_shape", "deck", "vouchers")
"""What is kept of a state; the rest is asked by nobody."""


class FarRuns:
    """Follows the games of a batch, rollout by rollout."""

    def __init__(self, entry: GameEntry, path: Path, most: int, player: str) -> None:
        self._entry, self._path, self._player = entry, path, player
        self._kept: deque[PlayedRun] = deque(_read(path) if path.exists() else (), maxlen=most)
        self._at: list[dict[int, Any]] = []
        self._seeds = np.zeros(0, np.uint64)
        self._won = entry.spec.episode_stats.index("won")

    @classmethod
    def of(cls, game: str, folder: Path, most: int) -> FarRuns | None:
        """None where nothing is to be kept, or the game's observations do not tell what a run holds."""
        entry = game_entry(game) if game in available_games() else None
        told = entry is not None and entry.knowledge is not None and entry.knowledge.read_observation is not None
        if entry is None or not told or not most or entry.milestones is None or entry.milestones.seen is None:
            return None
        return cls(entry, folder / FILE, most, folder.name)

    def look(self, observation: np.ndarray, ended: np.ndarray, stats: np.ndarray, seeds: np.ndarray) -> None:
        """A rollout: `observation` (T, N, D) before each step, whether it `ended` (T, N) the game and with which
        `stats` (T, N, S); `seeds` (N,) are those that the rows play now."""
        knowledge, milestones = self._entry.knowledge, self._entry.milestones
        assert knowledge is not None, "checked at construction"
        assert knowledge.read_observation is not None, "checked at construction"
        assert milestones is not None, "checked at construction"
        assert milestones.seen is not None, "checked at construction"
        if not self._at:
            self._at, self._seeds = [{} for _ in range(ended.shape[1])], seeds.copy()
        for turn in range(len(ended)):
            reached = milestones.seen(observation[turn])
            for row in np.flatnonzero(reached >= MILESTONE):
                if int(reached[row]) not in self._at[row]:
                    state = knowledge.read_observation(observation[turn, row])
                    self._at[row][int(reached[row])] = {name: state[name] for name in _KEPT if name in state}
            for row in np.flatnonzero(ended[turn]):
                self._end(int(row), bool(stats[turn, row, self._won]))
        self._seeds = seeds.copy()

    def _end(self, row: int, won: bool) -> None:
        at, self._at[row] = self._at[row], {}
        if at:
            kept = {number: at[number] for number in (min(at), max(at))}
            write = self._entry.seed_form.write if self._entry.seed_form else str
            self._kept.append(PlayedRun(write(int(self._seeds[row])), won, max(at), kept, self._player))

    def save(self) -> None:
        lines = (json.dumps(asdict(run), separators=(",", ":")) for run in self._kept)
        write_atomically(self._path, "".join(f"{line}\n" for line in lines).encode())


def runs_of_training(name: str, root: str | Path) -> list[PlayedRun]:
    """The games that a training run kept."""
    path = find_run(root, name).path / FILE
    if not path.exists():
        raise UsageError(
            f"Run '{name}' kept none of its games ({FILE}): it is of another learner than jax, its game cannot be "
            "read, or keep_games was 0."
        )
    return _read(path)


def _read(path: Path) -> list[PlayedRun]:
    try:
        return [_run(json_value(line)) for line in (read_text(path) or "").splitlines()]
    except (UnreadableError, KeyError, TypeError, ValueError) as problem:
        raise KnowledgeError(f"{path} is damaged ({problem}); delete it, the run goes on without it.") from problem


def _run(values: dict[str, Any]) -> PlayedRun:
    at: dict[int, Holdings] = {int(number): dict(state) for number, state in values["at"].items()}
    if not all(_plain(state) for state in at.values()):
        raise ValueError("a state without jokers or money")
    return PlayedRun(str(values["seed"]), bool(values["won"]), int(values["reached"]), at, str(values["player"]))


def _plain(state: Holdings) -> bool:
    jokers: Any = state.get("jokers")
    named = isinstance(jokers, Sequence) and all(isinstance(key, str) for key in jokers)
    return named and isinstance(state.get("money"), int | float)
