"""The embedded engine: one file, opened read-only by any number of programs, replaced whole by one writer at a time.

A graph of one game is a few megabytes, so a writer makes a new file beside the old one and renames it into place:
readers see the old graph or the new one, a killed writer leaves the old one, and readers never wait for a writer. A
reader notices that the file was replaced and opens it anew before its next question.

The engine notices most damage by itself, but not all of it. So the digest of the file stands beside it (`.sum`) and is
compared whenever the file is opened. While a file is replaced both digests stand there.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from jimbot.errors import KnowledgeError
from jimbot.knowledge import documents, records
from jimbot.knowledge.records import Edge, Graph, Node
from jimbot.knowledge.store import Limits, Rows, check_question
from jimbot.machine import read_holder, try_lock, write_holder
from jimbot.runs.files import file_in_progress, make_directory, read_json, write_atomically

POOL = 2**27  # bytes of pages kept in memory
ROOM = 2**33  # bytes a graph may become; the engine reserves addresses, not memory
EVERYTHING = Limits(rows=5_000_000, seconds=120.0)
TYPES: dict[type, str] = {str: "STRING", int: "INT64", float: "DOUBLE", bool: "BOOLEAN"}


class LadybugStore:
    """A graph in a file."""

    def __init__(self, path: Path, game: str) -> None:
        self._path, self._game = path, game
        self._lock = threading.RLock()
        self._seen: tuple[int, int, int] | None = None  # which file is open
        self._database: Any = None
        self._connection: Any = None

    @property
    def address(self) -> str:
        return str(self._path)

    @property
    def local(self) -> bool:
        return True

    def exists(self) -> bool:
        return self._path.exists()

    def stamp(self) -> tuple[int, int, int] | None:
        """Which file lies there now; None: none."""
        try:
            about = self._path.stat()
        except OSError:
            return None
        return about.st_ino, about.st_mtime_ns, about.st_size

    # --- reading ---

    def ask(self, query: str, parameters: Mapping[str, Any] | None = None, limits: Limits = Limits()) -> Rows:
        check_question(query)
        with self._lock:
            self._open()
            return self._run(query, dict(parameters or {}), limits)

    def graph(self) -> Graph:
        with self._lock:
            self._open(any_version=True)
            nodes = [(label, row) for label in records.NODES for row in self._rows(documents.all_nodes(label))]
            edges = [
                (relation, row) for relation, ends in records.EDGES.items() for one in ends
                for row in self._rows(documents.all_edges(relation, *one))
            ]  # fmt: skip
            return documents.graph_of(documents.document_of_rows(self._about(), nodes, edges))

    def close(self) -> None:
        with self._lock:
            for part in (self._connection, self._database):
                if part is not None:
                    part.close()
            self._connection = self._database = self._seen = None

    def _rows(self, query: str) -> list[dict[str, Any]]:
        return self._run(query, {}, EVERYTHING).dicts()

    def _run(self, query: str, parameters: dict[str, Any], limits: Limits) -> Rows:
        try:
            self._connection.set_query_timeout(max(1, int(limits.seconds * 1000)))
            result = self._connection.execute(query, parameters)
            values: list[tuple[Any, ...]] = []
            while result.has_next() and len(values) <= limits.rows:
                values.append(tuple(result.get_next()))
            columns = tuple(result.get_column_names())
            result.close()
        except (RuntimeError, ValueError, TypeError, MemoryError) as problem:
            raise KnowledgeError(_sentence(problem, limits)) from problem
        return Rows(columns, tuple(values[: limits.rows]), len(values) > limits.rows)

    def _open(self, any_version: bool = False) -> None:
        """Opens the file if it is not the one that is open already."""
        stamp = self.stamp()
        if stamp is not None and stamp == self._seen:
            return
        self.close()
        if stamp is None:
            raise KnowledgeError(f"There is no graph at {self._path}. Make one: jimbot graph build")
        self._check_digest()
        self._database, self._connection = _connected(self._path, read_only=True)
        try:
            found = self._about()
            if not any_version:
                documents.check_version(found["version"])
                if found["version"] < records.VERSION:
                    raise KnowledgeError(
                        f"{self._path} is older than this JimBot; bring it up to date: jimbot graph build"
                    )
            if found["game"] != self._game:
                raise KnowledgeError(f"{self._path} is the graph of '{found['game']}', not of '{self._game}'.")
        except KnowledgeError:
            self.close()
            raise
        self._seen = stamp

    def _about(self) -> dict[str, Any]:
        try:
            rows = self._rows(f"MATCH (a:{records.ABOUT}) RETURN a.version AS version, a.game AS game")
        except KnowledgeError as problem:
            raise KnowledgeError(f"{self._path} holds no graph of JimBot ({problem}).") from problem
        if len(rows) != 1:
            raise KnowledgeError(f"{self._path} holds no graph of JimBot.")
        return rows[0]

    def _check_digest(self) -> None:
        recorded = read_json(self._sum_path)
        digests = recorded.get("digests") if isinstance(recorded, dict) else None
        if isinstance(digests, list) and _digest(self._path) not in digests:
            raise KnowledgeError(
                f"{self._path} is damaged: it is not what was written. Delete it, then build or import it again."
            )

    # --- writing ---

    def replace(self, graph: Graph) -> None:
        with self._writing():
            self._write(graph)

    def add(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> None:
        self.change(lambda known: known.with_more(nodes, edges))

    def change(self, change: Callable[[Graph], Graph]) -> None:
        """From now on it holds what comes out of what it held; nobody else writes in between."""
        with self._writing():
            self._write(change(self.graph() if self.exists() else Graph(self._game)))

    def _write(self, graph: Graph) -> None:
        with self._lock, file_in_progress(self._path) as fresh:
            _fill(fresh, graph)
            old = [_digest(self._path)] if self._path.exists() else []
            new = _digest(fresh)
            self._note_digests([*old, new])
            self.close()
        self._note_digests([new])

    def _note_digests(self, digests: list[str]) -> None:
        write_atomically(self._sum_path, json.dumps({"digests": digests}).encode())

    @contextmanager
    def _writing(self) -> Generator[None]:
        """One writer at a time; the lock ends with the process that holds it."""
        make_directory(self._path.parent)
        descriptor = os.open(self._path.with_name(self._path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if not try_lock(descriptor):
                holder = read_holder(descriptor)
                raise KnowledgeError(
                    f"The graph {self._path} is being written by another program{holder and f' (process {holder})'}; "
                    "wait for it or stop it."
                )
            write_holder(descriptor, str(os.getpid()))
            yield
        finally:
            os.close(descriptor)

    @property
    def _sum_path(self) -> Path:
        return self._path.with_name(self._path.name + ".sum")


def _connected(path: Path, read_only: bool) -> tuple[Any, Any]:
    """(database, connection)"""
    import ladybug

    try:
        database = ladybug.Database(
            str(path), read_only=read_only, buffer_pool_size=POOL, max_db_size=ROOM, max_num_threads=1
        )
        return database, ladybug.Connection(database)
    except (RuntimeError, MemoryError, OSError) as problem:
        if "lock" in str(problem).lower():
            raise KnowledgeError(f"The graph {path} is locked by another program; close it there.") from problem
        raise KnowledgeError(f"{path} is no graph, or damaged ({_first_line(problem)}).") from problem


def _fill(path: Path, graph: Graph) -> None:
    """Writes a new database."""
    database, connection = _connected(path, read_only=False)
    rows_path = path.with_name(path.name + ".csv")

    def load(table: str, rows: Iterable[Iterable[Any]], ends: str = "") -> None:
        with open(rows_path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
        place = str(rows_path).replace("\\", "/").replace("'", "\\'")
        connection.execute(f"COPY {table} FROM '{place}' (header=false, parallel=false, escape='\"'{ends})")

    try:
        for statement in _tables():
            connection.execute(statement)
        load(records.ABOUT, [("graph", records.VERSION, graph.game)])
        for label in records.NODES:
            if rows := [list(documents.node_row(node).values()) for node in graph.nodes if node.label == label]:
                load(label, rows)
        labels = graph.labels
        for relation, ends in records.EDGES.items():
            edges = [edge for edge in graph.edges if edge.type == relation]
            for start, end in ends:
                chosen = [edge for edge in edges if (labels[edge.a], labels[edge.b]) == (start, end)]
                if chosen:
                    rows = [[edge.a, edge.b, *documents.edge_row(edge).values()] for edge in chosen]
                    load(relation, rows, f", from='{start}', to='{end}'" if len(ends) > 1 else "")
        connection.execute("CHECKPOINT")
    except RuntimeError as problem:
        raise KnowledgeError(f"The graph could not be written to {path}: {_first_line(problem)}.") from problem
    finally:
        connection.close()
        database.close()
        with suppress(OSError):
            rows_path.unlink(missing_ok=True)


def _tables() -> list[str]:
    def listed(columns: records.Columns) -> str:
        return ", ".join(f"{name} {TYPES[kind]}" for name, kind in columns.items())

    about = f"CREATE NODE TABLE {records.ABOUT}({listed(records.ABOUT_COLUMNS)}, PRIMARY KEY(key))"
    nodes = [
        f"CREATE NODE TABLE {label}({listed(records.columns_of(label))}, PRIMARY KEY(key))" for label in records.NODES
    ]
    edges = [
        f"CREATE REL TABLE {relation}({', '.join(f'FROM {a} TO {b}' for a, b in ends)}, {listed(records.EDGE_COLUMNS)})"
        for relation, ends in records.EDGES.items()
    ]
    return [about, *nodes, *edges]


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sentence(problem: Exception, limits: Limits) -> str:
    if "Interrupted" in str(problem):
        return f"The question took longer than {limits.seconds:g} s and was stopped; ask for less."
    return f"The graph did not answer: {_first_line(problem)}."


def _first_line(problem: Exception) -> str:
    return (str(problem) or type(problem).__name__).splitlines()[0].strip().rstrip(".")[:300]
