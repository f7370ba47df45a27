"""A graph as one document: what `graph export` writes, `graph import` reads, releases ship and engines store.

Everything read is checked here, whatever wrote it: types, finite numbers, known labels, edges between nodes that exist
and may be joined. Documents of older schema versions are brought up to date first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any
from xml.etree import ElementTree as ET

from pydantic import Field, TypeAdapter, ValidationError

from jimbot.errors import KnowledgeError, UnreadableError
from jimbot.knowledge import records
from jimbot.reading.plain import file_bytes, gunzipped, json_value

SECTIONS = {records.SYNERGY: "synergies", records.COUNTER: "counters", records.FAVOUR: "favours", records.WIN: "wins"}
"""Where the edges of each relation stand; USES belongs to its strategy."""
LARGEST = 2**27  # bytes of a document as text
LARGEST_SECTION = 1_000_000
GZIP = b"\x1f\x8b"


def document_of(graph: records.Graph) -> dict[str, Any]:
    """A graph, ready for JSON."""
    document: dict[str, Any] = {"version": records.VERSION, "game": graph.game}
    document["nodes"] = [_plain_node(node) for node in graph.nodes if node.label != "Strategy"]
    for relation, section in SECTIONS.items():
        document[section] = [_plain_edge(edge) for edge in graph.edges if edge.type == relation]
    strategies = [records.Strategy.of(node, graph.edges) for node in graph.nodes if node.label == "Strategy"]
    document["strategies"] = [_plain_strategy(strategy) for strategy in strategies]
    return document


def graph_of(document: Any) -> records.Graph:
    """The graph of a document of any known version; a KnowledgeError says what is wrong with it."""
    document = migrated(document)
    if unknown := document.keys() - {"version", "game", "nodes", "strategies", *SECTIONS.values()}:
        raise KnowledgeError(f"The graph's document has '{min(unknown)}', which no graph has.")
    nodes = list(_checked(records.Node, "nodes", document))
    for node in nodes:
        _check_node(node)
    edges = [edge for relation, name in SECTIONS.items() for edge in _checked(records.Edge, name, document, relation)]
    for strategy in _checked(records.Strategy, "strategies", document):
        nodes.append(strategy.node())
        edges.extend(strategy.edges())
    (game,) = _checked(records.Key, "game", {"game": [document.get("game")]})
    graph = records.Graph(game, tuple(nodes), tuple(edges))
    _check_edges(graph)
    return graph


def _checked(kind: Any, section: str, document: Mapping[str, Any], relation: str = "") -> list[Any]:
    """The records of a section; those of edges do not say their relation themselves."""
    found = document.get(section, [])
    try:
        if relation:
            found = [{**edge, "type": relation} for edge in TypeAdapter(list[dict[str, Any]]).validate_python(found)]
        return TypeAdapter(Annotated[list[kind], Field(max_length=LARGEST_SECTION)]).validate_python(found)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in (section, *first["loc"]))
        raise KnowledgeError(f"The graph's document is wrong at '{place}': {first['msg']}.") from None


def migrated(document: Any) -> dict[str, Any]:
    """A document of any known version as one of this version."""
    version = document.get("version") if isinstance(document, Mapping) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise KnowledgeError("This is no graph: it has no 'version'. jimbot graph export writes one.")
    check_version(version)
    while version < records.VERSION:
        document = {**records.MIGRATIONS[version](dict(document)), "version": version + 1}
        version += 1
    return dict(document)


def check_version(version: int) -> None:
    """Refuses a graph of a version that nothing here can read."""
    oldest = min(records.MIGRATIONS, default=records.VERSION)
    if not oldest <= version <= records.VERSION:
        how = "Update JimBot" if version > records.VERSION else "Build it anew: jimbot graph build --overwrite"
        raise KnowledgeError(
            f"The graph has schema version {version}; this JimBot reads up to {records.VERSION}. {how}."
        )


def read_document(path: Path) -> records.Graph:
    """The graph in a JSON file, gzipped or not."""
    try:
        data = file_bytes(path, LARGEST)
        data = gunzipped(data, LARGEST) if data.startswith(GZIP) else data
        return graph_of(json_value(data))
    except UnreadableError as problem:
        raise KnowledgeError(f"{path} cannot be read as a graph: {problem}.") from problem
    except KnowledgeError as problem:
        raise KnowledgeError(f"{path}: {problem}") from problem


def _plain_node(node: records.Node) -> dict[str, Any]:
    about = {"label": node.label, "key": node.key, "name": node.name, "words": node.words}
    return about | {"features": list(node.features), "values": dict(node.values), "details": dict(node.details)}


def _plain_edge(edge: records.Edge) -> dict[str, Any]:
    return {name: value for name, value in vars(edge).items() if name != "type"} | {"others": list(edge.others)}


def _plain_strategy(strategy: records.Strategy) -> dict[str, Any]:
    return {**vars(strategy), "uses": dict(strategy.uses), "details": dict(strategy.details)}


def _check_node(node: records.Node) -> None:
    if node.label not in records.NODES or node.label == "Strategy":
        raise KnowledgeError(f"Node '{node.key}' has the label '{node.label}', which no node of a document may have.")
    columns = records.NODES[node.label]
    if node.values.keys() != columns.keys():
        raise KnowledgeError(
            f"Node '{node.key}' ({node.label}) has the values {sorted(node.values)}; expected {sorted(columns)}."
        )


def _check_edges(graph: records.Graph) -> None:
    labels = graph.labels
    if len(labels) != len(graph.nodes):
        raise KnowledgeError("Two nodes of the graph have the same key.")
    for edge in graph.edges:
        ends = labels.get(edge.a), labels.get(edge.b)
        if None in (*ends, *(labels.get(other) for other in edge.others)):
            raise KnowledgeError(f"An edge leads from '{edge.a}' to '{edge.b}', but not all of these are nodes.")
        if ends not in records.EDGES[edge.type]:
            raise KnowledgeError(f"{edge.type} cannot lead from '{edge.a}' ({ends[0]}) to '{edge.b}' ({ends[1]}).")
        if not edge.low <= edge.strength <= edge.high:
            raise KnowledgeError(f"The {edge.type} of '{edge.a}' and '{edge.b}' lies outside its own interval.")


# --- flat rows that engines store: names as columns have them, mappings as JSON texts ---


Row = Mapping[str, Any]


def node_row(node: records.Node) -> dict[str, Any]:
    """A node by the columns of its label, in their order."""
    row = {"key": node.key, "name": node.name, "words": node.words, "features": json.dumps(list(node.features))}
    return row | {"details": json.dumps(node.details)} | {name: node.values[name] for name in records.NODES[node.label]}


def edge_row(edge: records.Edge) -> dict[str, Any]:
    """An edge by the columns of edges, in their order."""
    row = {name: getattr(edge, "order" if name == "placing" else name) for name in records.EDGE_COLUMNS}
    return {**row, "others": ",".join(edge.others), "details": json.dumps(edge.details)}


def all_nodes(label: str) -> str:
    return f"MATCH (n:{label}) RETURN {', '.join(f'n.{name} AS {name}' for name in records.columns_of(label))}"


def all_edges(relation: str, start: str, end: str) -> str:
    columns = ", ".join(f"s.{name} AS {name}" for name in records.EDGE_COLUMNS)
    return f"MATCH (a:{start})-[s:{relation}]->(b:{end}) RETURN a.key AS a, b.key AS b, {columns}"


def document_of_rows(about: Row, nodes: Iterable[tuple[str, Row]], edges: Iterable[tuple[str, Row]]) -> dict[str, Any]:
    """Everything an engine holds as a document: (label, row) of nodes and (relation, row with `a` and `b`) of edges."""
    document: dict[str, Any] = {"version": about["version"], "game": about["game"], "nodes": [], "strategies": []}
    document |= {section: [] for section in SECTIONS.values()}
    uses: dict[str, dict[str, float]] = {}
    for relation, row in edges:
        if relation == records.USE:
            uses.setdefault(row["a"], {})[row["b"]] = row["strength"]
        else:
            document[SECTIONS[relation]].append(_edge_of_row(row))
    for label, row in nodes:
        about_it = {name: row[name] for name in ("key", "name", "words")} | {"details": _parsed(row, "details")}
        own = {name: row[name] for name in records.NODES[label]}
        if label == "Strategy":
            strategy = {name: own[name] for name in records.STRATEGY_VALUES}
            document["strategies"].append({**about_it, **strategy, "uses": uses.get(row["key"], {})})
        else:
            features = _parsed(row, "features")
            document["nodes"].append({**about_it, "label": label, "features": features, "values": own})
    return document


def _edge_of_row(row: Row) -> dict[str, Any]:
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


# --- GraphML, for programs that draw and analyse graphs ---


NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
TYPES: dict[type, str] = {str: "string", int: "long", float: "double", bool: "boolean"}


def graphml_of(graph: records.Graph) -> bytes:
    """The whole graph; labels and relations are the attribute `label`."""
    root = ET.Element("graphml", xmlns=NAMESPACE)
    node_columns = {"label": str, **records.NODE_COLUMNS}
    for columns in records.NODES.values():
        node_columns |= columns
    for domain, columns in (("node", node_columns), ("edge", {"label": str, **records.EDGE_COLUMNS})):
        for name, kind in columns.items():
            ET.SubElement(
                root, "key", id=f"{domain}_{name}", **{"for": domain, "attr.name": name, "attr.type": TYPES[kind]}
            )
    drawn = ET.SubElement(root, "graph", id=graph.game, edgedefault="directed")
    for node in graph.nodes:
        _data(ET.SubElement(drawn, "node", id=node.key), "node", {"label": node.label, **node_row(node)})
    for edge in graph.edges:
        line = ET.SubElement(drawn, "edge", source=edge.a, target=edge.b)
        _data(line, "edge", {"label": edge.type, **edge_row(edge)})
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True)


def _data(parent: ET.Element, domain: str, values: dict[str, object]) -> None:
    for name, value in values.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        ET.SubElement(parent, "data", key=f"{domain}_{name}").text = "".join(
            letter if letter >= " " or letter in "\n\t\r" else "�" for letter in text
        )
