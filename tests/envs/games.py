"""What the adapter tests share: every registered game, and random legal play."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from jimbot.games.checker import random_legal
from jimbot.games.contract import available_games

GAMES = available_games()
"""All registered games: a new one is tested in every adapter without another line here."""

COMPILED_ROWS = 8
"""Rows of a batch whose program takes long to compile (HackMatrix): the checker's number, so one program serves all."""

__all__ = ["COMPILED_ROWS", "GAMES", "legal_player", "same"]


def legal_player(seed: int = 3) -> Any:
    """A function legal_mask → one random legal action per row."""
    return partial(random_legal, np.random.default_rng(seed))


def same(left: Any, right: Any) -> bool:
    return bool(np.array_equal(np.asarray(left), np.asarray(right)))
