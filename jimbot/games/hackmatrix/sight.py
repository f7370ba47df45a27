"""What the scripted player reads out of an observation: the numbers of HackMatrix as arrays over N games.

Cells are numbered row by row from the bottom left; where a cell may be off the board it is `NOWHERE`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from jimbot.games.hackmatrix import spec
from jimbot.games.hackmatrix.observe import MOST_TURNS

NOWHERE = spec.CELLS
FAR = 40  # more than any distance on the board
TRANSMISSION_KIND = len(spec.ENEMY_NAMES)  # the kind of a slot that holds a transmission
UNKNOWN_KIND = TRANSMISSION_KIND + 1  # an enemy the player has not seen yet
MOST_SLOTS = 14

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
STEPS = ((1, 0), (-1, 0), (0, -1), (0, 1))  # up, down, left, right


def _ray(row: int, col: int, step: tuple[int, int]) -> list[int]:
    """The cells in one direction, NOWHERE after the edge; always ends with NOWHERE."""
    cells = []
    for length in range(1, spec.SIDE + 1):
        r, c = row + length * step[0], col + length * step[1]
        cells.append(r * spec.SIDE + c if 0 <= r < spec.SIDE and 0 <= c < spec.SIDE else NOWHERE)
    return cells


RAYS = np.array([[_ray(r, c, step) for step in STEPS] for r, c in zip(_ROW, _COL, strict=True)])  # (36, 4, 6)
NEIGHBOURS = RAYS[:, :, 0]  # (36, 4)


def cross_sum(values: np.ndarray) -> np.ndarray:
    """(N, 36): the sum over each cell and its neighbours."""
    padded = np.concatenate([values, np.zeros((len(values), 1), values.dtype)], axis=1)
    return values + padded[:, NEIGHBOURS].sum(-1)


class Sight:
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

        self.enemies = self._feature("enemy").any(-1)  # (N, 36) bool
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
        self.same_row = row[:, None] == _ROW
        self.same_col = col[:, None] == _COL
        self.around = (np.abs(_ROW - row[:, None]) <= 1) & (np.abs(_COL - col[:, None]) <= 1)
        self.opponents = (self.enemies | self.transmissions).sum(axis=1)

    def _feature(self, name: str) -> np.ndarray:
        return self._grid[..., _FEATURES[name]]

    def owns(self, program: int) -> np.ndarray:
        """(N,) bool; the program by its action number."""
        return self.owned[:, program - spec.FIRST_PROGRAM]

    def kind(self, enemy: int) -> np.ndarray:
        """(N, 36) bool: where visible enemies of a type stand."""
        return self._feature("enemy")[..., enemy] > 0

    @cached_property
    def slots(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Opponents nearest to the player first: cell (NOWHERE for none), kind, HP, stunned, turns; each (N, E)."""
        present = self.enemies | self.transmissions
        nearness = np.where(present, MANHATTAN[self.player], FAR)
        count = int(np.clip(self.opponents.max(initial=0), 1, MOST_SLOTS))
        cell = np.argsort(nearness, axis=1, kind="stable")[:, :count]
        there = np.take_along_axis(present, cell, 1)

        def take(values: np.ndarray) -> np.ndarray:
            return np.where(there, np.take_along_axis(values, cell, 1), 0)

        kind = np.where(self.enemies, self._feature("enemy").argmax(-1), TRANSMISSION_KIND)
        hp = np.where(self.enemies, _whole(self._feature("hp")[..., 0], spec.MAX_HP), 2)
        stunned = self._feature("stunned")[..., 0] > 0
        return np.where(there, cell, NOWHERE), take(kind), take(hp), take(stunned) > 0, take(self.turns)

    @cached_property
    def distance(self) -> np.ndarray:
        """(N, 36, 36): steps between cells around blocks, FAR where there is no way; opponents are ignored."""
        free = np.logical_not(self.blocks)
        count = len(self.player)
        passable = (free.astype(np.int64) << np.arange(spec.CELLS)).sum(1)[:, None]
        # A walk may start on a block cell (after WARP), but never enters one.
        reached = np.broadcast_to(np.int64(1) << np.arange(spec.CELLS, dtype=np.int64), (count, spec.CELLS))
        distance = np.zeros((count, spec.CELLS, spec.CELLS), np.int8)
        for _ in range(FAR):
            distance += ((reached[..., None] >> np.arange(spec.CELLS)) & 1) == 0
            spread = reached | (_beside(reached) & passable)
            if (spread == reached).all():
                break
            reached = spread
        never = ((reached[..., None] >> np.arange(spec.CELLS)) & 1) == 0
        return np.where(never, FAR, distance)


_BOARD = (1 << spec.CELLS) - 1
_NOT_FIRST_COL = sum(1 << int(cell) for cell in np.nonzero(_COL > 0)[0])
_NOT_LAST_COL = sum(1 << int(cell) for cell in np.nonzero(_COL < spec.SIDE - 1)[0])


def _beside(cells: np.ndarray) -> np.ndarray:
    """The neighbours of sets of cells (bit i of a number is cell i)."""
    sides = ((cells & _NOT_FIRST_COL) >> 1) | ((cells & _NOT_LAST_COL) << 1)
    return ((cells << spec.SIDE) & _BOARD) | (cells >> spec.SIDE) | sides


def _whole(values: np.ndarray, scale: float) -> np.ndarray:
    """Scaled features back as whole numbers."""
    return np.rint(values * scale).astype(np.int64)
