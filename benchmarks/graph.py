"""What a question to the embedded graph costs, beside the cheapest question there is in the same process."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.knowledge.client import KnowledgeGraphClient
from jimbot.knowledge.ladybug_store import LadybugStore
from jimbot.knowledge.records import SYNERGY, Edge, Graph, Node

JOKERS, CHANNELS, HELD = 150, ("score", "money", "growth"), 5
GAME = "made up"
WARM_UP = 50


def bench_graph(seconds: float) -> dict[str, Any]:
    """A graph of the usual size: every pair of 150 jokers in three channels."""
    graph = _graph()
    figures: dict[str, Any] = {"load_average": os.getloadavg()[0], "cores": os.cpu_count(), "edges": len(graph.edges)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.lbug"
        began = time.perf_counter()
        LadybugStore(path, GAME).replace(graph)
        figures["write_seconds"] = time.perf_counter() - began
        figures["megabytes"] = path.stat().st_size / 1e6
        client = KnowledgeGraphClient(str(path), GAME, deadline=10.0)
        luck = random.Random(0)
        keys = [node.key for node in graph.nodes]
        questions: dict[str, Callable[[], Any]] = {
            "nothing": lambda: client.ask("RETURN 1"),
            "synergies": lambda: client.joker_synergies(luck.sample(keys, HELD)),
            "hints": lambda: client.hints({"jokers": luck.sample(keys, HELD)}),
        }
        for name, ask in questions.items():
            figures |= _timed(name, ask, seconds / len(questions))
        client.close()
    for percentile in ("p50", "p99"):
        figures[f"synergies_to_nothing_{percentile}"] = (
            figures[f"synergies_{percentile}_ms"] / figures[f"nothing_{percentile}_ms"]
        )
    return figures


def _graph() -> Graph:
    luck = random.Random(0)
    nodes = tuple(Node("Joker", f"j_{number}", f"Joker {number}", "Adds something.") for number in range(JOKERS))

    def edge(a: str, b: str, channel: str) -> Edge:
        strength = luck.gauss(0.0, 0.3)
        command = f"jimbot graph build --pairs {a},{b} --channels {channel}"
        return Edge(SYNERGY, a, b, strength, strength - 0.1, strength + 0.1, channel, samples=64, command=command)

    pairs = combinations(sorted(node.key for node in nodes), 2)
    return Graph(GAME, nodes, tuple(edge(a, b, channel) for a, b in pairs for channel in CHANNELS))


def _timed(name: str, ask: Callable[[], Any], seconds: float) -> dict[str, float]:
    """Milliseconds of the clock and of the processor: on a busy machine only the second says what it costs."""
    for _ in range(WARM_UP):
        ask()
    clock, processor = [], []
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        began, worked = time.perf_counter(), time.process_time()
        ask()
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - worked)
    return {
        f"{name}_{percentile}{kind}_ms": 1000 * float(np.percentile(times, rank))
        for kind, times in (("", clock), ("_processor", processor))
        for percentile, rank in (("p50", 50), ("p99", 99))
    }
