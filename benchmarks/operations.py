"""What a compiled program spends its time on, by kind of operation, as XLA's own trace tells it."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

KINDS = (
    ("products_fraction", r"^(ynn|dot|custom-call)"),
    ("moving_fraction", r"concatenate|copy|transpose|gather|scatter|slice|pad|^bitcast|sort"),
    ("elementwise_fraction", r""),
)
"""The figure of a kind of operation → what its names look like; the first that fits. A product counts with what is
fused to it."""
_OPERATION = re.compile(r"^[a-z][a-z_\-]*(\.\d+)*$")
_HOLDS_OTHERS = re.compile(r"^(while|call|conditional|tuple|parameter)\b")


def operation_shares(run: Callable[[], Any]) -> dict[str, float]:
    """The share of each kind in the time that operations took while `run` ran; it must wait for its results."""
    spent = dict.fromkeys((kind for kind, _ in KINDS), 0.0)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, create_perfetto_trace=True):
            run()
        for name, microseconds in _operations(Path(folder)):
            spent[next(kind for kind, like in KINDS if re.search(like, name))] += microseconds
    total = sum(spent.values())
    return {kind: share / total for kind, share in spent.items()} if total else {}


def _operations(folder: Path) -> Iterator[tuple[str, float]]:
    """(name, microseconds) of everything the compiled program did, one by one."""
    for path in folder.rglob("perfetto_trace.json.gz"):
        with gzip.open(path) as file:
            events = json.load(file)["traceEvents"]
        for event in events:
            name = event.get("name", "")
            if event.get("ph") == "X" and _OPERATION.match(name) and not _HOLDS_OTHERS.match(name):
                yield name, event["dur"]
