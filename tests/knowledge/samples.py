"""A small graph with everything a graph can hold."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from jimbot.knowledge.ladybug_store import LadybugStore
from jimbot.knowledge.records import COUNTER, FAVOUR, SYNERGY, WIN, Edge, Graph, Node, Strategy

GAME = "cards"


def edge(relation: str, a: str, b: str, strength: float, channel: str = "score", **more) -> Edge:
    return Edge(relation, a, b, strength, strength - 0.1, strength + 0.1, channel, samples=64,
                command=f"jimbot graph build --pairs {a},{b}", **more)  # fmt: skip


JOKERS = {"j_blueprint": "Blueprint", "j_brainstorm": "Brainstorm", "j_baron": "Baron", "j_mime": "Mime",
          "j_loner": "Lone \"Wolf\", the 2nd é"}  # fmt: skip
STRATEGY = Strategy(
    "s_kings", "Baron and Mime: High Card", "Steel kings held in hand.",
    {"j_baron": 1.0, "j_mime": 0.9, "High Card": 0.5, "b_red": 0.2}, games=40, share=0.6, low=0.44, high=0.74,
    command="jimbot graph discover --minutes 5", details={"examples": ["ABC", "DEF"]},
)  # fmt: skip


def sample() -> Graph:
    nodes = [
        Node("Joker", key, name, 'Does "this", and\nthat.', (1.0, 0.5), details={"cost": 4})
        for key, name in JOKERS.items()
    ]
    nodes += [
        Node("Boss", "bl_wall", "The Wall"), Node("HandType", "High Card", "High Card"),
        Node("HandType", "Flush", "Flush"), Node("Deck", "b_red", "Red Deck"), Node("Voucher", "v_grabber", "Grabber"),
        Node("Consumable", "c_mercury", "Mercury"), STRATEGY.node(),
        Node("Run", "run_1", "Run 1", values={"seed": "ABC", "won": True, "reached": 8}),
    ]  # fmt: skip
    edges = [
        edge(SYNERGY, "j_baron", "j_mime", 1.2),
        edge(SYNERGY, "j_baron", "j_mime", 0.3, "growth", evidence="played"),
        edge(SYNERGY, "j_baron", "j_blueprint", 0.7, order="b_left"),
        edge(SYNERGY, "j_blueprint", "j_brainstorm", 0.6, "copying"),
        edge(SYNERGY, "j_brainstorm", "j_mime", -0.4),
        edge(SYNERGY, "j_baron", "j_mime", 0.8, others=("j_blueprint",), details={"pairs": 1.5}),
        edge(COUNTER, "j_baron", "bl_wall", 0.5),
        edge(COUNTER, "Flush", "bl_wall", -0.2),
        edge(FAVOUR, "j_baron", "High Card", 0.9),
        edge(WIN, "run_1", "j_baron", 1.0, "", evidence="played"),
        *STRATEGY.edges(),
    ]
    return Graph(GAME, tuple(nodes), tuple(edges))


@cache
def _file() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graph.lbug"
        LadybugStore(path, GAME).replace(sample())
        return path.read_bytes()


def sample_file(folder: Path) -> Path:
    """The sample as a file of the embedded engine, made once per test process."""
    path = folder / "graph.lbug"
    path.write_bytes(_file())
    digest = hashlib.sha256(_file()).hexdigest()
    path.with_name("graph.lbug.sum").write_text(json.dumps({"digests": [digest]}))
    return path
