"""Network architectures as plain data.

An architecture is a JSON-able dictionary made from a game's spec: it is stored in every checkpoint, so a file alone is
enough to rebuild the policy. `jax_networks` computes it for learning; `onnx_form` writes the same function with the
mask inside, for everything after training. Neither needs the other.

Kinds
- `mlp`: the whole observation through plain dense layers.
- `board`: for games with a board seen by somebody standing on it. Before the first layer the board is turned so that
  the viewer's own cell comes first (what is "one to my left" always arrives at the same inputs) and wide one-hot ids
  are recoded as binary digits (the first layer is most of a small network's work). Both steps are fixed, lossless and
  done once per observation, not once per epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jimbot.errors import CheckpointError, SettingsError, UnknownNameError
from jimbot.games.spec import Field, GameSpec

KINDS = ("mlp", "board")
DEFAULT_WIDTH = {"mlp": 256, "board": 128}


def describe_network(spec: GameSpec, kind: str = "auto", hidden_dim: int = 0, num_layers: int = 2) -> dict[str, Any]:
    """The architecture for a game: `auto` takes `board` where the game has one, else `mlp`.

    hidden_dim 0 means the kind's own default width.
    """
    board = next((field for field in spec.observation.fields if field.centre), None)
    if kind == "auto":
        kind = "board" if board else "mlp"
    if kind not in KINDS:
        raise UnknownNameError("network", kind, (*KINDS, "auto"))
    if num_layers < 1 or hidden_dim < 0:
        raise SettingsError(f"A network of {num_layers} layers of {hidden_dim}; expected at least 1 layer.")
    network: dict[str, Any] = {
        "kind": kind,
        "observation_size": spec.observation.size,
        "num_actions": spec.actions.size,
        "hidden": [hidden_dim or DEFAULT_WIDTH[kind]] * num_layers,
    }
    if kind == "board":
        if board is None:
            raise SettingsError(f"Network 'board' needs a game with a board; '{spec.id}' has none. Use --network mlp.")
        network["board"] = _describe_board(spec, board)
    return network


def _describe_board(spec: GameSpec, board: Field) -> dict[str, Any]:
    row_field, row_index, col_field, col_index = board.centre or ("", 0, "", 0)
    rows, cols, channels = board.shape
    return {
        "offset": spec.observation.offsets[board.name],
        "rows": rows,
        "cols": cols,
        "channels": channels,
        "row_at": spec.observation.offsets[row_field] + row_index,
        "col_at": spec.observation.offsets[col_field] + col_index,
        "one_hot": [list(group) for group in board.one_hot],
    }


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


def turning(board: Mapping[str, Any]) -> np.ndarray:
    """(rows·cols, rows·cols) int32: for each viewer cell, which cell goes where so that the viewer's comes first."""
    rows, cols = board["rows"], board["cols"]
    row, col = np.divmod(np.arange(rows * cols), cols)
    return ((row[:, None] + row[None, :]) % rows * cols + (col[:, None] + col[None, :]) % cols).astype(np.int32)


def feature_size(network: Mapping[str, Any]) -> int:
    """Width of what the first dense layer sees."""
    if network["kind"] == "mlp":
        return network["observation_size"]
    board = network["board"]
    cells = board["rows"] * board["cols"]
    rest = network["observation_size"] - cells * board["channels"]
    return rest + board["rows"] + board["cols"] + cells * recoding(board).shape[1]


def layer_shapes(network: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """(inputs, outputs) of every dense layer, in order; parameters are `<layer>.weight` and `<layer>.bias`."""
    widths = [feature_size(network), *network["hidden"]]
    shapes = {f"trunk_{i}": (widths[i], widths[i + 1]) for i in range(len(widths) - 1)}
    return {**shapes, "policy": (widths[-1], network["num_actions"]), "value": (widths[-1], 1)}


def forward_flops(network: Mapping[str, Any]) -> int:
    """Floating-point operations of the dense layers for one observation."""
    return sum(2 * inputs * outputs for inputs, outputs in layer_shapes(network).values())


def train_flops(network: Mapping[str, Any]) -> int:
    """The same for one forward and backward pass; the first layer needs no gradient of its input."""
    first, *others = layer_shapes(network).values()
    return 4 * first[0] * first[1] + sum(6 * inputs * outputs for inputs, outputs in others)


def check_params(network: Mapping[str, Any], params: Mapping[str, np.ndarray]) -> None:
    """Raises one clear sentence unless `params` are exactly those of this network."""
    expected = {}
    for layer, (inputs, outputs) in layer_shapes(network).items():
        expected[f"{layer}.weight"] = (inputs, outputs)
        expected[f"{layer}.bias"] = (outputs,)
    for name, shape in expected.items():
        found = params[name].shape if name in params else None
        if found != shape:
            have = f"has shape {found}" if found else "is missing"
            raise CheckpointError(f"Parameter '{name}' {have}; the network expects {shape}. It is of another net.")
