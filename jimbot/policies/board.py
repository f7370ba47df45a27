"""What the `board` network sees: a board turned around its viewer, and what the viewer can see and reach.

All of it is fixed arithmetic without parameters, so it is computed once per observation and not once per epoch:

- **turned**: the viewer's own cell comes first, so "one to my left" always arrives at the same inputs; wide one-hot
  ids are recoded as binary digits, since the first layer is most of a small network's work;
- **rays**: along each of the four directions, the first cell that ends the line of sight, and how far away it is;
- **paths**: for each kind of goal, the walking distance, which steps shorten it and which lead nowhere.

Lines and shortest paths are what a dense layer learns worst (a line is a chain of "nothing in between") and what
decides such games: with rays and paths HackMatrix is learned from about a third of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1))  # up, down, left, right
LONGEST_PATH = 16  # farther, or out of reach: this


def _once(table: Callable[[Mapping[str, Any]], np.ndarray]) -> Callable[[Mapping[str, Any]], np.ndarray]:
    """Computes a table once per board: learners that run step by step ask for it at every step."""
    known: dict[str, np.ndarray] = {}

    @wraps(table)
    def remembered(board: Mapping[str, Any]) -> np.ndarray:
        key = repr(board)
        if key not in known:
            known[key] = table(board)
        return known[key]

    return remembered


@_once
def recoding(board: Mapping[str, Any]) -> np.ndarray:
    """(channels, fewer) matrix that rewrites one-hot groups as the binary digits of id + 1 (0: nothing there)."""
    columns = []
    grouped = {channel: group for group in map(tuple, board["one_hot"]) for channel in range(*group)}
    for channel in range(board["channels"]):
        group = grouped.get(channel)
        if group is None:
            columns.append(np.eye(board["channels"])[channel])
        elif channel == group[0]:
            for digit in range(int(group[1] - group[0]).bit_length()):
                bits = np.zeros(board["channels"])
                for member in range(*group):
                    bits[member] = ((member - group[0] + 1) >> digit) & 1
                columns.append(bits)
    return np.stack(columns, axis=1).astype(np.float32)


@_once
def turning(board: Mapping[str, Any]) -> np.ndarray:
    """(rows·cols, rows·cols) int32: for each viewer cell, which cell goes where so that the viewer's comes first."""
    rows, cols = board["rows"], board["cols"]
    row, col = np.divmod(np.arange(rows * cols), cols)
    return ((row[:, None] + row[None, :]) % rows * cols + (col[:, None] + col[None, :]) % cols).astype(np.int32)


@_once
def sight_lines(board: Mapping[str, Any]) -> np.ndarray:
    """(cells, 4, steps) int32: the cells one, two, … steps away in each direction; `cells` is off the board."""
    rows, cols = board["rows"], board["cols"]
    row, col = np.divmod(np.arange(rows * cols)[:, None, None], cols)
    step = np.arange(1, max(rows, cols))
    there_row = row + np.array([d[0] for d in DIRECTIONS])[:, None] * step
    there_col = col + np.array([d[1] for d in DIRECTIONS])[:, None] * step
    inside = (there_row >= 0) & (there_row < rows) & (there_col >= 0) & (there_col < cols)
    return np.where(inside, there_row * cols + there_col, rows * cols).astype(np.int32)


@_once
def neighbourhood(board: Mapping[str, Any]) -> np.ndarray:
    """(cells, cells) float32: 1 for a cell itself and those one step away."""
    cells = board["rows"] * board["cols"]
    beside = np.eye(cells, cells + 1, dtype=np.float32)
    for direction in range(len(DIRECTIONS)):
        beside[np.arange(cells), sight_lines(board)[:, direction, 0]] = 1
    return beside[:, :cells]


@_once
def surroundings(board: Mapping[str, Any]) -> np.ndarray:
    """(cells, goals · 5) int32: a cell and the four beside it, in one map of `cells` + 1 (off the board) per goal."""
    cells = board["rows"] * board["cols"]
    one = np.concatenate([np.arange(cells)[:, None], sight_lines(board)[:, :, 0]], axis=1)
    return np.concatenate([goal * (cells + 1) + one for goal in range(len(board["goals"]))], axis=1).astype(np.int32)


def feature_size(network: Mapping[str, Any]) -> int:
    """Width of what `features` returns."""
    board = network["board"]
    cells, channels = board["rows"] * board["cols"], recoding(board).shape[1]
    rest = network["observation_size"] - cells * board["channels"]
    rays = len(DIRECTIONS) * (max(board["rows"], board["cols"]) - 1 + channels) if board.get("opaque") else 0
    paths = len(board.get("goals", ())) * (1 + 2 * len(DIRECTIONS))
    return rest + board["rows"] + board["cols"] + cells * channels + rays + paths


def features(ops: Any, network: Mapping[str, Any], observation: Any) -> Any:
    """(N, F) of (N, D), in the arithmetic of `ops` (see `forward`)."""
    board = network["board"]
    rows, cols = board["rows"], board["cols"]
    cells = rows * cols
    start, stop = board["offset"], board["offset"] + cells * board["channels"]
    row = _coordinate(ops, observation, board["row_at"], rows)
    col = _coordinate(ops, observation, board["col_at"], cols)
    viewer = row * cols + col
    grid = ops.reshape(ops.columns(observation, start, stop), (-1, cells, board["channels"]))
    content = grid @ ops.constant(recoding(board))
    turned = ops.pick(content, ops.lookup(turning(board), viewer))
    parts = [
        ops.columns(observation, 0, start),
        ops.columns(observation, stop, network["observation_size"]),
        ops.lookup(np.eye(rows, dtype=np.float32), row),
        ops.lookup(np.eye(cols, dtype=np.float32), col),
        ops.reshape(turned, (-1, cells * recoding(board).shape[1])),
    ]
    if board.get("opaque"):
        parts += _rays(ops, board, grid, content, viewer)
    if board.get("goals"):
        parts += _paths(ops, board, grid, viewer)
    return ops.concat(parts)


def _coordinate(ops: Any, observation: Any, at: int, count: int) -> Any:
    """(N,) integers out of a column scaled to 0..1."""
    return ops.reshape(ops.to_index(ops.columns(observation, at, at + 1) * (count - 1.0)), (-1,))


def _marked(ops: Any, grid: Any, channels: list[int]) -> Any:
    """(N, cells, 1): 1 where any of the channels is above 0."""
    return ops.above_zero(ops.maximum_over(ops.take(grid, channels), axis=2))


def _rays(ops: Any, board: Mapping[str, Any], grid: Any, content: Any, viewer: Any) -> list[Any]:
    lines = sight_lines(board)
    steps, channels = lines.shape[2], recoding(board).shape[1]
    off_board = ops.lookup(np.ones((1, 1, 1), np.float32), viewer * 0)
    stops = ops.concat([_marked(ops, grid, board["opaque"]), off_board], axis=1)
    shown = ops.concat([content, off_board @ ops.constant(np.zeros((1, channels), np.float32))], axis=1)
    chosen = ops.lookup(lines.reshape(len(lines), -1), viewer)
    stop = ops.reshape(ops.pick(stops, chosen), (-1, len(DIRECTIONS), steps))
    # The first cell that stops the view: it stops, and nothing before it does.
    earlier = stop @ ops.constant(np.triu(np.ones((steps, steps), np.float32), 1))
    first = stop * (1.0 - ops.above_zero(earlier))
    cells = ops.reshape(ops.pick(shown, chosen), (-1, steps, channels))
    seen = ops.reshape(first, (-1, 1, steps)) @ cells
    return [ops.reshape(first, (-1, len(DIRECTIONS) * steps)), ops.reshape(seen, (-1, len(DIRECTIONS) * channels))]


def _paths(ops: Any, board: Mapping[str, Any], grid: Any, viewer: Any) -> list[Any]:
    """Per goal: how far it is; then for each direction whether a step shortens the way, and whether it is in vain."""
    cells, goals = board["rows"] * board["cols"], len(board["goals"])
    walls = ops.reshape(_marked(ops, grid, board["walls"]), (-1, 1, cells))
    marks = [ops.reshape(_marked(ops, grid, [goal]), (-1, 1, cells)) for goal in board["goals"]]
    reached = ops.concat(marks, axis=1)
    spread = ops.constant(neighbourhood(board))
    distance = 1.0 - reached
    for _ in range(LONGEST_PATH - 1):
        reached = ops.above_zero(reached @ spread) * (1.0 - walls)
        distance = distance + (1.0 - reached)
    off_board = ops.lookup(np.full((1, goals, 1), float(LONGEST_PATH), np.float32), viewer * 0)
    around = ops.reshape(ops.concat([distance, off_board], axis=2), (-1, goals * (cells + 1)))
    near = ops.reshape(ops.pick(around, ops.lookup(surroundings(board), viewer)), (-1, goals, 1 + len(DIRECTIONS)))
    here, there = ops.take(near, [0]), ops.take(near, list(range(1, 1 + len(DIRECTIONS))))
    seen = [here / float(LONGEST_PATH), ops.above_zero(here - there), ops.above_zero(there - (LONGEST_PATH - 0.5))]
    return [ops.reshape(ops.concat(seen, axis=2), (-1, goals * (1 + 2 * len(DIRECTIONS))))]
