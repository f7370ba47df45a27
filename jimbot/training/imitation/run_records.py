"""Games that were written down, as the graph asks for them: what each run held at every milestone, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.contract import game_entry
from jimbot.games.entry import GameEntry
from jimbot.games.hooks import PlayedGame
from jimbot.knowledge.played import PlayedRun
from jimbot.training.imitation.dataset import Dataset


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
