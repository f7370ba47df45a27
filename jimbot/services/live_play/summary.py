"""What live games say about a policy, in the form every judgement has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jimbot.errors import UsageError
from jimbot.evaluation import Evaluation
from jimbot.evaluation.play import Games
from jimbot.games.entry import GameEntry
from jimbot.games.seed_names import seed_number
from jimbot.policies.players import Player
from jimbot.services.live_play.player import PlayedLive


def summarised(
    entry: GameEntry, player: Player, played: Sequence[PlayedLive], where: str, deterministic: bool = True
) -> Evaluation:
    """An evaluation of the runs that were begun; those given up count as unfinished."""
    spec, count = entry.spec, len(played)
    stats = np.full((count, len(spec.episode_stats)), np.nan)
    terms, returns = np.zeros((count, len(spec.reward_terms))), np.zeros(count)
    for row, one in enumerate(played):
        if one.result is not None:
            returns[row], terms[row] = one.result.total_return, one.result.reward_terms
            if one.finished:
                stats[row] = one.result.stats
    games = Games(
        game=spec.id,
        policy=player.name,
        seeds=np.array([_number(entry, one.seed) for one in played], np.uint64),
        returns=returns,
        lengths=np.array([one.moves for one in played], np.int64),
        reward_terms=terms,
        stats=stats,
        truncated=np.zeros(count, bool),
        unfinished=np.array([not one.finished for one in played], bool),
        illegal_actions=sum(one.counts["refused"] for one in played),
        seconds=sum(one.seconds for one in played),
    )
    return Evaluation(games, where, deterministic, player.options)


def _number(entry: GameEntry, seed: str) -> int:
    """A seed as a number; 0 for one that has none, as short ones of the bought game."""
    try:
        return seed_number(entry, seed)
    except UsageError:
        return 0
