"""Games that were written down, as the graph asks for them: what each run held at every milestone, and how it ended.

They come from datasets (`jimbot record`), from the bus, or from what a training run kept of its games
(`training.jax_ppo.extensions.far_games`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import KnowledgeError, UnreadableError, UsageError
from jimbot.games.contract import game_entry
from jimbot.games.entry import GameEntry
from jimbot.games.hooks import PlayedGame
from jimbot.knowledge.played import Holdings, PlayedRun
from jimbot.reading.plain import json_value
from jimbot.runs.catalogue import find_run
from jimbot.runs.files import read_text
from jimbot.training.imitation.dataset import Dataset

FILE = "far_runs.jsonl"  # of a run


class _Reader:
    """Reads observations of one game."""

    def __init__(self, entry: GameEntry, where: str) -> None:
        knowledge, milestones = entry.knowledge, entry.milestones
        if knowledge is None or knowledge.read_observation is None or milestones is None:
            raise UsageError(
                f"{where} holds games of '{entry.spec.id}', whose observations do not tell what a run holds."
            )
        self._read, self._milestone = knowledge.read_observation, milestones.name
        self._won = entry.spec.episode_stats.index("won")
        self._seed = entry.seed_form.write if entry.seed_form else str

    def run(self, seed: int, stats: np.ndarray, player: str) -> PlayedRun:
        return PlayedRun(self._seed(seed), bool(stats[self._won]), player=player)

    def note(self, run: PlayedRun, observation: np.ndarray) -> None:
        state = self._read(observation)
        reached = int(state[self._milestone])
        run.at.setdefault(reached, state)
        run.reached = max(run.reached, reached)


def runs_of_dataset(path: str | Path) -> list[PlayedRun]:
    """The finished games of a dataset that `jimbot record` wrote, in the order they began."""
    with Dataset.open(path) as dataset:
        reader = _Reader(game_entry(dataset.spec.id), str(path))
        player = dataset.info.policy
        runs = [reader.run(int(seed), stats, player) for seed, stats in zip(dataset.seeds, dataset.stats, strict=True)]
        for number in range(len(dataset.info.chunks)):
            chunk = dataset.chunk(number)
            for row, observation in zip(chunk.rows, chunk.observation, strict=True):
                reader.note(runs[int(dataset.trajectory[row])], observation)
    return [run for run in runs if run.at]


def runs_of_played(game: str, games: Iterable[PlayedGame], player: str = "bus") -> list[PlayedRun]:
    """Games that were played elsewhere and told, for instance on the event bus."""
    reader = _Reader(game_entry(game), "The bus")
    runs = []
    for one in games:
        run = reader.run(one.seed, one.stats, player)
        for observation in one.observation:
            reader.note(run, observation)
        runs.append(run)
    return [run for run in runs if run.at]


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
