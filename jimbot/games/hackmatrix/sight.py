"""What the heuristic player reads out of an observation: the numbers of HackMatrix as arrays over N games.

Cells are numbered row by row from the bottom left.
"""

from __future__ import annotations

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.observe import MOST_TURNS

# Names and widths of the features of a cell, in order (see the grid field of SPEC).
_LAYOUT = (
    ("enemy", len(spec.ENEMY_NAMES)), ("hp", 1), ("stunned", 1), ("from_siphon", 1), ("block", 3), ("points", 1),
    ("siphoned", 1), ("program", len(spec.PROGRAMS)), ("spawn", 1), ("turns", 1), ("credits", 1), ("energy", 1),
    ("pickup", 1), ("exit", 1), ("centre", 1),
)  # fmt: skip
_STARTS = np.cumsum([0] + [width for _, width in _LAYOUT]).tolist()
_FEATURES = {name: slice(start, start + width) for (name, width), start in zip(_LAYOUT, _STARTS, strict=False)}
assert _STARTS[-1] == spec.CELL_FEATURES

_ROW, _COL = np.divmod(np.arange(spec.CELLS), spec.SIDE)
MANHATTAN = np.abs(_ROW[:, None] - _ROW) + np.abs(_COL[:, None] - _COL)  # (36, 36)


class BoardSight:
    """An observation of N games, taken apart."""

    def __init__(self, observation: np.ndarray) -> None:
        fields = spec.SPEC.observation
        player = fields.view(observation, "player")
        self._grid = fields.view(observation, "grid").reshape(len(observation), spec.CELLS, spec.CELL_FEATURES)
        row, col = (_whole(player[:, i], spec.SIDE - 1) for i in (0, 1))
        self.player = row * spec.SIDE + col  # (N,) cell
        self.hp = _whole(player[:, 2], spec.MAX_HP)
        self.credits = _whole(player[:, 3], 50)
        self.energy = _whole(player[:, 4], 50)
        self.stage = _whole(player[:, 5], spec.STAGES - 1) + 1
        self.siphons = _whole(player[:, 6], 10)
        self.attack = _whole(player[:, 7], 2) + 1
        self.owned = fields.view(observation, "programs") > 0.5  # (N, 23) bool

        self.calm = player[:, 9] > 0.5

        self.enemies = self._feature("enemy").any(-1)  # (N, 36) bool
        self.enemy_kind = self._feature("enemy").argmax(-1)
        self.enemy_hp = _whole(self._feature("hp")[..., 0], spec.MAX_HP)
        self.stunned = self._feature("stunned")[..., 0] > 0
        self.turns = _whole(self._feature("turns")[..., 0], MOST_TURNS)
        self.transmissions = self.turns > 0
        self.blocks = self._feature("block").any(-1)
        self.question = self._feature("block")[..., 2] > 0
        self.siphoned = self._feature("siphoned")[..., 0] > 0
        self.points = _whole(self._feature("points")[..., 0], 9)
        self.spawn = _whole(self._feature("spawn")[..., 0], 9)
        self.block_program = self._feature("program")  # (N, 36, 23)
        self.cell_credits = _whole(self._feature("credits")[..., 0], 3)
        self.cell_energy = _whole(self._feature("energy")[..., 0], 3)
        self.pickups = self._feature("pickup")[..., 0] > 0
        self.exit = self._feature("exit")[..., 0].argmax(axis=1)

    def _feature(self, name: str) -> np.ndarray:
        return self._grid[..., _FEATURES[name]]

    def kind(self, enemy: int) -> np.ndarray:
        """(N, 36) bool: where visible enemies of a type stand."""
        return self._feature("enemy")[..., enemy] > 0


def _whole(values: np.ndarray, scale: float) -> np.ndarray:
    """Scaled features back as whole numbers."""
    return np.rint(values * scale).astype(np.int64)
