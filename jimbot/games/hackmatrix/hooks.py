"""What HackMatrix offers beyond being played (see `jimbot.games.hooks`): stages for a curriculum, metrics, states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from jimbot.errors import UsageError
from jimbot.games.batch_game import BatchGame
from jimbot.games.functional import FunctionalBatchGame, look_at
from jimbot.games.hackmatrix.build import make_state, to_dict
from jimbot.games.hackmatrix.scene import describe
from jimbot.games.hackmatrix.spec import STAGES
from jimbot.games.hackmatrix.state import State
from jimbot.games.hooks.learners import Milestones, Plans
from jimbot.games.hooks.programs import InfoMetric, PlainStates, Sight

ABOUT = (
    "A turn-based break-in on a board of 6×6 cells. Get from corner to exit, through 8 stages. A move towards an "
    "enemy in a straight line shoots it; enemies that reach you cost HP. Data siphons, used beside blocks, turn these "
    "into score, credits, energy and programs, and call more enemies. Programs cost credits and energy. Win by leaving "
    "the last stage, with as much score as you dared to take."
)


def ending(board: BatchGame, row: int, stats: Mapping[str, float], cut: bool) -> str:
    """How a break-in ended: how far it came, and what stood around the player at the end."""
    facts = to_dict(cast(FunctionalBatchGame, board).row_state(row))
    score, turns = f"score {int(stats['score'])}", f"{facts['turn']} turns in its last stage"
    if stats["won"]:
        return f"Won: all {STAGES} stages, {score}"
    if cut:
        return f"Cut off by the step limit in stage {int(stats['stage'])} of {STAGES}; {score}"
    player = facts["player"]
    near = [
        enemy["type"]
        for enemy in facts["enemies"]
        if abs(enemy["row"] - player["row"]) + abs(enemy["col"] - player["col"]) <= 1
    ]
    whom = f" beside a {near[0]}" if len(near) == 1 else f" among {len(near)} enemies" if near else ""
    return f"Lost in stage {int(stats['stage'])} of {STAGES}{whom}, no HP left; {score}, {turns}"


def _all_alike(observation: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
    return np.zeros(len(observation), np.int64)


# Plans are the heuristic player's search, begun with what the policy finds likely. With `--plan-with itself` they are
# one move of real rules and the value of what it leads to; that value is wrong where the policy never goes, so a move
# it finds unlikely must be worth it: without a prior such plans are far worse than none.
PLANS = Plans(
    ("move",), _all_alike, ({"candidates": 8, "depth": 0, "certain": 1.0, "margin": 0.0, "prior": 0.15},),
    searcher="heuristic",
)  # fmt: skip


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


INFO_METRICS = {
    "stage": InfoMetric(_reader("stage"), "stage"),
    "score": InfoMetric(_reader("score"), "score"),
    "hp": InfoMetric(_reader("hp")),
    "credits": InfoMetric(_reader("credits")),
    "energy": InfoMetric(_reader("energy")),
    "won": InfoMetric(lambda game, row: False, "won"),
}


# --- states by keys: what `to_dict` writes and `make_state` takes ---


def _write_state(game: BatchGame, row: int) -> dict[str, Any]:
    return to_dict(cast(FunctionalBatchGame, game).row_state(row))


def _read_state(values: Mapping[str, Any], options: Any) -> Sight:
    from jimbot.games.hackmatrix.step import HackMatrix

    return Sight(*look_at(HackMatrix(options), _state(values, options)))


def _tell_state(values: Mapping[str, Any], options: Any) -> str:
    return describe(_state(values, options))


def _state(values: Mapping[str, Any], options: Any) -> State:
    given = {"profile": options.profile, **values}
    # The UNDO history is not written out, but whether there is one decides whether UNDO is legal.
    history = given.pop("history_size", 0)
    if not isinstance(history, int) or not 0 <= history <= options.settings.history_length:
        raise UsageError(f"history_size is {history!r}; expected 0 to {options.settings.history_length}.")
    try:
        return make_state(**given)._replace(history_size=np.int32(history))
    except TypeError as problem:  # an unknown key
        raise UsageError(f"{problem}; expected the keys that to_dict writes.") from problem


STATES = PlainStates(_write_state, _read_state, tell=_tell_state)
