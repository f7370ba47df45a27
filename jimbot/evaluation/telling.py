"""Results of judged games as events, for whoever listens on a bus."""

from __future__ import annotations

import numpy as np

from jimbot.evaluation.summary import Evaluation
from jimbot.games.contract import game_entry
from jimbot.runs.sinks.publishing import Publisher


def tell_results(publisher: Publisher, evaluation: Evaluation, told_by: str) -> None:
    """One `game.result` per game, and one `run.event` with the means."""
    from jimbot.proto.events_pb2 import GameResultEvent, RunEvent

    games = evaluation.games
    spec = game_entry(games.game).spec
    for number, seed in enumerate(games.seeds.tolist()):
        result = GameResultEvent(
            game=games.game,
            game_version=spec.version,
            game_id=f"{told_by} {seed}",
            steps=int(games.lengths[number]),
            total_return=float(games.returns[number]),
            terminated=not (games.truncated[number] or games.unfinished[number]),
            seed=str(seed),
        )
        if not games.unfinished[number]:
            result.stats.update(zip(spec.episode_stats, games.stats[number].tolist(), strict=True))
        publisher.offer("game.result", result, result.game_id)
    finished = games.stats[~games.unfinished]
    values = {"return": float(games.returns.mean()), "games": float(len(games.seeds))}
    if len(finished):
        values |= dict(zip(spec.episode_stats, np.mean(finished, axis=0).tolist(), strict=True))
    publisher.offer("run.event", RunEvent(run=told_by, kind="evaluated", game=games.game, values=values), told_by)
