"""Recorded games as the graph asks for them: what each run held at every milestone, and how it ended."""

from __future__ import annotations

from pathlib import Path

from jimbot.errors import UsageError
from jimbot.games.contract import game_entry
from jimbot.knowledge.played import PlayedRun
from jimbot.training.imitation.dataset import Dataset


def runs_of_dataset(path: str | Path) -> list[PlayedRun]:
    """The finished games of a dataset that `jimbot record` wrote, in the order they began."""
    with Dataset.open(path) as dataset:
        entry = game_entry(dataset.spec.id)
        knowledge, milestones = entry.knowledge, entry.milestones
        if knowledge is None or knowledge.read_observation is None or milestones is None:
            raise UsageError(
                f"{path} holds games of '{entry.spec.id}', whose observations do not tell what a run holds."
            )
        won = entry.spec.episode_stats.index("won")
        write = entry.seed_form.write if entry.seed_form else str
        runs = {
            number: PlayedRun(write(int(dataset.seeds[number])), bool(dataset.stats[number, won]))
            for number in range(dataset.info.trajectories)
        }
        for number in range(len(dataset.info.chunks)):
            chunk = dataset.chunk(number)
            for row, observation in zip(chunk.rows, chunk.observation, strict=True):
                run = runs[int(dataset.trajectory[row])]
                state = knowledge.read_observation(observation)
                reached = int(state[milestones.name])
                if reached not in run.at:
                    run.at[reached] = state
                run.reached = max(run.reached, reached)
    return [run for run in runs.values() if run.at]
