"""The questions that JimBot itself asks a graph, in Cypher that every engine understands, and the names in them."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from jimbot.errors import UnknownNameError
from jimbot.knowledge import records
from jimbot.knowledge.documents import split
from jimbot.knowledge.records import COUNTER, FAVOUR, MEASURED, SYNERGY
from jimbot.knowledge.store import GraphStore, Limits

Claim = dict[str, Any]
MANY = Limits(rows=200_000, seconds=20.0)

_CLAIM = (
    "s.strength AS strength, s.low AS low, s.high AS high, s.channel AS channel, s.evidence AS evidence, "
    "s.samples AS samples, s.placing AS placing, s.others AS others, s.command AS command"
)
_ENDS = "a.key AS a, b.key AS b, a.name AS a_name, b.name AS b_name"
_AMONG = f"MATCH (a:Joker)-[s:{SYNERGY}]->(b:Joker) WHERE a.key IN $keys AND b.key IN $keys RETURN {_ENDS}, {_CLAIM}"
ALL_SYNERGIES = f"MATCH (a:Joker)-[s:{SYNERGY}]->(b:Joker) RETURN {_ENDS}, {_CLAIM}"
_PARTNERS = f"MATCH (a:Joker)-[s:{SYNERGY}]->(b:Joker) WHERE %s.key = $key RETURN {_ENDS}, {_CLAIM}"
_COUNTERS = f"MATCH (a:%s)-[s:{COUNTER}]->(b:Boss) WHERE %s.key = $key RETURN {_ENDS}, {_CLAIM}"
_ALL_COUNTERS = f"MATCH (a:%s)-[s:{COUNTER}]->(b:Boss) RETURN {_ENDS}, {_CLAIM}"
_FAVOURS = f"MATCH (a:Joker)-[s:{FAVOUR}]->(b:HandType) WHERE %s.key = $key RETURN {_ENDS}, {_CLAIM}"
_CERTAIN = (
    f"MATCH (a:Joker)-[s:{SYNERGY}]->(b:Joker) WHERE s.low > 0 AND s.evidence <> 'predicted' RETURN {_ENDS}, {_CLAIM}"
)
_STRATEGIES = (
    "MATCH (s:Strategy) RETURN s.key AS key, s.name AS name, s.words AS words, s.evidence AS evidence, "
    "s.games AS games, s.share AS share, s.low AS low, s.high AS high, s.verdict AS verdict, s.command AS command, "
    "s.details AS details"
)
_USES = (
    "MATCH (s:Strategy)-[u:USES]->(p:%s) RETURN s.key AS strategy, p.key AS part, p.name AS name, u.strength AS weight"
)


def synergies_among(store: GraphStore, keys: Sequence[str]) -> list[Claim]:
    """What is known between any two of these jokers, strongest first."""
    return among(store.ask(_AMONG, {"keys": sorted(set(keys))}, MANY).dicts(), keys)


def among(rows: list[Claim], keys: Sequence[str]) -> list[Claim]:
    """Rows as claims, strongest first; groups only where all of them are there."""
    held = set(keys)
    return _strongest([claim for claim in _plain(rows) if held >= set(claim["others"])])


def partners(store: GraphStore, key: str) -> list[Claim]:
    """Every synergy of one joker, strongest first; it stands as `a` or `b`."""
    return _strongest([claim for side in "ab" for claim in _claims(store, _PARTNERS % side, key=key)])


def _against(claims: list[Claim]) -> list[Claim]:
    return sorted(({**claim, "against": True} for claim in claims), key=lambda claim: -claim["strength"])


def counters_to(store: GraphStore, boss: str) -> list[Claim]:
    """Jokers and hand types against a boss: what helps first, what suffers last."""
    found = [claim for label in ("Joker", "HandType") for claim in _claims(store, _COUNTERS % (label, "b"), key=boss)]
    return _against(found)


def all_counters(store: GraphStore) -> list[Claim]:
    """Everything against any boss, best first."""
    return _against([claim for label in ("Joker", "HandType") for claim in _claims(store, _ALL_COUNTERS % label)])


def counters_of(store: GraphStore, label: str, key: str) -> list[Claim]:
    """Which bosses a joker or hand type stands against, best first."""
    return _against(_claims(store, _COUNTERS % (label, "a"), key=key))


def favours(store: GraphStore, key: str, side: str = "a") -> list[Claim]:
    """Hand types a joker makes better (`a`), or the jokers that favour a hand type (`b`)."""
    return _strongest(_claims(store, _FAVOURS % side, key=key))


def certain_synergies(store: GraphStore) -> list[Claim]:
    """Every pair that surely helps each other: its whole interval lies above zero."""
    return _strongest(_claims(store, _CERTAIN))


def strategies(store: GraphStore) -> list[Claim]:
    """Every strategy with `uses`: its parts by key with weights."""
    found = {row["key"]: {**row, "uses": {}} for row in store.ask(_STRATEGIES, limits=MANY).dicts()}
    if not found:
        return []
    for label in ("Joker", "HandType", "Deck", "Voucher", "Consumable"):
        for row in store.ask(_USES % label, limits=MANY).dicts():
            found[row["strategy"]]["uses"][row["part"]] = row["weight"]
    return sorted(found.values(), key=lambda one: (-one["games"], one["key"]))


def similarity(uses: Mapping[str, float], parts: Iterable[str]) -> float:
    """How much a state looks like a strategy: the cosine between its parts and the strategy's weights.

    >>> similarity({"a": 1.0, "b": 1.0}, ["a", "b"]), round(similarity({"a": 1.0, "b": 1.0}, ["a", "c"]), 3)
    (1.0, 0.5)
    """
    held = set(parts)
    norm = math.sqrt(sum(weight * weight for weight in uses.values()) * len(held))
    return round(sum(weight for part, weight in uses.items() if part in held) / norm, 12) if norm else 0.0


def followed(known: Iterable[Claim]) -> list[Claim]:
    """Strategies that a run may be said to follow: those of games, and proposals that proved themselves."""
    return [one for one in known if one["evidence"] != MEASURED or one["verdict"].startswith("better")]


def nearest_strategies(known: Sequence[Claim], parts: Iterable[str]) -> list[Claim]:
    """Strategies that share anything with these parts, most similar first, each with `similarity`."""
    held = set(parts)
    ranked = [{**one, "similarity": similarity(one["uses"], held)} for one in followed(known)]
    ranked = [one for one in ranked if one["similarity"] > 0]
    return sorted(ranked, key=lambda one: (-one["similarity"], -one["share"], one["key"]))


def explanation(store: GraphStore, start: str, end: str) -> list[Claim]:
    """The shortest chain of certain synergies from one joker to another; empty where there is none.

    A step costs 1 plus something for weakness, so that few strong steps win over many.
    """
    steps: dict[str, list[tuple[float, str, Claim]]] = {}
    for claim in certain_synergies(store):
        if claim["others"]:
            continue
        cost = 1.0 + 1.0 / (1.0 + 10.0 * claim["strength"])
        steps.setdefault(claim["a"], []).append((cost, claim["b"], claim))
        steps.setdefault(claim["b"], []).append((cost, claim["a"], claim))
    order = count()  # equal costs: the one found first
    queue: list[tuple[float, int, str, tuple[Claim, ...]]] = [(0.0, next(order), start, ())]
    done: set[str] = set()
    while queue:
        cost, _, here, chain = heapq.heappop(queue)
        if here == end:
            return list(chain)
        if here in done:
            continue
        done.add(here)
        for step, there, claim in steps.get(here, ()):
            if there not in done:
                heapq.heappush(queue, (cost + step, next(order), there, (*chain, claim)))
    return []


def _claims(store: GraphStore, query: str, **parameters: Any) -> list[Claim]:
    return _plain(store.ask(query, parameters, MANY).dicts())


def _plain(rows: list[Claim]) -> list[Claim]:
    """Rows under the names that claims have outside of engines."""
    for row in rows:
        row["order"], row["others"] = row.pop("placing"), split(row["others"])
    return rows


def _strongest(claims: list[Claim]) -> list[Claim]:
    return sorted(claims, key=lambda claim: (-claim["strength"], claim["a"], claim["b"], claim["channel"]))


# --- names as people write them → keys: a key, a name in any case, or the same without blanks and dashes ---


EVERY_NAME = Limits(rows=100_000)
NAMED = (*records.PARTS, "Strategy")


class Names:
    """Every name of a graph."""

    def __init__(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """(label, key, name) of every node."""
        self._keys: dict[str, dict[str, str]] = {label: {} for label in NAMED}
        self._names: dict[str, str] = {}
        self._labels: dict[str, str] = {}
        for label, key, name in rows:
            self._names[key], self._labels[key] = name, label
            for spelling in (name, key):  # a key wins over a name that reads the same
                self._keys[label][_letters(spelling)] = key

    @classmethod
    def of(cls, store: GraphStore) -> Names:
        return cls(
            (label, *row)
            for label in NAMED
            for row in store.ask(f"MATCH (n:{label}) RETURN n.key, n.name", limits=EVERY_NAME).values
        )

    def key(self, text: str, *labels: str) -> str:
        """The key a text means among nodes of these labels; an UnknownNameError names the nearest."""
        found = self.find(text, *labels)
        if found is None:
            known = [name for key, name in self._names.items() if self._labels[key] in labels]
            raise UnknownNameError(" or ".join(_words(label) for label in labels), str(text)[:80], known)
        return found

    def find(self, text: str, *labels: str) -> str | None:
        wanted = _letters(str(text))
        return next((self._keys[label][wanted] for label in labels if wanted in self._keys[label]), None)

    def keys(self, texts: Sequence[str], *labels: str) -> list[str]:
        return [self.key(text, *labels) for text in texts]

    def name(self, key: str) -> str:
        return self._names.get(key, key)

    def label(self, key: str) -> str:
        return self._labels[key]

    def all(self, label: str) -> list[str]:
        """Names of one label, sorted."""
        return sorted(self._names[key] for key in set(self._keys[label].values()))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _words(label: str) -> str:
    """A label as people say it.

    >>> _words("HandType")
    'hand type'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label).lower()
