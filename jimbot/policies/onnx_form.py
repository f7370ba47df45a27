"""The architectures of `networks` as self-contained ONNX models, mask included: what everything after training runs.

Built node by node, which takes milliseconds; tracing a JAX function into ONNX takes many seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from jimbot.errors import CheckpointError
from jimbot.policies.masking import NEVER
from jimbot.policies.networks import check_params, recoding, turning

ONNX_OPSET = 18
ONNX_IR = 9


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
    legal = graph.add("Where", "legal_mask", logits, graph.constant([-np.inf], np.float32))
    shifted = graph.add("Sub", logits, graph.add("ReduceMax", legal, last, keepdims=1))
    shifted = graph.add("Where", "legal_mask", graph.add("Max", shifted, never), never)
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
        model.ir_version = ONNX_IR
        helper.set_model_props(model, metadata)
        return model.SerializeToString()
