"""JAX functions as ONNX nodes, for networks that are not ours: traced once for any number of rows, then written node by
node.

What is understood is `PRIMITIVES`: dense layers and einsum, convolutions, elementwise arithmetic, comparisons and
`where`, sums and maxima, softmax and normalisation made of them, reshaping, slices, concatenation, padding, and rows
looked up in a table. Anything else (loops, sorting, random numbers, scatter) is refused in one sentence that names it.
Every model is run beside the function it came from before it is handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import export
from jax.extend.core import ClosedJaxpr
from onnx import helper

from jimbot.errors import SettingsError
from jimbot.policies.jax_networks import make_network
from jimbot.policies.masking import log_probabilities
from jimbot.policies.own_networks import OWN, functions_of

ROWS = "rows"  # the symbol of the batch
CLOSE = 1e-3  # differences of float32 that the order of sums explains
INLINED = ("pjit", "jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr",
           "remat", "checkpoint", "remat2")  # fmt: skip


def add_own_network(graph: Any, network: Mapping[str, Any], weights: Mapping[str, Any], features: str) -> list[str]:
    """Adds the nodes of a plug-in's network; the names of its (N, A) logits and (N, 1) values. `weights` are its
    parameters as they are in the graph already."""
    shapes = network[OWN]["params"]
    (rows,) = export.symbolic_shape(ROWS)
    shown = jax.ShapeDtypeStruct((rows, network["observation_size"]), np.float32)
    arrays = {name: jax.ShapeDtypeStruct(tuple(shape), np.float32) for name, shape in shapes.items()}
    try:
        traced = jax.make_jaxpr(functions_of(network).apply)(arrays, shown)
    except Exception as problem:  # whatever a stranger's function may raise
        reason = " ".join(str(problem).split())[:300]
        raise SettingsError(
            f"Network '{network['kind']}' cannot be traced for any number of rows: {reason} Its apply must not depend "
            "on how many there are."
        ) from problem
    writer = _Writer(graph, network["kind"], features)
    inputs = [weights[name].name for name in sorted(shapes)]  # JAX orders the entries of a dictionary by name
    logits, values = writer.run(traced, [*inputs, features])
    return [logits, graph.add("Unsqueeze", values, graph.constant([1], np.int64))]


def check_answers(model: bytes, network: Mapping[str, Any], params: Mapping[str, np.ndarray]) -> None:
    """Raises unless the model answers as the functions do, on observations drawn at random."""
    import onnxruntime

    rng = np.random.default_rng(0)
    observation = rng.standard_normal((5, network["observation_size"])).astype(np.float32)
    legal = rng.random((5, network["num_actions"])) < 0.5
    legal[:, 0] = True
    ours = make_network(network)
    arrays = {name: jax.numpy.asarray(value) for name, value in params.items()}
    logits, values = ours.apply(arrays, ours.prepare(observation, arrays))
    wanted = np.asarray(log_probabilities(np.asarray(logits), legal)), np.asarray(values)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    answers = session.run(["log_probabilities", "value"], {"observation": observation, "legal_mask": legal})
    found = [np.asarray(answer) for answer in answers]
    if network.get("action_values"):
        return
    for name, theirs, mine in zip(("log-probabilities", "values"), found, wanted, strict=True):
        if not np.allclose(theirs, mine, rtol=CLOSE, atol=CLOSE):
            difference = float(np.abs(theirs - mine).max())
            raise SettingsError(
                f"The ONNX form of network '{network['kind']}' answers differently: its {name} differ by up to "
                f"{difference:.3g}. It was not written; please report which operations it uses."
            )


class _Writer:
    """One traced function being written."""

    def __init__(self, graph: Any, kind: str, observation: str) -> None:
        self.graph, self.kind = graph, kind
        shape = graph.add("Shape", observation)
        self.rows = graph.add("Slice", shape, self.integers([0]), self.integers([1]))
        self.names: dict[Any, str] = {}
        self.known: dict[str, np.ndarray] = {}  # what does not depend on observation or parameters

    def integers(self, values: Iterable[int]) -> str:
        return self.graph.constant(np.asarray(list(values), np.int64), np.int64)

    def run(self, closed: Any, inputs: Sequence[str]) -> list[str]:
        """Writes a jaxpr whose inputs have these names; the names of its outputs."""
        jaxpr = closed.jaxpr
        for variable, value in zip(jaxpr.constvars, closed.consts, strict=True):
            self.names[variable] = self.constant(np.asarray(value))
        self.names.update(zip(jaxpr.invars, inputs, strict=True))
        for equation in jaxpr.eqns:
            outputs = self.write(equation)
            self.names.update(zip(equation.outvars, outputs, strict=False))
        return [self.name(variable) for variable in jaxpr.outvars]

    def name(self, variable: Any) -> str:
        return self.constant(np.asarray(variable.val)) if hasattr(variable, "val") else self.names[variable]

    def constant(self, value: np.ndarray) -> str:
        value = value.astype(np.float32) if value.dtype == np.float64 else value
        name = self.graph.constant(value, value.dtype)
        self.known[name] = value
        return name

    def write(self, equation: Any) -> list[str]:
        name, inputs = equation.primitive.name, [self.name(variable) for variable in equation.invars]
        if name in INLINED:
            inner = next(equation.params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in equation.params)
            closed = inner if hasattr(inner, "consts") else ClosedJaxpr(inner, ())
            return self.run(closed, inputs)
        if all(given in self.known for given in inputs) and self.is_fixed(equation):
            answer = equation.primitive.bind(*(self.known[given] for given in inputs), **equation.params)
            answers = answer if equation.primitive.multiple_results else [answer]
            return [self.constant(np.asarray(value)) for value in answers]
        if name in ELEMENTWISE:
            return [self.graph.add(ELEMENTWISE[name], *inputs)]
        if name not in PRIMITIVES:
            raise SettingsError(
                f"Network '{self.kind}' uses '{name}' of JAX, which cannot be written as ONNX here. Known: "
                f"{', '.join(sorted([*ELEMENTWISE, *PRIMITIVES]))}."
            )
        written = PRIMITIVES[name](self, equation, inputs)
        return [written] if isinstance(written, str) else written

    @staticmethod
    def is_fixed(equation: Any) -> bool:
        """Whether what comes out has the same size for any number of rows."""
        return all(isinstance(size, int) for variable in equation.outvars for size in variable.aval.shape)

    def shape(self, shape: Sequence[Any]) -> str:
        """A shape as a tensor; what depends on the number of rows is computed from it."""
        if all(isinstance(size, int) for size in shape):
            return self.integers(shape)
        return self.graph.add("Concat", *[self.size(size) for size in shape], axis=0)

    def size(self, size: Any) -> str:
        """One entry of a shape: a number, or a + b × rows."""
        if isinstance(size, int):
            return self.integers([size])
        one, two = (int(size._evaluate({ROWS: rows})) for rows in (1, 2))
        if (one, two) == (1, 2):
            return self.rows
        times = self.graph.add("Mul", self.rows, self.integers([two - one]))
        return self.graph.add("Add", times, self.integers([2 * one - two]))


def _cast(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    to = helper.np_dtype_to_tensor_dtype(np.dtype(equation.outvars[0].aval.dtype))
    return writer.graph.add("Cast", inputs[0], to=to)


def _broadcast(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    wanted, at = equation.params["shape"], equation.params["broadcast_dimensions"]
    given = equation.invars[0].aval.shape
    between: list[Any] = [1] * len(wanted)
    for place, size in zip(at, given, strict=True):
        between[place] = size
    reshaped = writer.graph.add("Reshape", inputs[0], writer.shape(between))
    return writer.graph.add("Expand", reshaped, writer.shape(wanted))


def _reshape(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    return writer.graph.add("Reshape", inputs[0], writer.shape(equation.outvars[0].aval.shape))


def _dot(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    (left_sums, right_sums), (left_batch, right_batch) = equation.params["dimension_numbers"]
    left, right = (len(variable.aval.shape) for variable in equation.invars)
    if (left, right, tuple(left_sums), tuple(right_sums)) == (2, 2, (1,), (0,)):
        return writer.graph.add("MatMul", *inputs)
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    a = [next(letters) for _ in range(left)]
    b = [next(letters) for _ in range(right)]
    for mine, theirs in zip((*left_sums, *left_batch), (*right_sums, *right_batch), strict=True):
        b[theirs] = a[mine]
    kept = [a[at] for at in left_batch]
    kept += [a[at] for at in range(left) if at not in (*left_sums, *left_batch)]
    kept += [b[at] for at in range(right) if at not in (*right_sums, *right_batch)]
    return writer.graph.add("Einsum", *inputs, equation=f"{''.join(a)},{''.join(b)}->{''.join(kept)}")


def _reduced(kind: str) -> Callable[[_Writer, Any, list[str]], str]:
    def reduce(writer: _Writer, equation: Any, inputs: list[str]) -> str:
        return writer.graph.add(kind, inputs[0], writer.integers(equation.params["axes"]), keepdims=0)

    return reduce


def _any(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    """`reduce_or` and `reduce_and`: the largest and the smallest of 0 and 1."""
    kind = {"reduce_or": "ReduceMax", "reduce_and": "ReduceMin"}[equation.primitive.name]
    numbers = writer.graph.add("Cast", inputs[0], to=helper.np_dtype_to_tensor_dtype(np.dtype(np.int32)))
    reduced = writer.graph.add(kind, numbers, writer.integers(equation.params["axes"]), keepdims=0)
    return writer.graph.add("Cast", reduced, to=helper.np_dtype_to_tensor_dtype(np.dtype(bool)))


def _select(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    which, *cases = inputs
    if len(cases) != 2:
        raise SettingsError(f"Network '{writer.kind}' chooses among {len(cases)} cases; ONNX here knows two (where).")
    if equation.invars[0].aval.dtype != np.bool_:
        which = writer.graph.add("Cast", which, to=helper.np_dtype_to_tensor_dtype(np.dtype(bool)))
    return writer.graph.add("Where", which, cases[1], cases[0])


def _slice(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    starts, stops = equation.params["start_indices"], equation.params["limit_indices"]
    strides = equation.params["strides"] or [1] * len(starts)
    axes = writer.integers(range(len(starts)))
    return writer.graph.add(
        "Slice", inputs[0], writer.shape(starts), writer.shape(stops), axes, writer.integers(strides)
    )


def _stack(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    axis = equation.params.get("axis", equation.params.get("dimension", 0))
    at = writer.integers([axis])
    return writer.graph.add("Concat", *[writer.graph.add("Unsqueeze", name, at) for name in inputs], axis=axis)


def _split(writer: _Writer, equation: Any, inputs: list[str]) -> list[str]:
    axis, start, pieces = equation.params["axis"], 0, []
    for size in equation.params["sizes"]:
        edges = (writer.integers([start]), writer.integers([start + size]), writer.integers([axis]))
        pieces.append(writer.graph.add("Slice", inputs[0], *edges))
        start += size
    return pieces


def _pad(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    edges = equation.params["padding_config"]
    if any(inside for _, _, inside in edges):
        raise SettingsError(f"Network '{writer.kind}' pads between entries, which ONNX does not know.")
    amounts = writer.integers([low for low, _, _ in edges] + [high for _, high, _ in edges])
    return writer.graph.add("Pad", inputs[0], amounts, inputs[1])


def _convolution(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    given = equation.params
    if any(step != 1 for step in given["lhs_dilation"]) or given["batch_group_count"] != 1:
        raise SettingsError(f"Network '{writer.kind}' uses a transposed or batched convolution; ONNX here does not.")
    numbers, graph = given["dimension_numbers"], writer.graph
    image = graph.add("Transpose", inputs[0], perm=list(numbers.lhs_spec))
    kernel = graph.add("Transpose", inputs[1], perm=list(numbers.rhs_spec))
    pads = [low for low, _ in given["padding"]] + [high for _, high in given["padding"]]
    answer = graph.add(
        "Conv", image, kernel, strides=list(given["window_strides"]), pads=pads,
        dilations=list(given["rhs_dilation"]), group=given["feature_group_count"],
    )  # fmt: skip
    return graph.add("Transpose", answer, perm=np.argsort(numbers.out_spec).tolist())


def _gather(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    """One window of an array (`x[:, 3:]`, `x[:, i]`), or whole rows along one axis (`table[index]`, `jnp.take`)."""
    numbers, sizes = equation.params["dimension_numbers"], equation.params["slice_sizes"]
    whole, index = equation.invars[0].aval.shape, equation.invars[1].aval.shape
    axes, collapsed, graph = numbers.start_index_map, tuple(numbers.collapsed_slice_dims), writer.graph
    if len(index) == 1 and list(numbers.offset_dims) == list(range(len(whole) - len(collapsed))):
        window = _window(writer, inputs[0], inputs[1:], {axis: sizes[axis] for axis in axes})
        return graph.add("Squeeze", window, writer.integers(collapsed)) if collapsed else window
    axis, lead = axes[0], len(index) - 1
    kept = [place for place in range(len(whole) - 1 + lead) if not axis <= place < axis + lead]
    rest = [size for place, size in enumerate(sizes) if place != axis]
    if (
        (len(axes), collapsed, sizes[axis], list(numbers.offset_dims)) != (1, (axis,), 1, kept)
        or getattr(numbers, "operand_batching_dims", ())
        or rest != [size for place, size in enumerate(whole) if place != axis]
    ):
        raise SettingsError(
            f"Network '{writer.kind}' gathers in a way that ONNX here does not know; windows and rows along one axis "
            "(x[:, 3:], table[index], jnp.take(x, index, axis)) are."
        )
    first = graph.add("Cast", inputs[1], to=helper.np_dtype_to_tensor_dtype(np.dtype(np.int64)))
    rows = graph.add("Squeeze", first, writer.integers([lead]))
    rows = graph.add("Min", graph.add("Max", rows, graph.constant(0, np.int64)), writer.integers([whole[axis] - 1]))
    return graph.add("Gather", inputs[0], rows, axis=axis)


def _window(writer: _Writer, name: str, starts: Sequence[str], sizes: Mapping[int, Any]) -> str:
    """`sizes` by axis, from fixed places on; `starts` are the places, together or one by one."""
    if any(start not in writer.known for start in starts):
        raise SettingsError(f"Network '{writer.kind}' looks at a window that moves; ONNX here knows fixed ones.")
    first = np.concatenate([np.reshape(writer.known[start], -1) for start in starts]).tolist()
    stops = writer.shape([start + size for start, size in zip(first, sizes.values(), strict=True)])
    return writer.graph.add("Slice", name, writer.integers(first), stops, writer.integers(list(sizes)))


def _dynamic_slice(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    return _window(writer, inputs[0], inputs[1:], dict(enumerate(equation.params["slice_sizes"])))


def _power(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    exponent = writer.graph.constant(float(equation.params["y"]), np.float32)
    return writer.graph.add("Pow", inputs[0], exponent)


def _iota(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    shape, axis = equation.params["shape"], equation.params["dimension"]
    if not all(isinstance(size, int) for size in shape):
        raise SettingsError(f"Network '{writer.kind}' counts the rows of a batch; rows must not know of each other.")
    along = [-1 if place == axis else 1 for place in range(len(shape))]
    return writer.constant(
        np.broadcast_to(np.arange(shape[axis]).reshape(along), shape).astype(equation.params["dtype"])
    )


def _composed(*kinds: str) -> Callable[[_Writer, Any, list[str]], str]:
    def write(writer: _Writer, equation: Any, inputs: list[str]) -> str:
        name = inputs[0]
        for kind in kinds:
            name = writer.graph.add(kind, name)
        return name

    return write


def _clamp(writer: _Writer, equation: Any, inputs: list[str]) -> str:
    low, value, high = inputs
    return writer.graph.add("Min", writer.graph.add("Max", value, low), high)


def _with_one(kind: str, before: bool) -> Callable[[_Writer, Any, list[str]], str]:
    """log1p and expm1."""

    def write(writer: _Writer, equation: Any, inputs: list[str]) -> str:
        one = writer.graph.constant(1, np.float32)
        if before:
            return writer.graph.add(kind, writer.graph.add("Add", inputs[0], one))
        return writer.graph.add("Sub", writer.graph.add(kind, inputs[0]), one)

    return write


ELEMENTWISE = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min", "pow": "Pow", "neg": "Neg",
    "exp": "Exp", "log": "Log", "tanh": "Tanh", "logistic": "Sigmoid", "sqrt": "Sqrt", "abs": "Abs", "sign": "Sign",
    "floor": "Floor", "ceil": "Ceil", "round": "Round", "erf": "Erf", "sin": "Sin", "cos": "Cos", "gt": "Greater",
    "lt": "Less", "ge": "GreaterOrEqual", "le": "LessOrEqual", "eq": "Equal", "and": "And", "or": "Or", "not": "Not",
    "copy": "Identity", "stop_gradient": "Identity", "add_any": "Add",
}  # fmt: skip
PRIMITIVES: dict[str, Callable[[_Writer, Any, list[str]], Any]] = {
    "convert_element_type": _cast,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": _reshape,
    "expand_dims": _reshape,
    "transpose": lambda w, e, i: w.graph.add("Transpose", i[0], perm=list(e.params["permutation"])),
    "concatenate": lambda w, e, i: w.graph.add("Concat", *i, axis=e.params["dimension"]),
    "slice": _slice,
    "split": _split,
    "stack": _stack,
    "pad": _pad,
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
    "gather": _gather,
    "dynamic_slice": _dynamic_slice,
    "select_n": _select,
    "clamp": _clamp,
    "iota": _iota,
    "integer_pow": _power,
    "square": lambda w, e, i: w.graph.add("Mul", i[0], i[0]),
    "rsqrt": _composed("Sqrt", "Reciprocal"),
    "ne": lambda w, e, i: w.graph.add("Not", w.graph.add("Equal", *i)),
    "log1p": _with_one("Log", before=True),
    "expm1": _with_one("Exp", before=False),
    "reduce_sum": _reduced("ReduceSum"),
    "reduce_max": _reduced("ReduceMax"),
    "reduce_min": _reduced("ReduceMin"),
    "reduce_prod": _reduced("ReduceProd"),
    "reduce_or": _any,
    "reduce_and": _any,
}
