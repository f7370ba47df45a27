"""What a graph of knowledge says about a situation, as sentences an adviser reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

Hints = Callable[[Mapping[str, Any]], Sequence[str]]
"""A situation by its parts (`Knowledge.read_state`) → what is known about it, a sentence each; never raises."""


class Graph(Protocol):
    """As much of `jimbot.knowledge.KnowledgeGraphClient` as is asked here."""

    def hints(self, state: Mapping[str, Any]) -> Any: ...


def hints_from(graph: Graph) -> Hints:
    """The graph's hints; it has a deadline of its own and answers with nothing where it cannot."""
    return lambda parts: sentences(graph.hints(parts))


def sentences(found: Any) -> list[str]:
    """Synergies of what is held, counters to what is met, and the nearest strategy."""
    lines = [f"{_pair(claim, 'with')}: {_amount(claim)}." for claim in found.synergies]
    lines += [f"{_pair(claim, 'against')}: {_amount(claim)}." for claim in found.counters]
    if found.strategy_name:
        words = (found.strategy or {}).get("words") or ""
        lines.append(f"The nearest known strategy is {found.strategy_name}{': ' + words if words else ''}.")
    return lines


def _pair(claim: Mapping[str, Any], between: str) -> str:
    one, other = (claim.get(f"{end}_name") or claim[end] for end in "ab")
    return f"{one} {between} {other}"


def _amount(claim: Mapping[str, Any]) -> str:
    span = f"{claim['low']:+.2f} to {claim['high']:+.2f}"
    return f"{claim['channel']} {claim['strength']:+.2f} ({span}; {claim['evidence']})"
