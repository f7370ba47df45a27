"""The contract of every engine that can hold a graph.

An engine answers Cypher questions within limits, hands over everything it holds, takes more, and says plainly what is
wrong with it. Queries of JimBot itself keep to the Cypher that all engines understand; what differs stays inside them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from jimbot.knowledge.records import Edge, Graph, Node


@dataclass(frozen=True)
class Limits:
    """What one question may cost."""

    rows: int = 1000
    seconds: float = 5.0


@dataclass(frozen=True)
class Rows:
    """The answer to a question."""

    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    cut: bool = False
    """There were more than the limit allowed."""

    def dicts(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.values]


class GraphStore(Protocol):
    """One graph in one engine."""

    @property
    def address(self) -> str: ...

    @property
    def local(self) -> bool:
        """Whether all of it may be read at once without a thought."""
        ...

    def exists(self) -> bool:
        """Whether there is a graph already; an empty database is none."""
        ...

    def stamp(self) -> Hashable:
        """Another one as soon as what it holds may be another; costs next to nothing."""
        ...

    def ask(self, query: str, parameters: Mapping[str, Any] | None = None, limits: Limits = Limits()) -> Rows:
        """The answer to a question. Only reads, whatever the text says."""
        ...

    def graph(self) -> Graph:
        """Everything it holds."""
        ...

    def replace(self, graph: Graph) -> None:
        """From now on it holds exactly this: all of it, or still what it had."""
        ...

    def add(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> None:
        """From now on it holds these too; what was known of the same thing before gives way."""
        ...

    def close(self) -> None: ...
