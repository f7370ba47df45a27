"""What the knowledge graph says, for a page: the strongest claims with their evidence, and what surrounds one thing."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

from jimbot.errors import JimbotError
from jimbot.knowledge.addresses import graph_address, open_store
from jimbot.knowledge.first_use import first_graph, graph_game, read_with_newer
from jimbot.knowledge.records import Edge, Graph

MOST_EDGES = 400
FRESH = 60.0  # seconds after which it is read again


class Known:
    """A graph that is read when it is first asked for: the user's file where it claims anything, with what ships now;
    else what ships alone."""

    def __init__(self) -> None:
        self._graph: Graph | None = None
        self._read_at = 0.0

    def graph(self) -> Graph:
        if self._graph is None or time.monotonic() - self._read_at > FRESH:
            own = _users_graph()
            self._graph = own if own is not None and own.edges else _shipped(graph_game())
            self._read_at = time.monotonic()
        return self._graph

    def document(self, text: str, channel: str, evidence: str, around: str) -> dict[str, Any]:
        """Claims by strength; `text` is in a name, `around` is a key at one of their ends."""
        graph = self.graph()
        nodes = {node.key: node for node in graph.nodes}
        wanted = text.lower()

        def fits(edge: Edge) -> bool:
            names = f"{nodes[edge.a].name} {nodes[edge.b].name}".lower()
            return (
                channel in ("", edge.channel)
                and evidence in ("", edge.evidence)
                and (not around or around in (edge.a, edge.b))
                and wanted in names
            )

        found = sorted(filter(fits, graph.edges), key=lambda edge: -abs(edge.strength))
        shown = found[:MOST_EDGES]
        ends = {key for edge in shown for key in (edge.a, edge.b)}
        return {
            "game": graph.game,
            "total": len(graph.edges),
            "found": len(found),
            "channels": sorted({edge.channel for edge in graph.edges if edge.channel}),
            "evidences": sorted({edge.evidence for edge in graph.edges}),
            "edges": [_edge(edge) for edge in shown],
            "nodes": {key: _node(nodes[key]) for key in ends},
        }


@cache
def _shipped(game: str) -> Graph:
    """Tens of thousands of claims, which take seconds to read and do not change while the page runs."""
    return first_graph(game)


def _users_graph() -> Graph | None:
    """The graph somebody built here, if there is one; looking must not make one."""
    try:
        store = open_store(graph_address(None, graph_game()), graph_game())
        try:
            return read_with_newer(store, graph_game()) if store.exists() else None
        finally:
            store.close()
    except JimbotError:
        return None


def _edge(edge: Edge) -> dict[str, Any]:
    told = ("type", "a", "b", "strength", "low", "high", "channel", "evidence", "samples", "order", "command")
    return {name: getattr(edge, name) for name in told} | {"others": list(edge.others)}


def _node(node: Any) -> dict[str, str]:
    return {"name": node.name, "label": node.label, "words": node.words}
