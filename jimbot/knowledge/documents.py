"""A graph as one document, for JSON files: what `graph export` writes, `graph import` reads and releases ship.

Everything read is checked here, whoever wrote it: types, finite numbers, known labels, edges between nodes that exist
and may be joined. Documents of older schema versions are brought up to date first.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from jimbot.errors import KnowledgeError, UnreadableError
from jimbot.knowledge import schema
from jimbot.knowledge.records import COUNTER, EVIDENCE, FAVOUR, SYNERGY, WIN, Edge, Graph, Node, Strategy
from jimbot.reading.plain import file_bytes, gunzipped, json_value

SECTIONS = {SYNERGY: "synergies", COUNTER: "counters", FAVOUR: "favours", WIN: "wins"}
"""Where the edges of each relation stand; USES belongs to its strategy."""
LARGEST = 2**27  # bytes of a document as text
GZIP = b"\x1f\x8b"

Text = Annotated[str, Field(max_length=4000)]
Key = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=2**62)]
Evidence = Literal["measured", "played", "advised", "predicted"]
assert Evidence.__args__ == EVIDENCE


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NodeModel(_Model):
    label: str
    key: Key
    name: Text
    words: Text = ""
    features: Annotated[list[Number], Field(max_length=4096)] = []
    values: dict[str, str | bool | int | Number] = {}
    details: dict[str, Any] = {}


class EdgeModel(_Model):
    a: Key
    b: Key
    strength: Number
    low: Number
    high: Number
    channel: Annotated[str, Field(max_length=100)] = ""
    evidence: Evidence = "measured"
    samples: Count = 0
    order: Annotated[str, Field(max_length=100)] = ""
    others: Annotated[list[Key], Field(max_length=20)] = []
    command: Text = ""
    details: dict[str, Any] = {}


class StrategyModel(_Model):
    key: Key
    name: Text
    words: Text = ""
    uses: dict[Key, Number] = {}
    evidence: Evidence = "played"
    games: Count = 0
    share: Number = 0.0
    low: Number = 0.0
    high: Number = 1.0
    verdict: Text = ""
    command: Text = ""
    details: dict[str, Any] = {}


class DocumentModel(_Model):
    version: int
    game: Key
    nodes: Annotated[list[NodeModel], Field(max_length=1_000_000)] = []
    synergies: list[EdgeModel] = []
    counters: list[EdgeModel] = []
    favours: list[EdgeModel] = []
    wins: list[EdgeModel] = []
    strategies: list[StrategyModel] = []


def document_of(graph: Graph) -> dict[str, Any]:
    """A graph, ready for JSON."""
    document: dict[str, Any] = {"version": schema.VERSION, "game": graph.game}
    document["nodes"] = [_plain_node(node) for node in graph.nodes if node.label != "Strategy"]
    for relation, section in SECTIONS.items():
        document[section] = [_plain_edge(edge) for edge in graph.edges if edge.type == relation]
    strategies = [Strategy.of(node, graph.edges) for node in graph.nodes if node.label == "Strategy"]
    document["strategies"] = [_plain_strategy(strategy) for strategy in strategies]
    return document


def graph_of(document: Any) -> Graph:
    """The graph of a document of any known version; a KnowledgeError says what is wrong with it."""
    document = migrated(document)
    try:
        read = DocumentModel.model_validate(document)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise KnowledgeError(f"The graph's document is wrong at '{place}': {first['msg']}.") from None
    nodes = [_node(node) for node in read.nodes]
    for node in nodes:
        _check_node(node)
    edges = [_edge(relation, edge) for relation, name in SECTIONS.items() for edge in getattr(read, name)]
    for strategy in (Strategy(**dict(one)) for one in read.strategies):
        nodes.append(strategy.node())
        edges.extend(strategy.edges())
    graph = Graph(read.game, tuple(nodes), tuple(edges))
    _check_edges(graph)
    return graph


def migrated(document: Any) -> dict[str, Any]:
    """A document of any known version as one of this version."""
    version = document.get("version") if isinstance(document, Mapping) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise KnowledgeError("This is no graph: it has no 'version'. jimbot graph export writes one.")
    check_version(version)
    while version < schema.VERSION:
        document = {**schema.MIGRATIONS[version](dict(document)), "version": version + 1}
        version += 1
    return dict(document)


def check_version(version: int) -> None:
    """Refuses a graph of a version that nothing here can read."""
    oldest = min(schema.MIGRATIONS, default=schema.VERSION)
    if not oldest <= version <= schema.VERSION:
        how = "Update JimBot" if version > schema.VERSION else "Build it anew: jimbot graph build --overwrite"
        raise KnowledgeError(
            f"The graph has schema version {version}; this JimBot reads up to {schema.VERSION}. {how}."
        )


def read_document(path: Path) -> Graph:
    """The graph in a JSON file, gzipped or not."""
    try:
        data = file_bytes(path, LARGEST)
        data = gunzipped(data, LARGEST) if data.startswith(GZIP) else data
        return graph_of(json_value(data))
    except UnreadableError as problem:
        raise KnowledgeError(f"{path} cannot be read as a graph: {problem}.") from problem
    except KnowledgeError as problem:
        raise KnowledgeError(f"{path}: {problem}") from problem


def _plain_node(node: Node) -> dict[str, Any]:
    about = {"label": node.label, "key": node.key, "name": node.name, "words": node.words}
    return about | {"features": list(node.features), "values": dict(node.values), "details": dict(node.details)}


def _node(read: NodeModel) -> Node:
    values: dict[str, Any] = {**dict(read), "features": tuple(read.features)}
    return Node(**values)


def _edge(relation: str, read: EdgeModel) -> Edge:
    values: dict[str, Any] = {**dict(read), "others": tuple(read.others)}
    return Edge(relation, **values)


def _plain_edge(edge: Edge) -> dict[str, Any]:
    return {name: value for name, value in vars(edge).items() if name != "type"} | {"others": list(edge.others)}


def _plain_strategy(strategy: Strategy) -> dict[str, Any]:
    return {**vars(strategy), "uses": dict(strategy.uses), "details": dict(strategy.details)}


def _check_node(node: Node) -> None:
    if node.label not in schema.NODES or node.label == "Strategy":
        raise KnowledgeError(f"Node '{node.key}' has the label '{node.label}', which no node of a document may have.")
    columns = schema.NODES[node.label]
    if node.values.keys() != columns.keys():
        raise KnowledgeError(
            f"Node '{node.key}' ({node.label}) has the values {sorted(node.values)}; expected {sorted(columns)}."
        )


def _check_edges(graph: Graph) -> None:
    labels = graph.labels
    if len(labels) != len(graph.nodes):
        raise KnowledgeError("Two nodes of the graph have the same key.")
    for edge in graph.edges:
        ends = labels.get(edge.a), labels.get(edge.b)
        if None in (*ends, *(labels.get(other) for other in edge.others)):
            raise KnowledgeError(f"An edge leads from '{edge.a}' to '{edge.b}', but not all of these are nodes.")
        if ends not in schema.EDGES[edge.type]:
            raise KnowledgeError(f"{edge.type} cannot lead from '{edge.a}' ({ends[0]}) to '{edge.b}' ({ends[1]}).")
        if not edge.low <= edge.strength <= edge.high:
            raise KnowledgeError(f"The {edge.type} of '{edge.a}' and '{edge.b}' lies outside its own interval.")
