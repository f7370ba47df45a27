"""The schema of the graph: labels, relations, their columns, its version, and how older graphs become this one.

The version changes when a stored graph of the version before cannot be read as it is. Then `MIGRATIONS` gets a function
under the old number; whoever opens an old graph applies them one after the other. A newer graph is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

VERSION = 1

Columns = dict[str, type]

NODE_COLUMNS: Columns = {"key": str, "name": str, "words": str, "features": str, "details": str}
"""Of every node; features and details are JSON texts, which all engines can store."""
STRATEGY_COLUMNS: Columns = {
    "evidence": str, "games": int, "share": float, "low": float, "high": float, "verdict": str, "command": str,
}  # fmt: skip
RUN_COLUMNS: Columns = {"seed": str, "won": bool, "reached": int}

NODES: dict[str, Columns] = {
    "Joker": {},
    "Consumable": {},
    "Voucher": {},
    "HandType": {},
    "Boss": {},
    "Deck": {},
    "Strategy": STRATEGY_COLUMNS,
    "Run": RUN_COLUMNS,
}
"""Labels with the columns that only they have."""

KINDS = {
    "joker": "Joker", "consumable": "Consumable", "voucher": "Voucher", "hand": "HandType", "boss": "Boss",
    "deck": "Deck",
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
    "SYNERGIZES_WITH": (("Joker", "Joker"),),
    "COUNTERS": (("Joker", "Boss"), ("HandType", "Boss")),
    "FAVOURS": (("Joker", "HandType"),),
    "USES": tuple(("Strategy", part) for part in PARTS if part != "Boss"),
    "WON_WITH": (("Run", "Joker"), ("Run", "Strategy"), ("Run", "Deck"), ("Run", "HandType")),
}
"""Relations with the labels they lead from and to."""

RELATIONS = {"synergizes": "SYNERGIZES_WITH", "counters": "COUNTERS", "favours": "FAVOURS"}
"""The relation of each kind of interaction that a game measures."""

ABOUT = "About"
"""The one node that says what graph this is."""
ABOUT_COLUMNS: Columns = {"key": str, "version": int, "game": str}

Document = dict[str, Any]
MIGRATIONS: dict[int, Callable[[Document], Document]] = {}
"""From a version to the next one: an exported graph (documents.py) of that version → of the one after it."""


def columns_of(label: str) -> Columns:
    return {**NODE_COLUMNS, **NODES[label]}


def allows(relation: str, start: str, end: str) -> bool:
    """Whether a relation may lead from one label to another."""
    return (start, end) in EDGES.get(relation, ())
