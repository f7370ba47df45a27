"""ONNX models of policies, measured before anything is computed.

ONNX is a programming language: a file of 300 bytes may ask for terabytes of zeros, loop for ever, read tensors from
other files or call libraries. A policy needs none of that: it is a chain of operators on tables whose sizes follow from
the number of observations. So all sizes are worked out first, with `PROBE` observations, and every one must be known
and bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jimbot.errors import UnreadableError

if TYPE_CHECKING:
    import onnx

LARGEST_MODEL = 2**29
"""Bytes; the largest network of this house is under a hundredth of it."""
PROBE = 64
"""Observations the sizes are worked out for. A size that grows with a power of their number shows."""
LARGEST_TABLE = 2**26
"""Values of one result for `PROBE` observations: a million for each, where our networks have some thousand."""
MOST_VALUES = 2**28
"""Values of all results together."""


def checked_model(model: bytes) -> None:
    """Raises unless a model is plain and everything it computes is bounded."""
    import onnx
    from google.protobuf.message import DecodeError

    if len(model) > LARGEST_MODEL:
        raise UnreadableError(f"it has {len(model):,} bytes; at most {LARGEST_MODEL:,} were expected")
    try:
        loaded = onnx.ModelProto.FromString(model)
    except DecodeError as problem:
        raise UnreadableError("it is not an ONNX model, or was cut off") from problem
    if not loaded.graph.node:
        raise UnreadableError("it is not an ONNX model: it computes nothing")
    _check_plain(loaded, len(model))
    _check_sizes(loaded)


def _check_plain(model: onnx.ModelProto, size: int) -> None:
    """Only ONNX's own operators, no programs inside operators, all numbers in the file itself."""
    if len(model.functions) or len(model.graph.sparse_initializer):
        raise UnreadableError("it holds functions or sparse tables, which no policy needs")
    for node in model.graph.node:
        if node.domain not in ("", "ai.onnx"):
            raise UnreadableError(f"its operator '{node.op_type}' is not ONNX's own ('{node.domain}')")
        for attribute in node.attribute:
            if attribute.HasField("g") or len(attribute.graphs) or attribute.HasField("sparse_tensor"):
                raise UnreadableError(f"its operator '{node.op_type}' holds a program of its own")
    for tensor in _tensors(model):
        if tensor.data_location or len(tensor.external_data):
            raise UnreadableError(f"its table '{tensor.name}' lies in another file")
        if any(length < 0 for length in tensor.dims) or math.prod(tensor.dims) > 2 * size:
            raise UnreadableError(f"its table '{tensor.name}' announces {list(tensor.dims)}, more than the file holds")


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    yield from model.graph.initializer
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors


def _check_sizes(model: onnx.ModelProto) -> None:
    import onnx

    for value in model.graph.input:  # the number of observations, which the model leaves open
        for length in value.type.tensor_type.shape.dim:
            if not length.HasField("dim_value"):
                length.dim_value = PROBE
    del model.graph.value_info[:]  # what it says of itself proves nothing
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    try:
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    except Exception as problem:  # the library has its own exception types, all of which mean: not a usable model
        raise UnreadableError(f"its sizes do not fit each other ({' '.join(str(problem).split())[:160]})") from problem
    sizes = {value.name: _lengths(value) for value in (*inferred.value_info, *inferred.output, *inferred.input)}
    total = 0
    for node in inferred.node:
        for name in filter(None, node.output):
            lengths = sizes.get(name)
            if lengths is None:
                raise UnreadableError(
                    f"the size of what its operator '{node.op_type}' computes is not known in advance"
                )
            total += math.prod(lengths)
            if math.prod(lengths) > LARGEST_TABLE or total > MOST_VALUES:
                raise UnreadableError(f"its operator '{node.op_type}' computes a table of {lengths} values")


def _lengths(value: Any) -> list[int] | None:
    """The lengths of a table, if all are known."""
    kind = value.type.tensor_type
    if not kind.HasField("shape") or not all(length.HasField("dim_value") for length in kind.shape.dim):
        return None
    return [length.dim_value for length in kind.shape.dim]
