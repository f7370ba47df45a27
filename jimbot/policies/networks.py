"""Network architectures as plain data, and their portable ONNX form.

An architecture is a JSON-able dictionary made from a game's spec: it is stored in every checkpoint, so a file alone is
enough to rebuild the policy. `jax_networks` computes it for learning; `onnx_from_params` writes the same function with
the mask inside, for everything after training. Neither needs the other.

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
import onnx
from onnx import TensorProto, helper, numpy_helper

from jimbot.errors import CheckpointError, SettingsError, UnknownNameError
from jimbot.games.spec import Field, GameSpec
from jimbot.policies.masking import NEVER

KINDS = ("mlp", "board")
DEFAULT_WIDTH = {"mlp": 256, "board": 128}
ONNX_OPSET = 18


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
        raise SettingsError(f"A network of {num_layers} layers of {hidden_dim}; expected at least 1 layer of 1 or more.")
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
            raise CheckpointError(f"Parameter '{name}' {have}; the network expects {shape}. The file is of another net.")


def onnx_from_params(
    network: Mapping[str, Any],
    params: Mapping[str, np.ndarray],
    observation_size: int,
    num_actions: int,
    metadata: Mapping[str, str] | None = None,
) -> bytes:
    """The policy as a self-contained ONNX model.

    In: `observation` (N, D) float32, `legal_mask` (N, A) bool. Out: masked `log_probabilities` (N, A), `value` (N).
    """
    if (network["observation_size"], network["num_actions"]) != (observation_size, num_actions):
        raise CheckpointError(
            f"The network takes {network['observation_size']} inputs for {network['num_actions']} actions; "
            f"the game has {observation_size} and {num_actions}. The file belongs to another game or version."
        )
    check_params(network, params)
    graph = _Graph()
    hidden = _board_features(graph, network) if network["kind"] == "board" else "observation"
    for layer in range(len(network["hidden"])):
        hidden = graph.add("Relu", graph.dense(hidden, f"trunk_{layer}", params))
    logits = graph.dense(hidden, "policy", params)
    _masked_log_softmax(graph, logits)
    graph.add("Squeeze", graph.dense(hidden, "value", params), graph.constant([1], np.int64), output="value")
    return graph.serialise(observation_size, num_actions, dict(metadata or {}))


def _board_features(graph: _Graph, network: Mapping[str, Any]) -> str:
    board = network["board"]
    cells = board["rows"] * board["cols"]
    start, stop = board["offset"], board["offset"] + cells * board["channels"]
    rest = [i for i in range(network["observation_size"]) if not start <= i < stop]

    def coordinate(at: int, count: int) -> str:
        scaled = graph.add("Gather", "observation", graph.constant([at], np.int64), axis=1)
        whole = graph.add("Round", graph.add("Mul", scaled, graph.constant([count - 1], np.float32)))
        return graph.add("Cast", graph.add("Squeeze", whole, graph.constant([1], np.int64)), to=TensorProto.INT64)

    row, col = coordinate(board["row_at"], board["rows"]), coordinate(board["col_at"], board["cols"])
    viewer = graph.add("Add", graph.add("Mul", row, graph.constant([board["cols"]], np.int64)), col)
    flat = graph.add("Gather", "observation", graph.constant(list(range(start, stop)), np.int64), axis=1)
    grid = graph.add("Reshape", flat, graph.constant([-1, cells, board["channels"]], np.int64))
    grid = graph.add("MatMul", grid, graph.constant(recoding(board), np.float32))
    # Turning by one-hot matrices: exact, and free of data-dependent shapes.
    turns = graph.constant(np.eye(cells)[turning(board)], np.float32)
    turned = graph.add("MatMul", graph.add("Gather", turns, viewer, axis=0), grid)
    parts = [
        graph.add("Gather", "observation", graph.constant(rest, np.int64), axis=1),
        graph.add("Gather", graph.constant(np.eye(board["rows"]), np.float32), row, axis=0),
        graph.add("Gather", graph.constant(np.eye(board["cols"]), np.float32), col, axis=0),
        graph.add("Reshape", turned, graph.constant([-1, cells * recoding(board).shape[1]], np.int64)),
    ]
    return graph.add("Concat", *parts, axis=1)


def _masked_log_softmax(graph: _Graph, logits: str) -> None:
    """The lines of `masking.log_probabilities`, as graph nodes."""
    never, last = graph.constant([NEVER], np.float32), graph.constant([1], np.int64)
    masked = graph.add("Where", "legal_mask", logits, never)
    shifted = graph.add("Sub", masked, graph.add("ReduceMax", masked, last, keepdims=1))
    shifted = graph.add("Where", "legal_mask", shifted, never)
    total = graph.add("Log", graph.add("ReduceSum", graph.add("Exp", shifted), last, keepdims=1))
    graph.add("Where", "legal_mask", graph.add("Sub", shifted, total), never, output="log_probabilities")


class _Graph:
    """Collects nodes and constants; every node's output gets a name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, value: Any, dtype: Any) -> str:
        name = f"constant_{len(self.initializers)}"
        return self.named(name, np.asarray(value, dtype))

    def named(self, name: str, value: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(value, name))
        return name

    def add(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        output = output or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def dense(self, inputs: str, layer: str, params: Mapping[str, np.ndarray]) -> str:
        weight = self.named(f"{layer}.weight", np.asarray(params[f"{layer}.weight"], np.float32))
        bias = self.named(f"{layer}.bias", np.asarray(params[f"{layer}.bias"], np.float32))
        return self.add("Add", self.add("MatMul", inputs, weight), bias)

    def serialise(self, observation_size: int, num_actions: int, metadata: dict[str, str]) -> bytes:
        inputs = [
            helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["N", observation_size]),
            helper.make_tensor_value_info("legal_mask", TensorProto.BOOL, ["N", num_actions]),
        ]
        outputs = [
            helper.make_tensor_value_info("log_probabilities", TensorProto.FLOAT, ["N", num_actions]),
            helper.make_tensor_value_info("value", TensorProto.FLOAT, ["N"]),
        ]
        graph = helper.make_graph(self.nodes, "jimbot_policy", inputs, outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", ONNX_OPSET)], producer_name="jimbot")
        model.ir_version = 9
        helper.set_model_props(model, metadata)
        return model.SerializeToString()
