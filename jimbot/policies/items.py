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
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from jimbot.games.spec import ActionBlock, Field, GameSpec
from jimbot.policies.layers import dense

EMBEDDED_ABOVE = 64  # ids of smaller vocabularies are one-hot: a gather's gradient costs more than the product
ITEM_WIDTH = 32
FOLD_WIDTH = 8  # what the trunk sees of each single item
PAIR_RANK = 8
GRAPH_TABLE = "table_graph"


def suits(spec: GameSpec) -> bool:
    """Whether a game declares items."""
    return any(field.items for field in spec.observation.fields)


def describe(spec: GameSpec) -> dict[str, Any]:
    """The part of the architecture that follows from the game."""
    fields, offsets = spec.observation.fields, spec.observation.offsets
    names = list(dict.fromkeys(field.items for field in fields if field.items))
    groups = {name: group_of([field for field in fields if field.items == name], offsets) for name in names}
    loose = group_of([field for field in fields if not field.items], offsets)
    tables = {table_of(field): field.ids for field in fields if field.ids > EMBEDDED_ABOVE}
    return {
        "item_width": ITEM_WIDTH,
        "fold_width": FOLD_WIDTH,
        "pair_rank": PAIR_RANK,
        "tables": tables,
        "groups": groups,
        "loose": loose,
        "blocks": [_block(block, groups) for block in spec.actions.blocks],
    }


def graph_vocabulary(spec: GameSpec) -> str:
    """The vocabulary whose ids a knowledge graph may know; nothing where there is none."""
    return next((field.vocabulary for field in spec.observation.fields if field.vocabulary), "")


def table_of(field: Field) -> str:
    """The embedding its ids are looked up in."""
    return field.vocabulary or field.name


def group_of(fields: Sequence[Field], offsets: Mapping[str, int]) -> dict[str, Any]:
    """Where the numbers, the one-hot ids and the embedded ids of some fields lie, as (offset, columns per row, …)."""
    rows = fields[0].shape[0] if fields and fields[0].items else 1
    parts: dict[str, Any] = {"rows": rows, "numbers": [], "one_hot": [], "embedded": []}
    for field in fields:
        place = [offsets[field.name], field.size // rows]
        if not field.ids:
            parts["numbers"].append(place)
        elif field.ids > EMBEDDED_ABOVE:
            parts["embedded"].append([*place, table_of(field)])
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


def in_order(groups: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Groups as they follow each other in the observation, which is how the trunk sees them: a description that was
    written and read again may have them in another order."""

    def begins(group: Mapping[str, Any]) -> int:
        return min(place[0] for part in ("numbers", "one_hot", "embedded") for place in group[part])

    return sorted(groups.items(), key=lambda pair: begins(pair[1]))


# --- shapes ---


def encoded_size(group: Mapping[str, Any]) -> int:
    """Width of one item before its encoder."""
    numbers = sum(columns for _, columns in group["numbers"])
    return numbers + sum(columns * count for _, columns, count in group["one_hot"])


def _seen_size(items: Mapping[str, Any]) -> int:
    """Width of what the trunk sees."""
    width, fold = items["item_width"], items["fold_width"]
    seen = encoded_size(items["loose"]) + width * sum(columns for _, columns, _ in items["loose"]["embedded"])
    return seen + sum(width + group["rows"] * fold for group in items["groups"].values())


def layer_shapes(network: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """(inputs, outputs) of every dense layer; a group of nothing but embedded ids needs none of its own."""
    items = network["items"]
    width, fold, rank = items["item_width"], items["fold_width"], items["pair_rank"]
    shapes: dict[str, tuple[int, int]] = {}
    for name, group in items["groups"].items():
        if encoded_size(group):
            shapes[f"item_{name}"] = (encoded_size(group), width)
        shapes[f"fold_{name}"] = (width, fold)
    widths = [_seen_size(items), *network["hidden"]]
    shapes |= {f"trunk_{i}": (widths[i], widths[i + 1]) for i in range(len(widths) - 1)}
    about = [block for block in items["blocks"] if block["group"]]
    shapes["query"] = (widths[-1], len(about) * width)
    for block in about:
        if _has_pairs(block):
            shapes[f"left_{block['name']}"] = shapes[f"right_{block['name']}"] = (width, rank)
            shapes[f"gate_{block['name']}"] = (widths[-1], rank)
    if "graph" in network:
        shapes["graph"] = (network["graph"]["shape"][1], width)
    plain = sum(1 if block["group"] else block["size"] for block in items["blocks"])
    return {**shapes, "policy": (widths[-1], plain), "value": (widths[-1], 1)}


def table_shapes(network: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """(entries, width) of every embedding."""
    items = network["items"]
    tables = {f"table_{name}": (count, items["item_width"]) for name, count in items["tables"].items()}
    return {**tables, GRAPH_TABLE: tuple(network["graph"]["shape"])} if "graph" in network else tables


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
    return _incidence(tuple(map(tuple, block["rows"])), rows)


def pair_incidence(block: Mapping[str, Any]) -> np.ndarray:
    """(rows · rows, actions): 1 where an action is about both rows of a pair."""
    return _pair_incidence(tuple(map(tuple, block["rows"])), _pair_rows(block))


@cache  # torch asks for them at every pass
def _incidence(about: tuple[tuple[int, ...], ...], rows: int) -> np.ndarray:
    table = np.zeros((rows, len(about)), np.float32)
    for action, chosen in enumerate(about):
        table[list(chosen), action] = 1
    return table


@cache
def _pair_incidence(about: tuple[tuple[int, ...], ...], rows: int) -> np.ndarray:
    table = np.zeros((rows, rows, len(about)), np.float32)
    for action, chosen in enumerate(about):
        for first, second in combinations(chosen, 2):
            table[first, second, action] = 1
    return table.reshape(rows * rows, -1)


# --- the function ---


def outputs(ops: Any, network: Mapping[str, Any], params: Mapping[str, Any], observation: Any) -> tuple[Any, Any]:
    """(N, D) observation → ((N, A) logits before masking, (N, 1) value), in the arithmetic of `ops`."""
    items, params = network["items"], _with_graph(ops, network, params)
    encoded = {
        name: ops.relu(encode(ops, params, f"item_{name}", group, items["item_width"], observation))
        for name, group in in_order(items["groups"])
    }
    hidden = ops.relu(_first_layer(ops, items, params, observation, encoded))
    for layer in range(1, len(network["hidden"])):
        hidden = ops.relu(dense(params, f"trunk_{layer}", hidden))
    return _logits(ops, items, params, hidden, encoded), dense(params, "value", hidden)


def _with_graph(ops: Any, network: Mapping[str, Any], params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters, with what the knowledge graph says of every thing added to its embedding."""
    graph = network.get("graph")
    if graph is None:
        return params
    rows = params[GRAPH_TABLE] if graph["trainable"] else ops.fixed(params[GRAPH_TABLE])
    table = f"table_{graph['vocabulary']}"
    return {**params, table: params[table] + dense(params, "graph", rows)}


def _spans(places: Sequence[Sequence[int]]) -> list[list[int]]:
    """(offset, columns) of neighbouring fields joined: one slice instead of several."""
    spans: list[list[int]] = []
    for offset, columns in places:
        if spans and spans[-1][0] + spans[-1][1] == offset:
            spans[-1][1] += columns
        else:
            spans.append([offset, columns])
    return spans


def _first_layer(
    ops: Any, items: Mapping[str, Any], params: Mapping[str, Any], observation: Any, encoded: Mapping[str, Any]
) -> Any:
    """The trunk's first layer, before its ReLU.

    What comes straight from the observation is multiplied by itself: joined with the rest, it would cost a gradient
    that nobody needs.
    """
    loose, width, weight = items["loose"], items["item_width"], params["trunk_0.weight"]
    plain = [ops.columns(observation, offset, offset + columns) for offset, columns in _spans(loose["numbers"])]
    for offset, columns, count in loose["one_hot"]:
        ids = ops.to_index(ops.columns(observation, offset, offset + columns))
        plain.append(ops.reshape(ops.one_hot(ids, count), (-1, columns * count)))
    seen = []
    for offset, columns, table in loose["embedded"]:
        ids = ops.to_index(ops.columns(observation, offset, offset + columns))
        seen.append(ops.reshape(ops.lookup(params[f"table_{table}"], ids), (-1, columns * width)))
    for name, vectors in encoded.items():
        folded = ops.relu(dense(params, f"fold_{name}", vectors))
        seen.append(ops.reshape(folded, (-1, items["groups"][name]["rows"] * items["fold_width"])))
        seen.append(ops.sum_over(vectors, 1))
    first = encoded_size(loose)
    hidden = ops.concat(seen) @ ops.rows(weight, first, _seen_size(items)) + params["trunk_0.bias"]
    return hidden + ops.concat(plain) @ ops.rows(weight, 0, first) if plain else hidden


def expanded(ops: Any, group: Mapping[str, Any], observation: Any) -> list[Any]:
    """Each (N, rows, …): the numbers and the one-hot ids of a group."""
    rows = group["rows"]
    parts = [
        ops.reshape(ops.columns(observation, offset, offset + rows * columns), (-1, rows, columns))
        for offset, columns in group["numbers"]
    ]
    for offset, columns, count in group["one_hot"]:
        ids = ops.to_index(ops.columns(observation, offset, offset + rows * columns))
        parts.append(ops.reshape(ops.one_hot(ids, count), (-1, rows, columns * count)))
    return parts


def encode(
    ops: Any, params: Mapping[str, Any], layer: str, group: Mapping[str, Any], width: int, observation: Any
) -> Any:
    """(N, rows, width): the items of a group, before a ReLU."""
    rows, plain = group["rows"], expanded(ops, group, observation)
    parts = [dense(params, layer, ops.concat(plain))] if plain else []
    for offset, columns, table in group["embedded"]:
        ids = ops.to_index(ops.columns(observation, offset, offset + rows * columns))
        vectors = ops.lookup(params[f"table_{table}"], ids)
        parts.append(vectors if columns == 1 else ops.sum_over(ops.reshape(vectors, (-1, rows, columns, width)), 2))
    return sum(parts[1:], parts[0])


def _logits(
    ops: Any, items: Mapping[str, Any], params: Mapping[str, Any], hidden: Any, encoded: Mapping[str, Any]
) -> Any:
    """Block by block: actions about nothing come from the trunk, the others from their items."""
    blocks, width = items["blocks"], items["item_width"]
    about = [block for block in blocks if block["group"]]
    plain = ops.split(dense(params, "policy", hidden), [1 if block["group"] else block["size"] for block in blocks])
    queries = iter(ops.split(dense(params, "query", hidden), [width] * len(about)))
    parts = []
    for block, logits in zip(blocks, plain, strict=True):
        if block["group"]:
            query, vectors = ops.reshape(next(queries), (-1, width, 1)), encoded[block["group"]]
            scores = ops.reshape(vectors @ query, (-1, items["groups"][block["group"]]["rows"]))
            logits = logits + _of_items(ops, items, params, block, hidden, vectors, scores)
        parts.append(logits)
    return ops.concat(parts) + params["actions.bias"]


def _of_items(
    ops: Any,
    items: Mapping[str, Any],
    params: Mapping[str, Any],
    block: Mapping[str, Any],
    hidden: Any,
    vectors: Any,
    scores: Any,
) -> Any:
    """(N, actions): what the items of each action of a block add up to; `scores` (N, rows) is what each is worth."""
    rows = items["groups"][block["group"]]["rows"]
    table = incidence(block, rows)
    if _has_pairs(block):
        pairs = _pairs(ops, items, params, block, hidden, vectors)
        return scores @ ops.constant(table) + pairs @ ops.constant(pair_incidence(block))
    about = min(rows, block["size"])
    if np.array_equal(table, np.eye(rows, block["size"])):  # one row each, in order: no product needed
        parts = [ops.columns(scores, 0, about)]
        if block["size"] > about:
            nothing = ops.constant(np.zeros((1, block["size"] - about), np.float32))
            parts.append(ops.columns(scores, 0, 1) * nothing)
        return ops.concat(parts) if len(parts) > 1 else parts[0]
    return scores @ ops.constant(table)


def _pairs(
    ops: Any, items: Mapping[str, Any], params: Mapping[str, Any], block: Mapping[str, Any], hidden: Any, vectors: Any
) -> Any:
    """(N, rows · rows): what each pair of rows is worth beyond the two."""
    rows, rank, name = _pair_rows(block), items["pair_rank"], block["name"]
    vectors = ops.columns(vectors, 0, rows)
    left, right = dense(params, f"left_{name}", vectors), dense(params, f"right_{name}", vectors)
    gate = ops.reshape(dense(params, f"gate_{name}", hidden), (-1, 1, rank))
    return ops.reshape((left * gate) @ ops.swapped(right), (-1, rows * rows))
