"""The `items` network: for games whose moves are about things on the table (cards, jokers, offers).

Every item becomes a short vector by the encoder of its group: one-hot ids and numbers through one dense layer, plus
embeddings for wide vocabularies. The trunk sees all of them (folded, in order, and summed) beside the rest of the
observation. The logit of an action is built from the items it is about: "play cards 1, 4 and 5" adds up what the
situation makes of each of the three cards, and of each pair of them (a low-rank product), so an action knows its cards
instead of being one of hundreds of unrelated outputs. Published agents with one flat softmax over subsets of cards
learned nothing in millions of steps.

A game tells what is about what: `Field.items` and `Field.vocabulary`, `ActionBlock.field` and `.rows`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from jimbot.games.spec import ActionBlock, Field, GameSpec

EMBEDDED_ABOVE = 64  # ids of smaller vocabularies are one-hot: a gather's gradient costs more than the product
ITEM_WIDTH = 32
FOLD_WIDTH = 8  # what the trunk sees of each single item
PAIR_RANK = 8


def suits(spec: GameSpec) -> bool:
    """Whether a game declares items."""
    return any(field.items for field in spec.observation.fields)


def describe(spec: GameSpec) -> dict[str, Any]:
    """The part of the architecture that follows from the game."""
    fields, offsets = spec.observation.fields, spec.observation.offsets
    names = list(dict.fromkeys(field.items for field in fields if field.items))
    groups = {name: _group([field for field in fields if field.items == name], offsets) for name in names}
    loose = _group([field for field in fields if not field.items], offsets)
    tables = {_table(field): field.ids for field in fields if field.ids > EMBEDDED_ABOVE}
    return {
        "item_width": ITEM_WIDTH,
        "fold_width": FOLD_WIDTH,
        "pair_rank": PAIR_RANK,
        "tables": tables,
        "groups": groups,
        "loose": loose,
        "blocks": [_block(block, groups) for block in spec.actions.blocks],
    }


def _table(field: Field) -> str:
    return field.vocabulary or field.name


def _group(fields: Sequence[Field], offsets: Mapping[str, int]) -> dict[str, Any]:
    """Where the numbers, the one-hot ids and the embedded ids of some fields lie, as (offset, columns per row, …)."""
    rows = fields[0].shape[0] if fields and fields[0].items else 1
    parts: dict[str, Any] = {"rows": rows, "numbers": [], "one_hot": [], "embedded": []}
    for field in fields:
        place = [offsets[field.name], field.size // rows]
        if not field.ids:
            parts["numbers"].append(place)
        elif field.ids > EMBEDDED_ABOVE:
            parts["embedded"].append([*place, _table(field)])
        else:
            parts["one_hot"].append([*place, field.ids])
    return parts


def _block(block: ActionBlock, groups: Mapping[str, Any]) -> dict[str, Any]:
    about = block.field if block.field in groups and any(block.rows) else ""
    return {
        "name": block.name,
        "size": len(block.labels),
        "group": about,
        "rows": [list(rows) for rows in block.rows] if about else [],
    }


# --- shapes ---


def encoded_size(group: Mapping[str, Any]) -> int:
    """Width of one item before its encoder."""
    numbers = sum(columns for _, columns in group["numbers"])
    return numbers + sum(columns * count for _, columns, count in group["one_hot"])


def layer_shapes(network: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """(inputs, outputs) of every dense layer."""
    items = network["items"]
    width, fold, rank = items["item_width"], items["fold_width"], items["pair_rank"]
    shapes: dict[str, tuple[int, int]] = {}
    seen = encoded_size(items["loose"]) + width * sum(columns for _, columns, _ in items["loose"]["embedded"])
    for name, group in items["groups"].items():
        shapes[f"item_{name}"] = (encoded_size(group), width)
        shapes[f"fold_{name}"] = (width, fold)
        seen += width + group["rows"] * fold
    widths = [seen, *network["hidden"]]
    shapes |= {f"trunk_{i}": (widths[i], widths[i + 1]) for i in range(len(widths) - 1)}
    about = [block for block in items["blocks"] if block["group"]]
    shapes["query"] = (widths[-1], len(about) * width)
    for block in about:
        if _has_pairs(block):
            shapes[f"left_{block['name']}"] = shapes[f"right_{block['name']}"] = (width, rank)
            shapes[f"gate_{block['name']}"] = (widths[-1], rank)
    plain = sum(1 if block["group"] else block["size"] for block in items["blocks"])
    return {**shapes, "policy": (widths[-1], plain), "value": (widths[-1], 1)}


def table_shapes(network: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """(entries, width) of every embedding."""
    items = network["items"]
    return {f"table_{name}": (count, items["item_width"]) for name, count in items["tables"].items()}


def forward_flops(network: Mapping[str, Any]) -> int:
    """Floating-point operations of the matrix products for one observation; item layers run once per item."""
    items = network["items"]
    total = 0
    for layer, (inputs, outputs) in layer_shapes(network).items():
        kind, _, name = layer.partition("_")
        times = items["groups"][name]["rows"] if kind in ("item", "fold") else 1
        if kind in ("left", "right"):
            times = _pair_rows(next(block for block in items["blocks"] if block["name"] == name))
        total += 2 * times * inputs * outputs
    for block in items["blocks"]:
        if block["group"]:
            total += 2 * items["groups"][block["group"]]["rows"] * block["size"]
            total += 2 * _pair_rows(block) ** 2 * block["size"] if _has_pairs(block) else 0
    return total


def input_flops(network: Mapping[str, Any]) -> int:
    """Of these, the products with what comes straight from the observation."""
    items = network["items"]
    per_item = sum(group["rows"] * encoded_size(group) for group in items["groups"].values())
    return 2 * (per_item * items["item_width"] + encoded_size(items["loose"]) * network["hidden"][0])


def _has_pairs(block: Mapping[str, Any]) -> bool:
    return any(len(rows) > 1 for rows in block["rows"])


def _pair_rows(block: Mapping[str, Any]) -> int:
    """The rows whose pairs a block's actions are about: 0 to the last one."""
    return 1 + max(row for rows in block["rows"] for row in rows)


def incidence(block: Mapping[str, Any], rows: int) -> np.ndarray:
    """(rows, actions): 1 where an action is about a row."""
    table = np.zeros((rows, block["size"]), np.float32)
    for action, chosen in enumerate(block["rows"]):
        table[chosen, action] = 1
    return table


def pair_incidence(block: Mapping[str, Any]) -> np.ndarray:
    """(rows · rows, actions): 1 where an action is about both rows of a pair."""
    rows = _pair_rows(block)
    table = np.zeros((rows, rows, block["size"]), np.float32)
    for action, chosen in enumerate(block["rows"]):
        for first, second in combinations(chosen, 2):
            table[first, second, action] = 1
    return table.reshape(rows * rows, -1)


# --- the function ---


def outputs(ops: Any, network: Mapping[str, Any], params: Mapping[str, Any], observation: Any) -> tuple[Any, Any]:
    """(N, D) observation → ((N, A) logits before masking, (N, 1) value), in the arithmetic of `ops`."""
    items = network["items"]
    encoded = {name: _encode(ops, network, params, name, observation) for name in items["groups"]}
    seen = [ops.reshape(_expanded(ops, items["loose"], observation), (-1, encoded_size(items["loose"])))]
    for offset, columns, table in items["loose"]["embedded"]:
        vectors = ops.lookup(params[f"table_{table}"], ops.to_index(ops.columns(observation, offset, offset + columns)))
        seen.append(ops.reshape(vectors, (-1, columns * items["item_width"])))
    for name, vectors in encoded.items():
        folded = ops.relu(_dense(params, f"fold_{name}", vectors))
        seen.append(ops.reshape(folded, (-1, items["groups"][name]["rows"] * items["fold_width"])))
        seen.append(ops.sum_over(vectors, 1))
    hidden = ops.concat(seen)
    for layer in range(len(network["hidden"])):
        hidden = ops.relu(_dense(params, f"trunk_{layer}", hidden))
    return _logits(ops, items, params, hidden, encoded), _dense(params, "value", hidden)


def _dense(params: Mapping[str, Any], layer: str, inputs: Any) -> Any:
    return inputs @ params[f"{layer}.weight"] + params[f"{layer}.bias"]


def _expanded(ops: Any, group: Mapping[str, Any], observation: Any) -> Any:
    """(N, rows, encoded size): the numbers and one-hot ids of a group."""
    rows = group["rows"]
    parts = []
    for offset, columns in group["numbers"]:
        parts.append(ops.reshape(ops.columns(observation, offset, offset + rows * columns), (-1, rows, columns)))
    for offset, columns, count in group["one_hot"]:
        ids = ops.to_index(ops.columns(observation, offset, offset + rows * columns))
        parts.append(ops.reshape(ops.one_hot(ids, count), (-1, rows, columns * count)))
    return ops.concat(parts)


def _encode(ops: Any, network: Mapping[str, Any], params: Mapping[str, Any], name: str, observation: Any) -> Any:
    """(N, rows, width): the items of a group."""
    group, width = network["items"]["groups"][name], network["items"]["item_width"]
    vectors = _dense(params, f"item_{name}", _expanded(ops, group, observation))
    for offset, columns, table in group["embedded"]:
        ids = ops.to_index(ops.columns(observation, offset, offset + group["rows"] * columns))
        vectors = vectors + ops.reshape(ops.lookup(params[f"table_{table}"], ids), (-1, group["rows"], width))
    return ops.relu(vectors)


def _logits(
    ops: Any, items: Mapping[str, Any], params: Mapping[str, Any], hidden: Any, encoded: Mapping[str, Any]
) -> Any:
    """Block by block: actions about nothing come from the trunk, the others from their items."""
    plain = _dense(params, "policy", hidden)
    queries = _dense(params, "query", hidden)
    width = items["item_width"]
    parts, at, asked = [], 0, 0
    for block in items["blocks"]:
        size = 1 if block["group"] else block["size"]
        logits = ops.columns(plain, at, at + size)
        at += size
        if block["group"]:
            query = ops.reshape(ops.columns(queries, asked * width, (asked + 1) * width), (-1, 1, width))
            asked += 1
            scores = ops.sum_over(encoded[block["group"]] * query, 2)
            rows = items["groups"][block["group"]]["rows"]
            logits = logits + scores @ ops.constant(incidence(block, rows))
            if _has_pairs(block):
                logits = logits + _pair_logits(ops, items, params, block, hidden, encoded[block["group"]])
        parts.append(logits)
    return ops.concat(parts) + params["actions.bias"]


def _pair_logits(
    ops: Any, items: Mapping[str, Any], params: Mapping[str, Any], block: Mapping[str, Any], hidden: Any, vectors: Any
) -> Any:
    rows, rank, name = _pair_rows(block), items["pair_rank"], block["name"]
    vectors = ops.columns(vectors, 0, rows)
    left = ops.reshape(_dense(params, f"left_{name}", vectors), (-1, rows, 1, rank))
    right = ops.reshape(_dense(params, f"right_{name}", vectors), (-1, 1, rows, rank))
    gate = ops.reshape(_dense(params, f"gate_{name}", hidden), (-1, 1, 1, rank))
    pairs = ops.sum_over(left * gate * right, 3)
    return ops.reshape(pairs, (-1, rows * rows)) @ ops.constant(pair_incidence(block))
