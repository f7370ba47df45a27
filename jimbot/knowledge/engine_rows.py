"""Between records and the flat rows that engines store: names as columns have them, mappings as JSON texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from jimbot.errors import KnowledgeError, UnreadableError
from jimbot.knowledge import schema
from jimbot.knowledge.documents import SECTIONS
from jimbot.knowledge.records import STRATEGY_VALUES, USE, Edge, Node
from jimbot.reading.plain import json_value

Row = Mapping[str, Any]


def node_row(node: Node) -> dict[str, Any]:
    """A node by the columns of its label, in their order."""
    row = {"key": node.key, "name": node.name, "words": node.words, "features": json.dumps(list(node.features))}
    return row | {"details": json.dumps(node.details)} | {name: node.values[name] for name in schema.NODES[node.label]}


def edge_row(edge: Edge) -> dict[str, Any]:
    """An edge by the columns of edges, in their order."""
    row = {name: getattr(edge, "order" if name == "placing" else name) for name in schema.EDGE_COLUMNS}
    return {**row, "others": ",".join(edge.others), "details": json.dumps(edge.details)}


def all_nodes(label: str) -> str:
    return f"MATCH (n:{label}) RETURN {', '.join(f'n.{name} AS {name}' for name in schema.columns_of(label))}"


def all_edges(relation: str, start: str, end: str) -> str:
    columns = ", ".join(f"s.{name} AS {name}" for name in schema.EDGE_COLUMNS)
    return f"MATCH (a:{start})-[s:{relation}]->(b:{end}) RETURN a.key AS a, b.key AS b, {columns}"


def document_of_rows(about: Row, nodes: Iterable[tuple[str, Row]], edges: Iterable[tuple[str, Row]]) -> dict[str, Any]:
    """Everything an engine holds as a document: (label, row) of nodes and (relation, row with `a` and `b`) of edges."""
    document: dict[str, Any] = {"version": about["version"], "game": about["game"], "nodes": [], "strategies": []}
    document |= {section: [] for section in SECTIONS.values()}
    uses: dict[str, dict[str, float]] = {}
    for relation, row in edges:
        if relation == USE:
            uses.setdefault(row["a"], {})[row["b"]] = row["strength"]
        else:
            document[SECTIONS[relation]].append(_edge(row))
    for label, row in nodes:
        about_it = {name: row[name] for name in ("key", "name", "words")} | {"details": _parsed(row, "details")}
        own = {name: row[name] for name in schema.NODES[label]}
        if label == "Strategy":
            strategy = {name: own[name] for name in STRATEGY_VALUES}
            document["strategies"].append({**about_it, **strategy, "uses": uses.get(row["key"], {})})
        else:
            features = _parsed(row, "features")
            document["nodes"].append({**about_it, "label": label, "features": features, "values": own})
    return document


def _edge(row: Row) -> dict[str, Any]:
    plain = {"order" if name == "placing" else name: value for name, value in row.items()}
    return {**plain, "others": split(row["others"]), "details": _parsed(row, "details")}


def split(others: str) -> list[str]:
    """The keys in the column `others`."""
    return others.split(",") if others else []


def _parsed(row: Row, column: str) -> Any:
    text = row[column]
    if text == "{}":  # nearly all of them
        return {}
    try:
        return json_value(text)
    except (UnreadableError, TypeError) as problem:
        raise KnowledgeError(f"The column '{column}' of the graph is no JSON: {problem}.") from problem
