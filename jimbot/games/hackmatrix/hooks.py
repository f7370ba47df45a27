"""What HackMatrix offers beyond being played (see `jimbot.games.hooks`): stages for a curriculum, its figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from jimbot.games.batch_game import BatchGame
from jimbot.games.functional import FunctionalBatchGame
from jimbot.games.hackmatrix.spec import STAGES
from jimbot.games.hooks import Figure, Milestones


def benchmark(num_envs: int | None, seconds: float, cold: bool) -> dict[str, Any]:
    from jimbot.games.functional_benchmark import bench_game

    return bench_game("hackmatrix", num_envs, seconds, cold)


def _column(game: BatchGame, name: str) -> np.ndarray:
    """(N,) one number of every game's state."""
    return np.asarray(getattr(cast(FunctionalBatchGame, game).live_rows().state, name))


def _stages(game: BatchGame) -> np.ndarray:
    return _column(game, "stage")


def _cut_off(game: BatchGame, rows: np.ndarray) -> None:
    cast(FunctionalBatchGame, game).cut_off(rows)


MILESTONES = Milestones("stage", STAGES, _stages, _cut_off)


def _reader(name: str) -> Callable[[BatchGame, int], Any]:
    return lambda game, row: _column(game, name)[row].item()


FIGURES = {
    "stage": Figure(_reader("stage"), "stage"),
    "score": Figure(_reader("score"), "score"),
    "hp": Figure(_reader("hp")),
    "credits": Figure(_reader("credits")),
    "energy": Figure(_reader("energy")),
    "won": Figure(lambda game, row: False, "won"),
}
