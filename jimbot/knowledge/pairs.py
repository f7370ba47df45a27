"""All synergies of a graph in memory, by pair.

An engine answers in well under a millisecond, but in threads of its own: on a busy machine the asker waits for two
turns of the scheduler. What is asked at every decision is therefore kept here, a few megabytes, read once per graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from jimbot.knowledge import queries
from jimbot.knowledge.store import GraphStore


class Pairs:
    """What is known between two jokers."""

    def __init__(self, store: GraphStore) -> None:
        rows = store.ask(queries.ALL_SYNERGIES, limits=queries.MANY)
        self._columns = rows.columns
        self._rows: dict[frozenset[str], list[tuple[Any, ...]]] = {}
        a, b = rows.columns.index("a"), rows.columns.index("b")
        for row in rows.values:
            self._rows.setdefault(frozenset((row[a], row[b])), []).append(row)

    def among(self, keys: Sequence[str]) -> list[queries.Claim]:
        """The same as `queries.synergies_among`."""
        pairs = (frozenset(pair) for pair in combinations(sorted(set(keys)), 2))
        found = [dict(zip(self._columns, row, strict=True)) for pair in pairs for row in self._rows.get(pair, ())]
        return queries.among(found, keys)
