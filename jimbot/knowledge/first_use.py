"""A graph where there was none: from the measurements that ship with JimBot, else the game's parts alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jimbot.errors import KnowledgeError, UsageError
from jimbot.games.contract import game_entry, games_with
from jimbot.games.hooks import Knowledge
from jimbot.knowledge import schema
from jimbot.knowledge.documents import LARGEST, read_document
from jimbot.knowledge.names import Names
from jimbot.knowledge.records import Graph, Node
from jimbot.knowledge.store import GraphStore
from jimbot.reading.plain import file_bytes, gunzipped, json_value
from jimbot.runs.shipped import PRETRAINED

SHIPPED = "knowledge.json.gz"


def graph_game() -> str:
    """The game a graph is about where none was named: the one whose measurements ship, else the first that can be
    measured."""
    shipped = sorted(path.parent.name for path in PRETRAINED.glob(f"*/{SHIPPED}"))
    found = shipped or games_with("knowledge")
    if not found:
        raise UsageError(
            "No game here can be measured, so there is no graph; name a game that has the hook `knowledge`."
        )
    return found[0]


def shipped_graph(game: str) -> Path | None:
    """The measurements of a game that come with JimBot."""
    path = PRETRAINED / game / SHIPPED
    return path if path.exists() else None


def shipped_strategies(game: str) -> list[dict[str, Any]]:
    """The strategies of a game that come with JimBot, as plain values: a fraction of the time of the whole graph."""
    path = shipped_graph(game)
    document = json_value(gunzipped(file_bytes(path, LARGEST), LARGEST)) if path else {}
    return list(document.get("strategies", ()))


def knowledge_of(game: str) -> Knowledge:
    """How a game is measured."""
    found = game_entry(game).knowledge
    if found is None:
        raise UsageError(f"'{game}' cannot be measured; games with a graph: {', '.join(games_with('knowledge'))}.")
    return found


def nodes_of(game: str) -> list[Node]:
    """The parts of a game as nodes."""
    return [
        Node(schema.KINDS[part.kind], part.key, part.name, part.words, tuple(part.features))
        for part in knowledge_of(game).parts()
    ]


def part_names(game: str) -> Names:
    """The names of a game's parts, whether or not there is a graph."""
    return Names((node.label, node.key, node.name) for node in nodes_of(game))


def first_graph(game: str) -> Graph:
    """What is known before anything was measured here."""
    shipped = shipped_graph(game)
    return read_document(shipped) if shipped else Graph(game, tuple(nodes_of(game)))


def make_first_graph(store: GraphStore, game: str) -> None:
    """Fills a store that holds nothing; if another program does it at the same time, its graph is as good."""
    try:
        store.replace(first_graph(game))
    except KnowledgeError:
        if not store.exists():
            raise
