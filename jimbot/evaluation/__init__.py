"""Evaluating policies: seeds never trained on, metrics with intervals, paired comparison.

Importing this package loads no game engine and no inference library; playing does.
"""

from jimbot.evaluation.compare import Comparison, Difference, common_game, compare, compare_evaluations
from jimbot.evaluation.duels import CrossPlay, Duel, DuelEvaluation, cross_play, evaluate_duels
from jimbot.evaluation.evaluator import choose_seeds, evaluate, read_seeds_file
from jimbot.evaluation.intervals import (
    Interval,
    mean_interval,
    paired_interval,
    paired_rate_interval,
    survival,
    wilson_interval,
)
from jimbot.evaluation.play import Games, Witness, play_games
from jimbot.evaluation.summary import Evaluation

__all__ = [
    "Comparison", "CrossPlay", "Difference", "Duel", "DuelEvaluation", "Evaluation", "Games", "Interval",
    "Witness", "choose_seeds", "common_game", "compare", "compare_evaluations",
    "cross_play", "evaluate", "evaluate_duels", "mean_interval", "paired_interval",
    "paired_rate_interval", "play_games", "read_seeds_file", "survival", "wilson_interval",
]  # fmt: skip
