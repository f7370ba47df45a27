"""What a graph holds, as plain values: things (`Node`), what is known between two of them (`Edge`), and all of it
together (`Graph`). Every engine stores these and nothing else, and everything that measures, plays or discovers hands
them over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from jimbot.errors import UsageError

# What a document (documents.py) may hold in each field; records made by code are not checked.
Text = Annotated[str, Field(max_length=4000)]
Short = Annotated[str, Field(max_length=100)]
Key = Annotated[str, Field(min_length=1, max_length=200)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=2**62)]
Values = str | bool | int | Number
Evidence = Literal["measured", "played", "advised", "predicted"]
CHECKED = ConfigDict(extra="forbid")

MEASURED, PLAYED, ADVISED, PREDICTED = "measured", "played", "advised", "predicted"
EVIDENCE: tuple[Evidence, ...] = (MEASURED, PLAYED, ADVISED, PREDICTED)
"""Where a claim comes from: the simulator, recorded games, an adviser, or a network that has seen similar ones."""

ANSWERED = "answered"
PROFILE = "profile"
"""In the details of a joker: what it does by itself in each of many situations (`Knowledge.profiles`)."""
SYNERGY, COUNTER, FAVOUR, USE, WIN = "SYNERGIZES_WITH", "COUNTERS", "FAVOURS", "USES", "WON_WITH"


@dataclass(frozen=True)
class Node:
    """Something a build is made of or meets, a strategy, or a run."""

    __pydantic_config__ = CHECKED
    label: str  # one of NODES
    key: Key  # the game's own key, unique in the graph
    name: Text
    words: Text = ""
    features: Annotated[tuple[Number, ...], Field(max_length=4096)] = ()
    values: Mapping[str, Values] = field(default_factory=dict)
    """Columns that only this label has, by name (NODES)."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else is known, ready for JSON."""


@dataclass(frozen=True)
class Edge:
    """One claim about two things, with the interval it is known to and how to check it."""

    __pydantic_config__ = CHECKED
    type: str  # one of EDGES
    a: Key
    b: Key
    strength: Number
    low: Number
    high: Number
    channel: Short = ""
    evidence: Evidence = MEASURED
    samples: Count = 0
    order: Short = ""
    """`a_left` or `b_left` where it only holds with that one on the left."""
    others: Annotated[tuple[Key, ...], Field(max_length=20)] = ()
    """The third and further parts of a group: what all of them do beyond their pairs."""
    command: Text = ""
    """Measures it again."""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[str, str, str, str, str, str, tuple[str, ...]]:
        """Two edges of one identity are two measurements of the same: the newer one counts."""
        return self.type, self.a, self.b, self.channel, self.evidence, self.order, self.others


@dataclass(frozen=True)
class Graph:
    """Everything that is known about one game."""

    game: str
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()

    def with_more(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> Graph:
        """The same with these added; what was known of the same thing before gives way."""
        merged_nodes = {node.key: node for node in (*self.nodes, *nodes)}
        merged_edges = {edge.identity: edge for edge in (*self.edges, *edges)}
        unknown = {key for edge in merged_edges.values() for key in (edge.a, edge.b)} - merged_nodes.keys()
        if unknown:
            raise UsageError(f"Edges name {len(unknown)} keys that no node has, for instance '{min(unknown)}'.")
        return Graph(self.game, tuple(merged_nodes.values()), tuple(merged_edges.values()))

    @property
    def labels(self) -> dict[str, str]:
        """The label of every node by its key."""
        return {node.key: node.label for node in self.nodes}


@dataclass(frozen=True)
class Strategy:
    """A way to win with a name: the parts it uses and how often it was seen to win."""

    __pydantic_config__ = CHECKED
    key: Key
    name: Text
    words: Text = ""
    uses: Mapping[Key, Number] = field(default_factory=dict)
    """Keys of parts (jokers, hand type, deck, …) by how much they belong to it, up to 1."""
    evidence: Evidence = PLAYED
    games: Count = 0
    share: Number = 0.0
    """Of games won, with its interval."""
    low: Number = 0.0
    high: Number = 1.0
    verdict: Text = ""
    """Of one that was proposed and then tried: what came out."""
    command: Text = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    """main_hand, economy, deck_shape, examples (seeds), …"""

    def node(self) -> Node:
        values = {name: getattr(self, name) for name in STRATEGY_VALUES}
        return Node("Strategy", self.key, self.name, self.words, values=values, details=self.details)

    def edges(self) -> tuple[Edge, ...]:
        return tuple(
            Edge(USE, self.key, part, weight, weight, weight, evidence=self.evidence, samples=self.games,
                 command=self.command)
            for part, weight in self.uses.items()
        )  # fmt: skip

    @classmethod
    def of(cls, node: Node, edges: Iterable[Edge]) -> Strategy:
        """The strategy of a node and the USES edges that begin there."""
        uses = {edge.b: edge.strength for edge in edges if edge.type == USE and edge.a == node.key}
        values: Any = {name: node.values[name] for name in STRATEGY_VALUES if name in node.values}
        return cls(node.key, node.name, node.words, uses, details=node.details, **values)


@dataclass(frozen=True)
class Hints:
    """What the graph knows about one state; empty where it knows nothing or did not answer in time."""

    synergies: tuple[dict[str, Any], ...] = ()
    """Of the jokers held, strongest first."""
    counters: tuple[dict[str, Any], ...] = ()
    """What helps or suffers against the boss."""
    strategy_name: str = ""
    strategy: dict[str, Any] | None = None
    """The nearest known strategy with `similarity`."""
    outcome: str = ""
    """`answered`, or why there is nothing: `late`, `failed`, `resting` after failures."""

    @property
    def answered(self) -> bool:
        return self.outcome == ANSWERED


def sentence(claim: Mapping[str, Any]) -> str:
    """A claim of a query in words."""
    helps = claim["strength"] > 0
    beside = f" with {', '.join(claim['others'])}" if claim["others"] else ""
    verb = "help each other" if helps else "work against each other"
    interval = f"{claim['strength']:+.2f} [{claim['low']:+.2f}, {claim['high']:+.2f}]"
    about = f"{claim['channel']} {interval}, {claim['evidence']}"
    if claim.get("against"):
        return f"{claim['a_name']} {'helps' if helps else 'suffers'} against {claim['b_name']} ({about})"
    return f"{claim['a_name']} and {claim['b_name']}{beside} {verb} ({about})"


# --- the schema: labels, relations, their columns, its version, and how older graphs become this one ---

# The version changes when a stored graph of the version before cannot be read as it is. Then `MIGRATIONS` gets a
# function under the old number; a program that opens an old graph applies them one after the other. A newer graph is
# refused.


VERSION = 2
"""2 added the label `Tag`."""

Columns = dict[str, type]

NODE_COLUMNS: Columns = {"key": str, "name": str, "words": str, "features": str, "details": str}
"""Of every node; features and details are JSON texts, which all engines can store."""
STRATEGY_COLUMNS: Columns = {
    "evidence": str, "games": int, "share": float, "low": float, "high": float, "verdict": str, "command": str,
}  # fmt: skip
STRATEGY_VALUES = tuple(STRATEGY_COLUMNS)
RUN_COLUMNS: Columns = {"seed": str, "won": bool, "reached": int}

NODES: dict[str, Columns] = {
    "Joker": {},
    "Consumable": {},
    "Voucher": {},
    "HandType": {},
    "Boss": {},
    "Deck": {},
    "Tag": {},
    "Strategy": STRATEGY_COLUMNS,
    "Run": RUN_COLUMNS,
}
"""Labels with the columns that only they have."""

KINDS = {
    "joker": "Joker", "consumable": "Consumable", "voucher": "Voucher", "hand": "HandType", "boss": "Boss",
    "deck": "Deck", "tag": "Tag",
}  # fmt: skip
"""The label of each kind of part that a game may tell of."""

EDGE_COLUMNS: Columns = {
    "channel": str, "evidence": str, "placing": str, "others": str, "strength": float, "low": float, "high": float,
    "samples": int, "command": str, "details": str,
}  # fmt: skip
"""Of every edge. `placing` is the order of the two (`a_left`, `b_left`; ORDER is a word of Cypher), `others` the keys
of the third and further parts of a group, with commas."""
EDGE_IDENTITY = ("channel", "evidence", "placing", "others")
"""Two edges between the same nodes that agree on these are one."""

PARTS = tuple(KINDS.values())
EDGES: dict[str, tuple[tuple[str, str], ...]] = {
    SYNERGY: (("Joker", "Joker"),),
    COUNTER: (("Joker", "Boss"), ("HandType", "Boss")),
    FAVOUR: (("Joker", "HandType"),),
    USE: tuple(("Strategy", part) for part in PARTS if part != "Boss"),
    WIN: (("Run", "Joker"), ("Run", "Strategy"), ("Run", "Deck"), ("Run", "HandType")),
}
"""Relations with the labels they lead from and to."""

RELATIONS = {"synergizes": SYNERGY, "counters": COUNTER, "favours": FAVOUR}
"""The relation of each kind of interaction that a game measures."""

ABOUT = "About"
"""The one node that says what graph this is."""
ABOUT_COLUMNS: Columns = {"key": str, "version": int, "game": str}

Document = dict[str, Any]
MIGRATIONS: dict[int, Callable[[Document], Document]] = {1: lambda document: document}
"""From a version to the next one: an exported graph (documents.py) of that version → of the one after it."""


def columns_of(label: str) -> Columns:
    return {**NODE_COLUMNS, **NODES[label]}
