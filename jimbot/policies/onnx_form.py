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
from jimbot.policies import forward
from jimbot.policies.masking import NEVER
from jimbot.policies.networks import check_params, param_shapes
from jimbot.policies.own_networks import OWN

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
    ops = OnnxOps(graph)
    weights = {
        name: ops.named(_stored_name(network, name), np.asarray(params[name], np.float32))
        for name in param_shapes(network)
    }
    observation = Tensor(graph, "observation", rank=2)
    features = forward.prepare(ops, network, weights, observation)
    if OWN in network:
        from jimbot.policies.jax_to_onnx import add_own_network  # JAX, which playing does without

        logits, value = (Tensor(graph, name, 2) for name in add_own_network(graph, network, weights, features.name))
    else:
        logits, value = forward.outputs(ops, network, weights, features)
    _masked_log_softmax(graph, logits.name)
    last = graph.constant([1], np.int64)
    if network.get("action_values"):  # a position is worth what its best legal action is
        values = _duelling(graph, logits.name, value.name) if network.get("duelling") else logits.name
        legal = graph.add("Where", "legal_mask", values, graph.constant([-np.inf], np.float32))
        graph.add("ReduceMax", legal, last, keepdims=0, output="value")
    else:
        graph.add("Squeeze", value.name, last, output="value")
    model = graph.serialise(observation_size, num_actions, dict(metadata or {}))
    if OWN in network:
        from jimbot.policies.jax_to_onnx import check_answers

        check_answers(model, network, params)
    return model


def params_of(network: Mapping[str, Any], model: bytes) -> dict[str, np.ndarray]:
    """The parameters that `onnx_from_params` wrote."""
    stored = {part.name: part for part in onnx.load_model_from_string(model).graph.initializer}
    missing = [name for name in param_shapes(network) if _stored_name(network, name) not in stored]
    if missing:
        raise CheckpointError(f"The model lacks '{missing[0]}' of the network its manifest describes; it is damaged.")
    params = {name: numpy_helper.to_array(stored[_stored_name(network, name)]) for name in param_shapes(network)}
    check_params(network, params)
    return params


def _stored_name(network: Mapping[str, Any], name: str) -> str:
    """What a parameter is called in the graph: those of a plug-in must not meet names of ours (`value`)."""
    return f"{OWN}/{name}" if OWN in network else name


def _duelling(graph: _Graph, advantages: str, value: str) -> str:
    """The lines of `torch_masking.duelling`, as graph nodes."""
    last = graph.constant([1], np.int64)
    legal = graph.add("Where", "legal_mask", advantages, graph.constant([0], np.float32))
    count = graph.add("ReduceSum", graph.add("Cast", "legal_mask", to=TensorProto.FLOAT), last, keepdims=1)
    mean = graph.add("Div", graph.add("ReduceSum", legal, last, keepdims=1), count)
    return graph.add("Add", value, graph.add("Sub", advantages, mean))


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

    def serialise(self, observation_size: int, num_actions: int, metadata: dict[str, str]) -> bytes:
        inputs = [
            helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["N", observation_size]),
            helper.make_tensor_value_info("legal_mask", TensorProto.BOOL, ["N", num_actions]),
        ]
        outputs = [
            helper.make_tensor_value_info("log_probabilities", TensorProto.FLOAT, ["N", num_actions]),
            helper.make_tensor_value_info("value", TensorProto.FLOAT, ["N"]),
        ]
        used = {name for node in self.nodes for name in node.input}  # what was computed while tracing is not
        kept = [part for part in self.initializers if part.name in used or not part.name.startswith("constant_")]
        graph = helper.make_graph(self.nodes, "jimbot_policy", inputs, outputs, kept)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", ONNX_OPSET)], producer_name="jimbot")
        model.ir_version = ONNX_IR
        helper.set_model_props(model, metadata)
        return model.SerializeToString()


class Tensor:
    """The output of a graph node; arithmetic with it adds nodes."""

    def __init__(self, graph: _Graph, name: str, rank: int, dtype: Any = np.float32) -> None:
        self.graph, self.name, self.rank, self.dtype = graph, name, rank, dtype

    def _with(self, kind: str, other: Any, swapped: bool = False) -> Tensor:
        if not isinstance(other, Tensor):
            value = np.asarray(other, self.dtype)
            other = Tensor(self.graph, self.graph.constant(value, self.dtype), value.ndim)
        names = (other.name, self.name) if swapped else (self.name, other.name)
        return Tensor(self.graph, self.graph.add(kind, *names), max(self.rank, other.rank), self.dtype)

    def __add__(self, other: Any) -> Tensor:
        return self._with("Add", other)

    def __sub__(self, other: Any) -> Tensor:
        return self._with("Sub", other)

    def __rsub__(self, other: Any) -> Tensor:
        return self._with("Sub", other, swapped=True)

    def __mul__(self, other: Any) -> Tensor:
        return self._with("Mul", other)

    def __truediv__(self, other: Any) -> Tensor:
        return self._with("Div", other)

    def __matmul__(self, other: Any) -> Tensor:
        return self._with("MatMul", other)


class OnnxOps:
    """The arithmetic of `forward.Ops` as graph nodes."""

    def __init__(self, graph: _Graph) -> None:
        self.graph = graph

    def _node(self, kind: str, *inputs: str, rank: int, dtype: Any = np.float32, **attributes: Any) -> Tensor:
        return Tensor(self.graph, self.graph.add(kind, *inputs, **attributes), rank, dtype)

    def named(self, name: str, value: np.ndarray) -> Tensor:
        return Tensor(self.graph, self.graph.named(name, value), value.ndim)

    def constant(self, value: np.ndarray) -> Tensor:
        return Tensor(self.graph, self.graph.constant(value, np.float32), np.ndim(value))

    def _integers(self, values: Any) -> str:
        return self.graph.constant(values, np.int64)

    def columns(self, array: Tensor, start: int, stop: int) -> Tensor:
        edges = (self._integers([start]), self._integers([stop]), self._integers([1]))
        return self._node("Slice", array.name, *edges, rank=array.rank, dtype=array.dtype)

    def rows(self, array: Tensor, start: int, stop: int) -> Tensor:
        edges = (self._integers([start]), self._integers([stop]), self._integers([0]))
        return self._node("Slice", array.name, *edges, rank=array.rank, dtype=array.dtype)

    def split(self, array: Tensor, sizes: list[int]) -> list[Tensor]:
        ends = np.cumsum(sizes)
        return [self.columns(array, int(end) - size, int(end)) for end, size in zip(ends, sizes, strict=True)]

    def swapped(self, array: Tensor) -> Tensor:
        return self._node("Transpose", array.name, rank=array.rank, perm=[0, 2, 1])

    def take(self, array: Tensor, indices: list[int]) -> Tensor:
        return self._node("Gather", array.name, self._integers(indices), rank=array.rank, axis=array.rank - 1)

    def reshape(self, array: Tensor, shape: tuple[int, ...]) -> Tensor:
        return self._node("Reshape", array.name, self._integers(shape), rank=len(shape), dtype=array.dtype)

    def concat(self, arrays: list[Tensor], axis: int = -1) -> Tensor:
        return self._node("Concat", *(array.name for array in arrays), rank=arrays[0].rank, axis=axis)

    def relu(self, array: Tensor) -> Tensor:
        return self._node("Relu", array.name, rank=array.rank)

    def above_zero(self, array: Tensor) -> Tensor:
        above = self.graph.add("Greater", array.name, self.graph.constant(0, np.float32))
        return self._node("Cast", above, rank=array.rank, to=TensorProto.FLOAT)

    def maximum_over(self, array: Tensor, axis: int) -> Tensor:
        return self._node("ReduceMax", array.name, self._integers([axis]), rank=array.rank, keepdims=1)

    def to_index(self, array: Tensor) -> Tensor:
        whole = self.graph.add("Round", array.name)
        return self._node("Cast", whole, rank=array.rank, dtype=np.int64, to=TensorProto.INT64)

    def one_hot(self, index: Tensor, count: int) -> Tensor:
        return self.lookup(np.eye(count, dtype=np.float32), index)

    def sum_over(self, array: Tensor, axis: int) -> Tensor:
        return self._node("ReduceSum", array.name, self._integers([axis]), rank=array.rank - 1, keepdims=0)

    def lookup(self, table: Tensor | np.ndarray, index: Tensor) -> Tensor:
        if not isinstance(table, Tensor):
            dtype = np.int64 if np.issubdtype(table.dtype, np.integer) else np.float32
            table = Tensor(self.graph, self.graph.constant(table, dtype), table.ndim, dtype)
        rank = table.rank + index.rank - 1
        return self._node("Gather", table.name, index.name, rank=rank, dtype=table.dtype, axis=0)

    def clip(self, array: Tensor, limit: Tensor) -> Tensor:
        below = self.graph.add("Min", array.name, limit.name)
        return self._node("Max", below, self.graph.add("Neg", limit.name), rank=array.rank)

    def fixed(self, array: Tensor) -> Tensor:
        return array

    def pick(self, array: Tensor, index: Tensor) -> Tensor:
        last = self._integers([2])
        positions = self._node("Unsqueeze", index.name, last, rank=3, dtype=np.int64)
        return self._node("GatherND", array.name, positions.name, rank=array.rank, dtype=array.dtype, batch_dims=1)
