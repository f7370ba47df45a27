"""The Gymnasium spaces of a game, made from its spec: the one place where a spec meets Gymnasium.

Observations stay one flat float32 Box, the form every library can read; `spec.observation.view` gives the named
pieces. The legal mask is no part of the observation: it travels beside it (`action_masks()`, `info["action_mask"]`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from jimbot.games.checker import random_legal
from jimbot.games.contract import GameSpec


def observation_space(spec: GameSpec, rows: int | None = None) -> Box:
    """The flat observation of one row, or of `rows` of them. Only id fields have bounds that a spec can promise."""
    low = np.full(spec.observation.size, -np.inf, np.float32)
    high = np.full(spec.observation.size, np.inf, np.float32)
    for field in spec.observation.fields:
        if field.ids:
            span = spec.observation.span(field.name)
            low[span], high[span] = 0, field.ids - 1
    if rows is not None:
        low, high = np.tile(low, (rows, 1)), np.tile(high, (rows, 1))
    return Box(low, high, dtype=np.float32)


class LegalActions(Discrete):
    """All actions of a game; `sample()` without a mask draws only from what is legal at this moment.

    So code that knows nothing of masks (checkers, random warm-up) still plays by the rules. A copy or a pickle is a
    plain `Discrete`: it has no game behind it.
    """

    def __init__(self, num_actions: int, legal_mask: Callable[[], np.ndarray]) -> None:
        super().__init__(num_actions)
        self._legal_mask = legal_mask  # → (A,) bool

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        legal = self._legal_mask()
        if mask is None and probability is None and legal.any():  # nothing is legal before the first reset
            return np.int64(random_legal(self.np_random, legal[None])[0])
        return super().sample(mask, probability)

    def __reduce__(self) -> tuple:
        return Discrete, (int(self.n),)


class LegalActionRows(MultiDiscrete):
    """One action for each of many games; `sample()` as in `LegalActions`."""

    def __init__(self, rows: int, num_actions: int, legal_mask: Callable[[], np.ndarray]) -> None:
        super().__init__(np.full(rows, num_actions))
        self._legal_mask = legal_mask  # → (N, A) bool

    def sample(self, mask: Any = None, probability: Any = None) -> np.ndarray:
        legal = self._legal_mask()
        if mask is None and probability is None and legal.any():
            return random_legal(self.np_random, legal)
        return super().sample(mask, probability)

    def __reduce__(self) -> tuple:
        return MultiDiscrete, (self.nvec,)
