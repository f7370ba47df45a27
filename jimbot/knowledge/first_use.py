"""Where graphs are, and the first one: from the measurements that ship with JimBot, else the game's parts alone.

A newer JimBot ships newer measurements and strategies. A graph that was made here takes them over when it is next
opened: what shipped before gives way, what the user measured otherwise, played, discovered or was advised stays. Which
release a file holds stands beside it (`.shipped`: the digest of what shipped), so that this happens once.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from jimbot.errors import KnowledgeError, NotWritableError, UsageError
from jimbot.games.contract import game_entry, games_with
from jimbot.games.hooks.learners import Knowledge
from jimbot.knowledge import records
from jimbot.knowledge.bolt_store import BoltStore
from jimbot.knowledge.documents import LARGEST, read_document
from jimbot.knowledge.ladybug_store import LadybugStore
from jimbot.knowledge.queries import Names
from jimbot.knowledge.records import MEASURED, USE, Edge, Graph, Node
from jimbot.knowledge.store import GraphStore
from jimbot.reading.plain import file_bytes, gunzipped, json_value
from jimbot.runs.checkpoint import PRETRAINED
from jimbot.runs.files import read_text, write_atomically

VARIABLE = "JIMBOT_GRAPH"
BOLT = ("bolt://", "bolt+s://", "bolt+ssc://", "neo4j://", "neo4j+s://", "neo4j+ssc://")
SUFFIX = ".lbug"
SHIPPED = "knowledge.json.gz"
SHIPS = "shipped"
"""In the details of strategies and claims that came with JimBot."""
SHIPPED_EFFORT = "--effort 1 --seed 0"
"""How the commands of shipped measurements end."""


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
        Node(records.KINDS[part.kind], part.key, part.name, part.words, tuple(part.features))
        for part in knowledge_of(game).parts()
    ]


def part_names(game: str) -> Names:
    """The names of a game's parts, whether or not there is a graph."""
    return Names((node.label, node.key, node.name) for node in nodes_of(game))


def first_graph(game: str) -> Graph:
    """What is known before anything was measured here."""
    shipped = shipped_graph(game)
    return _marked(read_document(shipped)) if shipped else Graph(game, tuple(nodes_of(game)))


def make_first_graph(store: GraphStore, game: str) -> None:
    """Fills a store that holds nothing; if another program does it at the same time, its graph is as good."""
    try:
        store.replace(first_graph(game))
        _note_release(store, game)
    except KnowledgeError:
        if not store.exists():
            raise


def take_newer(store: GraphStore, game: str) -> bool:
    """Puts what ships now into a graph that was made from an older release; whether there was anything to do.

    A graph on a server belongs to several; it is brought up to date by `jimbot graph import`. Where the file cannot be
    written now the old one will do, and the next program tries again.
    """
    if not isinstance(store, LadybugStore) or not _is_older(store, game):
        return False
    try:
        store.change(lambda known: with_newer(known, first_graph(game)))
        _note_release(store, game)
    except (KnowledgeError, NotWritableError):
        return False
    return True


def read_with_newer(store: GraphStore, game: str) -> Graph:
    """What a store holds, with what ships now where it was made from an older release; nothing is written."""
    known = store.graph()
    older = isinstance(store, LadybugStore) and _is_older(store, game)
    return with_newer(known, first_graph(game)) if older else known


def _is_older(store: LadybugStore, game: str) -> bool:
    """Whether a graph was made here from another release than this one."""
    now, held = _release(game), _release_of(store)
    made_here = bool(held) or store.address == own_file(game)  # a file of another maker is left alone
    return made_here and bool(now) and now != held


def with_newer(known: Graph, shipped: Graph) -> Graph:
    """A user's graph with what ships now in the place of what shipped before."""
    nodes = [node for node in known.nodes if not node.details.get(SHIPS)]
    kept = {node.key for node in nodes} | {node.key for node in shipped.nodes}
    edges = [edge for edge in known.edges if not _shipped_before(edge) and {edge.a, edge.b, *edge.others} <= kept]
    own = {node.key for node in nodes if node.label == "Strategy"}
    theirs = [edge for edge in shipped.edges if edge.type != USE or edge.a not in own]
    mine = {edge.identity for edge in edges}
    return Graph(known.game, tuple(nodes), tuple(edges)).with_more(
        [node for node in shipped.nodes if node.key not in own],
        [edge for edge in theirs if edge.identity not in mine],
    )


def _shipped_before(edge: Edge) -> bool:
    """Whether a claim came with JimBot: marked, or measured as what ships is measured."""
    return bool(edge.details.get(SHIPS)) or _measured_alike(edge)


def _measured_alike(edge: Edge) -> bool:
    """Whether a claim says by its command that it was measured as what ships is."""
    return edge.evidence == MEASURED and edge.type != USE and edge.command.endswith(SHIPPED_EFFORT)


def _marked(graph: Graph) -> Graph:
    """What shipped, so that it can be told from what the user found; measurements say it by their command."""
    nodes = (replace(node, details={**node.details, SHIPS: True}) if node.label == "Strategy" else node
             for node in graph.nodes)  # fmt: skip
    edges = (
        edge if _measured_alike(edge) else replace(edge, details={**edge.details, SHIPS: True}) for edge in graph.edges
    )
    return Graph(graph.game, tuple(nodes), tuple(edges))


def _release(game: str) -> str:
    """What ships now, in a few letters; nothing where nothing does."""
    path = shipped_graph(game)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path else ""


def _release_of(store: GraphStore) -> str:
    return read_text(_release_path(store)) or ""


def _note_release(store: GraphStore, game: str) -> None:
    if isinstance(store, LadybugStore):
        write_atomically(_release_path(store), _release(game).encode())


def _release_path(store: GraphStore) -> Path:
    return Path(f"{store.address}.shipped")
