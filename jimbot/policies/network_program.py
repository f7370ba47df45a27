"""Networks as short programs of named steps: plain data that `forward` carries out in JAX, torch or as ONNX.

A program is a list of JSON-able steps over one input, the (N, F) features of a batch; every step names its result:

    slice    entries `start`… of the features, as (N, *shape)
    take     some entries of the last axis
    embed    (N, …) ids → (N, …, dim), a row per id, learned unless `fixed`
    dense    (N, …, inputs) → (N, …, outputs), with ReLU if `relu`; over slots it is one encoder shared by all of them
    concat   side by side along the last axis
    flatten  (N, …) → (N, all of them)
    pool     (N, slots, width) → (N, 2·width), mean and maximum over the slots
    table    (N, slots) ids and (N, slots, width) → (N, rows, width): each slot's numbers in the row of its id

The results called `logits` and `value` are the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from jimbot.games.spec import Field, GameSpec
from jimbot.policies.layers import dense

Step = dict[str, Any]

JOKER_GRAPH_TABLE = "table_joker_graph"  # where BalatroNet has its rows of the knowledge graph

EMBEDDING_WIDTHS = ((8, 4), (32, 8), (1 << 30, 16))  # (ids up to, numbers per id)
SLOT_LAYERS = (64, 32)  # the encoder shared by all slots of a group
LARGEST_FLAT_GROUP = 16  # slots; groups with more (a deck) are pooled: which of its cards comes first means nothing
SHARED_IDS = 100  # numberings of at least so many ids are one and the same wherever they appear


class Program:
    """Writes steps and keeps track of shapes (without the batch axis)."""

    def __init__(self, features: int) -> None:
        self.steps: list[Step] = []
        self.shapes: dict[str, tuple[int, ...]] = {"features": (features,)}

    def _add(self, op: str, result: tuple[int, ...], out: str = "", **rest: Any) -> str:
        out = out or f"{op}_{len(self.steps)}"
        self.steps.append({"op": op, "out": out, **rest})
        self.shapes[out] = result
        return out

    def slice(self, start: int, shape: Sequence[int], of: str = "features", out: str = "") -> str:
        return self._add("slice", tuple(shape), out, of=of, start=start, shape=list(shape))

    def take(self, of: str, columns: Sequence[int]) -> str:
        return self._add("take", (*self.shapes[of][:-1], len(columns)), of=of, columns=list(columns))

    def embed(self, of: str, table: str, ids: int, dim: int, fixed: bool = False) -> str:
        more: dict[str, Any] = {"fixed": True} if fixed else {}
        return self._add("embed", (*self.shapes[of], dim), of=of, table=table, shape=[ids, dim], **more)

    def dense(self, of: str, layer: str, outputs: int, relu: bool = True, out: str = "") -> str:
        *slots, inputs = self.shapes[of]
        shape = [inputs, outputs]
        return self._add("dense", (*slots, outputs), out, of=of, layer=layer, shape=shape, relu=relu, times=prod(slots))

    def layers(self, of: str, prefix: str, widths: Sequence[int]) -> str:
        for number, width in enumerate(widths):
            of = self.dense(of, f"{prefix}_{number}", width)
        return of

    def concat(self, of: Sequence[str]) -> str:
        if len(of) == 1:
            return of[0]
        width = sum(self.shapes[name][-1] for name in of)
        return self._add("concat", (*self.shapes[of[0]][:-1], width), of=list(of))

    def flatten(self, of: str) -> str:
        shape = self.shapes[of]
        return of if len(shape) == 1 else self._add("flatten", (prod(shape),), of=of, width=prod(shape))

    def pool(self, of: str) -> str:
        slots, width = self.shapes[of]
        return self._add("pool", (2 * width,), of=of, shape=[slots, width])

    def table(self, of: str, values: str, ids: int, first: int, rows: int) -> str:
        """Rows for the ids `first` … `first + rows - 1` of `ids`; slots with another id are left out."""
        slots, width = self.shapes[values]
        return self._add("table", (rows, width), of=of, values=values, ids=ids, first=first, shape=[slots, rows, width])


def towers(
    spec: GameSpec, policy_layers: Sequence[int], value_layers: Sequence[int], features_dim: int = 0
) -> list[Step]:
    """Separate layers for policy and value over one shared view of the observation.

    With `features_dim` ids are embedded and each group of slots goes through its own shared encoder, all joined into
    so many numbers. Without, the towers see the plain observation.
    """
    program = Program(spec.observation.size)
    seen = program.dense(_encoded(program, spec), "features", features_dim) if features_dim else "features"
    policy = program.layers(seen, "actor", policy_layers)
    program.dense(policy, "policy", spec.actions.size, relu=False, out="logits")
    program.dense(program.layers(seen, "critic", value_layers), "value", 1, relu=False, out="value")
    return program.steps


def slot_groups(spec: GameSpec) -> dict[tuple[str, int], list[Field]]:
    """Fields that describe the same slots (cards in hand, jokers, …): equally many, and the same first word.

    The plural counts as the same word: `joker_id`, `joker_edition` and `jokers` speak of the same ten jokers.
    """
    groups: dict[tuple[str, int], list[Field]] = {}
    for field in spec.observation.fields:
        if len(field.shape) == 2 or (field.ids and len(field.shape) == 1 and field.shape[0] > 1):
            word = field.name.split("_")[0].removesuffix("s")
            groups.setdefault((word, field.shape[0]), []).append(field)
    return groups


def embedding_width(ids: int) -> int:
    return next(width for most, width in EMBEDDING_WIDTHS if ids <= most)


def _encoded(program: Program, spec: GameSpec) -> str:
    """Every field of the observation, ids embedded and slots encoded, as one vector."""
    parts = []
    groups = slot_groups(spec)
    for (name, slots), fields in groups.items():
        inside = program.concat([_field(program, spec, field) for field in fields])
        encoded = program.layers(inside, f"slot_{name}_{slots}", SLOT_LAYERS)
        parts.append(program.flatten(encoded) if slots <= LARGEST_FLAT_GROUP else program.pool(encoded))
    grouped = {field.name for fields in groups.values() for field in fields}
    parts += [
        program.flatten(_field(program, spec, field)) for field in spec.observation.fields if field.name not in grouped
    ]
    return program.concat(parts)


def _field(program: Program, spec: GameSpec, field: Field) -> str:
    piece = program.slice(spec.observation.offsets[field.name], field.shape)
    if not field.ids:
        return piece
    # Fields that share a large numbering share its rows: a joker is the same in the shop and in play.
    word = "item" if field.ids >= SHARED_IDS else field.name.split("_")[-1]
    return program.embed(piece, f"table_{word}_{field.ids}", field.ids, embedding_width(field.ids))


def layer_shapes(steps: Sequence[Step]) -> dict[str, tuple[int, int]]:
    """(inputs, outputs) of every dense layer, in order."""
    return {step["layer"]: tuple(step["shape"]) for step in steps if step["op"] == "dense"}


def table_shapes(steps: Sequence[Step]) -> dict[str, tuple[int, int]]:
    """(entries, width) of every embedding."""
    return {step["table"]: tuple(step["shape"]) for step in steps if step["op"] == "embed"}


def products(steps: Sequence[Step]) -> list[int]:
    """Multiplications of every dense layer for one observation."""
    return [prod(step["shape"]) * step["times"] for step in steps if step["op"] == "dense"]


# --- the function, in the arithmetic of `forward.Ops` ---


def outputs(ops: Any, steps: Sequence[Step], params: Mapping[str, Any], features: Any) -> tuple[Any, Any]:
    """(N, F) features → ((N, A) logits before masking, (N, 1) value)"""
    results = {"features": features}
    for step in steps:
        results[step["out"]] = _STEPS[step["op"]](ops, step, params, results)
    return results["logits"], results["value"]


def _slice(ops: Any, step: Step, params: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
    shape = step["shape"]
    piece = ops.columns(results[step["of"]], step["start"], step["start"] + prod(shape))
    return piece if len(shape) == 1 else ops.reshape(piece, (-1, *shape))


def _take(ops: Any, step: Step, params: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
    return ops.take(results[step["of"]], step["columns"])


def _embed(ops: Any, step: Step, params: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
    table = params[step["table"]]
    return ops.lookup(ops.fixed(table) if step.get("fixed") else table, ops.to_index(results[step["of"]]))


def _dense(ops: Any, step: Step, params: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
    answer = dense(params, step["layer"], results[step["of"]])
    return ops.relu(answer) if step["relu"] else answer


def _concat(ops: Any, step: Step, params: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
    return ops.concat([results[name] for name in step["of"]])


def _flatten(ops: Any, step: Step, params: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
    return ops.reshape(results[step["of"]], (-1, step["width"]))


def _pool(ops: Any, step: Step, params: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
    slots, width = step["shape"]
    highest = ops.reshape(ops.maximum_over(results[step["of"]], 1), (-1, width))
    return ops.concat([ops.sum_over(results[step["of"]], 1) * (1.0 / slots), highest])


def _table(ops: Any, step: Step, params: Mapping[str, Any], results: Mapping[str, Any]) -> Any:
    slots, rows, width = step["shape"]
    places = np.eye(step["ids"], dtype=np.float32)[:, step["first"] : step["first"] + rows]
    chosen = ops.reshape(ops.lookup(places, ops.to_index(results[step["of"]])), (-1, slots, rows, 1))
    return ops.sum_over(chosen * ops.reshape(results[step["values"]], (-1, slots, 1, width)), 1)


_STEPS = {
    "slice": _slice,
    "take": _take,
    "embed": _embed,
    "dense": _dense,
    "concat": _concat,
    "flatten": _flatten,
    "pool": _pool,
    "table": _table,
}
