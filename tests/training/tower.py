"""A Gymnasium environment of somebody else's, with one thing wrong if asked for: climb a tower, an ante per step."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

CLIMB, JUMP = 0, 1


class MasklessTower(gymnasium.Env):
    """`CLIMB` (always legal) goes up one floor; `JUMP` (legal on even floors) ends the game. The top wins."""

    def __init__(self, floors: int = 8, fault: str = "") -> None:
        self.floors, self.fault = floors, fault
        self.observation_space = Box(0, floors + 1, (2,), np.float32)
        self.action_space = Discrete(2) if fault != "actions" else Box(0, 1, (1,), np.float32)
        self.floor = 1

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.floor = 1
        if self.fault == "reset":
            return self._look()
        return self._look(), self._info()

    def step(self, action: int) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        if self.fault == "step":
            raise ValueError("the stairs are gone")
        self.floor += action == CLIMB
        won = self.floor > self.floors
        reward = {"reward": np.nan, "reward type": np.ones(2)}.get(self.fault, 2.0)
        ended: Any = won or action == JUMP
        return self._look(), reward, int(ended) if self.fault == "terminated" else ended, False, self._info(won)

    def _info(self, won: bool = False) -> dict[str, Any]:
        return {}

    def _look(self) -> Any:
        luck = np.random.random() if self.fault == "determinism" else self.np_random.random()
        look = np.array([self.floor, luck], np.float32)
        return {
            "type": look.tolist(),
            "dtype": look.astype(np.float64),
            "shape": look[:1],
            "finite": look * np.array([np.inf, 1], np.float32),
            "bounds": look - 9,
        }.get(self.fault, look)


class Tower(MasklessTower):
    """The tower with its mask and the figures a curriculum needs."""

    def action_masks(self) -> np.ndarray:
        if self.fault == "mask empty":
            return np.zeros(2, bool)
        return np.array([True, self.floor % 2 == 0 and self.fault != "mask conflict"])

    def _info(self, won: bool = False) -> dict[str, Any]:
        mask = np.array([True, self.floor % 2 == 0])
        mask = {
            "mask empty": np.zeros(2, bool),
            "mask shape": np.ones(3, bool),
            "mask dtype": mask.astype(np.float64),
        }.get(self.fault, mask)
        return {"action_mask": mask, "ante": self.floor, "won": won}
