"""Where graphs are: a file or a server, by its address."""

from __future__ import annotations

import os
from pathlib import Path

from jimbot.errors import KnowledgeError
from jimbot.knowledge.bolt_store import BoltStore
from jimbot.knowledge.ladybug_store import LadybugStore
from jimbot.knowledge.store import GraphStore

VARIABLE = "JIMBOT_GRAPH"
BOLT = ("bolt://", "bolt+s://", "bolt+ssc://", "neo4j://", "neo4j+s://", "neo4j+ssc://")
SUFFIX = ".lbug"


def graph_address(address: str | None, game: str) -> str:
    """Where the graph of a game is: what was named, else `$JIMBOT_GRAPH`, else a file in the user's data directory."""
    return address or os.environ.get(VARIABLE) or own_file(game)


def own_file(game: str) -> str:
    """Where the graph of a game is if nobody says otherwise."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return str(Path(base) / "jimbot" / "knowledge" / f"{game}{SUFFIX}")


def open_store(address: str, game: str) -> GraphStore:
    """The store at an address; nothing is opened before it is used."""
    if address.startswith(BOLT):
        return BoltStore(address, game)
    if "://" in address:
        raise KnowledgeError(f"'{address}' is no address of a graph; expected a file or bolt://HOST:PORT.")
    return LadybugStore(Path(address), game)
