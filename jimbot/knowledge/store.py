"""The contract of every engine that can hold a graph.

An engine answers Cypher questions within limits, hands over everything it holds, takes more, and says plainly what is
wrong with it. Queries of JimBot itself keep to the Cypher that all engines understand; what differs stays inside them.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from jimbot.errors import KnowledgeError
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


# Which Cypher a stranger may send: questions, one at a time, of words that can only read.


LONGEST = 10_000  # characters of a query
STARTS = ("MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN")
FORBIDDEN = frozenset({
    "ALTER", "ANALYZE", "ATTACH", "BEGIN", "CALL", "CHECKPOINT", "COMMENT", "COMMIT", "COPY", "CREATE", "DELETE",
    "DETACH", "DROP", "DUMP", "EXPLAIN", "EXPORT", "EXTENSION", "FOREACH", "FREE", "GRANT", "IMPORT", "INSTALL",
    "LOAD", "LOCK", "MACRO", "MERGE", "PROFILE", "REMOVE", "REVOKE", "ROLLBACK", "SET", "SHOW", "STORAGE", "TERMINATE",
    "TRUNCATE", "UNINSTALL", "UPDATE", "USE",
})  # fmt: skip
_PARTS = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`)"""
    r"""|(?P<open>['"`]|/\*)"""
    r"""|(?P<property>\.\s*[A-Za-z_]\w*|\$\w+|:\s*[A-Za-z_]\w*)"""
    r"""|(?P<library>[A-Za-z_]\w*(?:\.\w+)+\s*\()"""
    r"""|(?P<word>[A-Za-z_][\w.]*)"""
    r"""|(?P<end>;)""",
    re.S,
)


@lru_cache(maxsize=256)  # the same few questions are asked all the time
def check_question(query: str) -> str:
    """The query as it is, if it can only read; a KnowledgeError in one sentence if not.

    >>> check_question("MATCH (j:Joker) WHERE j.name = 'DROP it' RETURN j.key")
    "MATCH (j:Joker) WHERE j.name = 'DROP it' RETURN j.key"
    """
    if len(query) > LONGEST:
        raise KnowledgeError(f"The query has {len(query):,} characters; {LONGEST:,} are the most.")
    if "\0" in query or "\\u" in query.lower():  # some engines unescape before they read, so a string could end early
        raise KnowledgeError("The query holds a NUL character or a \\u escape; write the character itself.")
    words = []
    for part in _PARTS.finditer(query.rstrip().removesuffix(";")):
        if part["open"]:
            raise KnowledgeError(f"The query has a {part['open']} that is never closed.")
        if part["end"]:
            raise KnowledgeError("The query holds several statements; send one at a time.")
        if part["library"]:
            raise KnowledgeError(
                f"The query calls {part['library'].rstrip('( ')}; functions of libraries are not answered."
            )
        if part["word"]:
            words.append(part["word"].upper())
    refused = next((word for word in words if word.partition(".")[0] in FORBIDDEN), None)
    if refused is not None:
        raise KnowledgeError(f"The query uses {refused}; only questions are answered (MATCH … RETURN …).")
    if not words or words[0] not in STARTS or "RETURN" not in words:
        raise KnowledgeError(
            f"The query is '{query.strip()[:40]}'; expected a question that begins with MATCH and has a RETURN."
        )
    return query
