"""A graph on a server that speaks Bolt: Memgraph, Neo4j, and others that understand openCypher.

Every read and write is a managed transaction of the driver, which repeats it where the server says that it may. One
write is one transaction, so others see the old graph or the new one. No index is made: its statement is another one in
every dialect, and a graph of a few hundred nodes needs none.

`bolt://HOST:PORT/DATABASE` names a database; who we are is in `JIMBOT_GRAPH_USER` and `JIMBOT_GRAPH_PASSWORD`. Labels
of other programs on the server are left alone.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, LiteralString, TypeVar, cast
from urllib.parse import urlsplit

from jimbot.errors import KnowledgeError, MissingExtraError
from jimbot.knowledge import documents, records
from jimbot.knowledge.records import Edge, Graph, Node
from jimbot.knowledge.store import Limits, Rows, check_question

USER, PASSWORD = "JIMBOT_GRAPH_USER", "JIMBOT_GRAPH_PASSWORD"
CONNECT_SECONDS = 3.0
WRITE_SECONDS = 120.0
FRESH_SECONDS = 30.0
AT_ONCE = 2000  # rows of one statement
ABOUT_QUERY = f"MATCH (a:{records.ABOUT}) WHERE a.key = 'graph' RETURN a.version AS version, a.game AS game"

T = TypeVar("T")


class BoltStore:
    """A graph on a server."""

    def __init__(self, address: str, game: str) -> None:
        parts = urlsplit(address)
        if parts.username or parts.password:
            raise KnowledgeError(
                f"Give no user or password in the address of a graph; put them into {USER} and {PASSWORD}."
            )
        self._address, self._game = address, game
        self._server = f"{parts.scheme}://{parts.netloc}"
        self._database = parts.path.strip("/") or None
        self._driver: Any = None
        self._checked = False
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        return self._address

    @property
    def local(self) -> bool:
        return False

    def exists(self) -> bool:
        return self._read(lambda run: bool(list(run(ABOUT_QUERY))), Limits())

    def stamp(self) -> int:
        """Nobody tells us what others write there, so from time to time."""
        return int(time.monotonic() / FRESH_SECONDS)

    def ask(self, query: str, parameters: Mapping[str, Any] | None = None, limits: Limits = Limits()) -> Rows:
        check_question(query)
        if not self._checked:
            about = self._read(self._about, limits)
            if about["version"] < records.VERSION:
                raise KnowledgeError(f"{self._address} is older than this JimBot; update it: jimbot graph build")
            self._checked = True

        def work(run: Run) -> Rows:
            result = run(query, dict(parameters or {}))
            values = [tuple(_plain(value) for value in record) for record in result.fetch(limits.rows + 1)]
            return Rows(tuple(result.keys()), tuple(values[: limits.rows]), len(values) > limits.rows)

        return self._read(work, limits)

    def graph(self) -> Graph:
        def work(run: Run) -> dict[str, Any]:
            nodes = [(label, row.data()) for label in records.NODES for row in run(documents.all_nodes(label))]
            edges = [
                (relation, row.data()) for relation, ends in records.EDGES.items() for one in ends
                for row in run(documents.all_edges(relation, *one))
            ]  # fmt: skip
            return documents.document_of_rows(self._about(run), nodes, edges)

        return documents.graph_of(self._read(work, Limits(seconds=WRITE_SECONDS)))

    def replace(self, graph: Graph) -> None:
        def work(run: Run) -> None:
            for label in (*records.NODES, records.ABOUT):
                run(f"MATCH (n:{label}) DETACH DELETE n").consume()
            self._put(run, graph.nodes, graph.edges, graph.labels)

        self._write(work)

    def add(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> None:
        if not self.exists():
            self.replace(Graph(self._game).with_more(nodes, edges))
            return
        nodes, edges, known = tuple(nodes), tuple(edges), self.graph()
        labels = known.with_more(nodes, edges).labels
        if self._read(self._about, Limits())["version"] < records.VERSION:
            self.replace(known.with_more(nodes, edges))
        else:
            self._write(lambda run: self._put(run, nodes, edges, labels))

    def close(self) -> None:
        with self._lock:
            if self._driver is not None:
                self._driver.close()
            self._driver = None

    def _about(self, run: Run) -> dict[str, Any]:
        found = [record.data() for record in run(ABOUT_QUERY)]
        if len(found) != 1:
            raise KnowledgeError(f"There is no graph at {self._address}. Make one: jimbot graph build")
        documents.check_version(found[0]["version"])
        if found[0]["game"] != self._game:
            raise KnowledgeError(f"{self._address} is the graph of '{found[0]['game']}', not of '{self._game}'.")
        return found[0]

    def _put(self, run: Run, nodes: Iterable[Node], edges: Iterable[Edge], labels: Mapping[str, str]) -> None:
        about = {"key": "graph", "version": records.VERSION, "game": self._game}
        run(f"MERGE (a:{records.ABOUT} {{key: $key}}) SET a.version = $version, a.game = $game", about).consume()
        nodes, edges = tuple(nodes), tuple(edges)
        for label in records.NODES:
            rows = [documents.node_row(node) for node in nodes if node.label == label]
            for some in _batches(rows):
                run(_merge_nodes(label), {"rows": some}).consume()
        for relation, ends in records.EDGES.items():
            for start, end in ends:
                rows = [
                    {"a": edge.a, "b": edge.b, **documents.edge_row(edge)} for edge in edges
                    if edge.type == relation and (labels[edge.a], labels[edge.b]) == (start, end)
                ]  # fmt: skip
                for some in _batches(rows):
                    run(_merge_edges(relation, start, end), {"rows": some}).consume()

    def _read(self, work: Callable[[Run], T], limits: Limits) -> T:
        return self._managed("execute_read", work, limits.seconds)

    def _write(self, work: Callable[[Run], None]) -> None:
        self._managed("execute_write", work, WRITE_SECONDS)

    def _managed(self, kind: str, work: Callable[[Run], T], seconds: float) -> T:
        import neo4j
        from neo4j.exceptions import DriverError, Neo4jError

        @neo4j.unit_of_work(timeout=seconds)
        def unit(transaction: Any) -> T:
            return work(transaction.run)

        try:
            with self._connected().session(database=self._database) as session:
                return getattr(session, kind)(unit)
        except (DriverError, Neo4jError, OSError, ValueError) as problem:
            raise KnowledgeError(f"The graph at {self._address} did not answer: {_first_line(problem)}.") from problem

    def _connected(self) -> Any:
        try:
            from neo4j import GraphDatabase
        except ModuleNotFoundError as problem:
            raise MissingExtraError("The driver of graph servers", "graph") from problem
        with self._lock:
            if self._driver is None:
                user = os.environ.get(USER)
                self._driver = GraphDatabase.driver(
                    self._server, auth=(user, os.environ.get(PASSWORD, "")) if user else None,
                    connection_timeout=CONNECT_SECONDS, connection_acquisition_timeout=CONNECT_SECONDS,
                    max_transaction_retry_time=CONNECT_SECONDS, telemetry_disabled=True,
                )  # fmt: skip
            return self._driver


Run = Callable[..., Any]
"""`run` of a transaction: (query, parameters) → result"""


def _merge_nodes(label: str) -> LiteralString:
    columns = ", ".join(f"n.{name} = r.{name}" for name in records.columns_of(label) if name != "key")
    return cast(LiteralString, f"UNWIND $rows AS r MERGE (n:{label} {{key: r.key}}) SET {columns}")


def _merge_edges(relation: str, start: str, end: str) -> LiteralString:
    identity = ", ".join(f"{name}: r.{name}" for name in records.EDGE_IDENTITY)
    rest = ", ".join(f"s.{name} = r.{name}" for name in records.EDGE_COLUMNS if name not in records.EDGE_IDENTITY)
    return cast(
        LiteralString,
        f"UNWIND $rows AS r MATCH (a:{start} {{key: r.a}}), (b:{end} {{key: r.b}}) "
        f"MERGE (a)-[s:{relation} {{{identity}}}]->(b) SET {rest}",
    )


def _batches(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    return (rows[first : first + AT_ONCE] for first in range(0, len(rows), AT_ONCE))


def _plain(value: Any) -> Any:
    """Nodes, relations and paths of the driver as mappings and lists."""
    from neo4j.graph import Entity, Path

    if isinstance(value, Entity):
        return dict(value.items())
    if isinstance(value, Path):
        return [dict(part.items()) for part in (*value.nodes, *value.relationships)]
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _first_line(problem: Exception) -> str:
    return (str(problem) or type(problem).__name__).splitlines()[0].strip().rstrip(".")[:300]
