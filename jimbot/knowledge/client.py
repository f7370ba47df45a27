"""`KnowledgeGraphClient`: what programs ask the graph, wherever it is.

    client = KnowledgeGraphClient()                       # the user's file; "bolt://HOST:PORT" for a server
    await client.get_joker_synergies(["Blueprint", "Brainstorm"])
    client.hints({"jokers": ["j_blueprint"], "boss": "bl_wall"})

Names may be keys or names as the game shows them; an unknown one is answered with the nearest. Questions of programs
that decide go through `hints`, which has a deadline, rests after failures and never raises.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from jimbot.clients.resilience import CircuitBreaker
from jimbot.errors import JimbotError
from jimbot.knowledge import queries, records
from jimbot.knowledge.first_use import graph_address, graph_game, make_first_graph, open_store, take_newer
from jimbot.knowledge.queries import Names
from jimbot.knowledge.records import ANSWERED, Graph, Hints
from jimbot.knowledge.store import GraphStore, Limits, Rows
from jimbot.knowledge.updates import found_in, strategy_from, synergy_from

if TYPE_CHECKING:
    from jimbot.proto.events_pb2 import KnowledgeUpdate

DEADLINE = 0.05
"""Seconds a decision waits for its hint."""
FAILURES, REST = 5, 5.0
MOST_HINTS = 8

Kept = TypeVar("Kept", bound=records.Strategy | records.Edge)
State = Mapping[str, Any] | Callable[[], Mapping[str, Any]]
"""What a game stands like by keys, or what finds it out."""


class KnowledgeGraphClient:
    """One graph, opened when it is first asked."""

    def __init__(
        self, address: str | None = None, game: str | None = None, *, deadline: float = DEADLINE,
        failures: int = FAILURES, rest: float = REST,
    ) -> None:  # fmt: skip
        """`address`: a file or bolt://…; None: `$JIMBOT_GRAPH`, else the user's file, made when it is missing."""
        self.game = game or graph_game()
        self._made_if_missing = address is None
        self.store: GraphStore = open_store(graph_address(address, self.game), self.game)
        self._guard = Guard(deadline, failures, rest)
        self._known: tuple[Names, list[queries.Claim]] | None = None
        self._held: Snapshot | None = None
        self._loading = threading.Lock()
        self._stamp: Hashable = None
        self._lock = threading.Lock()
        self._up_to_date = False

    # --- as users know it ---

    async def get_joker_synergies(self, jokers: Sequence[str]) -> dict[str, Any]:
        """`{"jokers": keys, "synergies": [...]}`: what is known between any two of these jokers, strongest first."""
        return await asyncio.to_thread(self.joker_synergies, jokers)

    async def query(self, query: str, limits: Limits = Limits(), **parameters: Any) -> list[dict[str, Any]]:
        """Free Cypher that reads: its rows by column."""
        return (await asyncio.to_thread(self.ask, query, parameters, limits)).dicts()

    # --- the same and more for those without an event loop ---

    def joker_synergies(self, jokers: Sequence[str]) -> dict[str, Any]:
        keys = self.names.keys(jokers, "Joker")
        return {"jokers": keys, "synergies": self._among(keys)}

    def ask(self, query: str, parameters: Mapping[str, Any] | None = None, limits: Limits = Limits()) -> Rows:
        self._prepare()
        return self.store.ask(query, parameters, limits)

    def whole(self) -> Graph:
        """Everything the graph holds."""
        self._prepare()
        return self.store.graph()

    def neighbours(self, joker: str, channel: str | None = None, most: int | None = None) -> list[queries.Claim]:
        """The synergies of one joker, strongest first."""
        found = queries.partners(self.store, self.names.key(joker, "Joker"))
        return [claim for claim in found if channel in (None, claim["channel"])][:most]

    def counters(self, boss: str) -> list[queries.Claim]:
        """Jokers and hand types against a boss: what helps first, what suffers last."""
        return queries.counters_to(self.store, self.names.key(boss, "Boss"))

    def explain(self, one: str, other: str) -> list[queries.Claim]:
        """The shortest chain of certain synergies between two jokers."""
        start, end = self.names.keys([one, other], "Joker")
        return queries.explanation(self.store, start, end)

    def strategies(self, state: Mapping[str, Any] | None = None) -> list[queries.Claim]:
        """Every strategy; with a state those that share anything with it, nearest first."""
        names, known = self._everything()
        return list(known) if state is None else queries.nearest_strategies(known, _parts(names, state))

    # --- writing ---

    async def save_strategy(
        self, name: str, uses: Mapping[str, float] | Sequence[str], **values: Any
    ) -> records.Strategy:
        """Keeps a strategy: its parts by name or key, `games`, `share` of them won, `words`, … (`records.Strategy`)."""
        return await asyncio.to_thread(lambda: self.keep(strategy_from(self.names, name, uses, **values)))

    async def save_synergy(self, jokers: Sequence[str], strength: float, **values: Any) -> records.Edge:
        """Keeps a claim about two or more jokers: `low`, `high`, `channel`, `samples`, … (`records.Edge`)."""
        return await asyncio.to_thread(lambda: self.keep(synergy_from(self.names, jokers, strength, **values)))

    def read(self, update: KnowledgeUpdate) -> records.Strategy | records.Edge:
        """What was told on the bus (`knowledge.update`), checked; `keep` it."""
        return found_in(self.names, self.game, update)

    def keep(self, found: Kept) -> Kept:
        """Puts a strategy or a claim into the graph."""
        self._prepare()
        if isinstance(found, records.Strategy):
            self.store.add([found.node()], found.edges())
        else:
            self.store.add(edges=[found])
        with self._lock:
            self._known = self._held = None
        return found

    # --- for decisions ---

    def hints(self, state: State) -> Hints:
        """What is known about a state: `jokers`, `boss`, `deck`, `vouchers`, `played` (hand types by how often)."""
        outcome, found = self._guard.ask(lambda: self._hints(state if isinstance(state, Mapping) else state()))
        return replace(found or Hints(), outcome=outcome)

    def counts(self) -> dict[str, int]:
        """Hints by outcome: answered, late, failed, resting."""
        return self._guard.counts()

    def close(self) -> None:
        self._guard.close()
        self.store.close()

    @property
    def names(self) -> Names:
        return self._everything()[0]

    def _hints(self, state: Mapping[str, Any]) -> Hints:
        known = self._snapshot()
        jokers = _keys(known.names, state.get("jokers"), "Joker")
        boss = next(iter(_keys(known.names, state.get("boss"), "Boss")), None)
        synergies = known.pairs.among(jokers) if len(jokers) > 1 else []
        counters = known.counters.get(boss, []) if boss else []
        relevant = [claim for claim in counters if claim["a"] in jokers]
        parts = _parts(known.names, state)
        nearest = next(iter(queries.nearest_strategies(known.strategies, parts)), None)
        return Hints(
            tuple(synergies[:MOST_HINTS]), tuple((relevant or counters)[:MOST_HINTS]),
            nearest["name"] if nearest else "", nearest,
        )  # fmt: skip

    def _everything(self) -> tuple[Names, list[queries.Claim]]:
        """Names and strategies, read anew when the graph was replaced."""
        with self._lock:
            stamp = self.store.stamp()
            if self._known is None or stamp != self._stamp:
                self._known = None
                self._prepare()
                self._known = Names.of(self.store), queries.strategies(self.store)
                self._stamp = self.store.stamp()
            return self._known

    def _among(self, keys: Sequence[str]) -> list[queries.Claim]:
        return self._snapshot().pairs.among(keys) if self.store.local else queries.synergies_among(self.store, keys)

    def _snapshot(self) -> Snapshot:
        """All that hints are made of, in memory. A file that was replaced is read at once; a server's graph is read in
        the background when it may be another, and until then the last one answers: no decision waits for a server."""
        stamp = self.store.stamp()
        known = self._held
        if known is None or (stamp != known.stamp and self.store.local):
            with self._loading:
                if self._held is None or self._held.stamp != stamp:
                    self._held = self._read()
                return self._held
        if stamp != known.stamp and self._loading.acquire(blocking=False):
            threading.Thread(target=self._refresh, name="jimbot-graph-refresh", daemon=True).start()
        return known

    def _refresh(self) -> None:
        try:
            self._held = self._read()
        except JimbotError as problem:
            _log.warning("The graph was not read anew; what was known goes on: %s", problem)
            if self._held is not None:  # not again before the stamp changes
                self._held = replace(self._held, stamp=self.store.stamp())
        finally:
            self._loading.release()

    def _read(self) -> Snapshot:
        stamp = self.store.stamp()
        names, strategies = self._everything()
        counters: dict[str, list[queries.Claim]] = {}
        for claim in queries.all_counters(self.store):
            counters.setdefault(claim["b"], []).append(claim)
        return Snapshot(stamp, names, strategies, Pairs(self.store), counters)

    def _prepare(self) -> None:
        if not self._made_if_missing:
            return
        if not self.store.exists():
            make_first_graph(self.store, self.game)
        elif not self._up_to_date:
            take_newer(self.store, self.game)
        self._up_to_date = True


def _keys(names: Names, given: Any, *labels: str) -> list[str]:
    """The keys of what a state names: one text, several, or a mapping whose keys they are."""
    texts: Iterable[Any] = [given] if isinstance(given, str) else given if isinstance(given, Iterable) else []
    found = (names.find(text, *labels) for text in texts if isinstance(text, str))
    return [key for key in found if key is not None]


def _parts(names: Names, state: Mapping[str, Any]) -> list[str]:
    """Everything of a state that a strategy may use: jokers, deck, vouchers, and the hand type it plays most."""
    return [
        *_keys(names, state.get("jokers"), "Joker"),
        *_keys(names, state.get("deck"), "Deck"),
        *_keys(names, state.get("vouchers"), "Voucher"),
        *_keys(names, _most(state.get("played")) or _most(state.get("levels")), "HandType"),
    ]


def _most(counts: Any) -> str | None:
    """The name with the largest number."""
    numbers = counts if isinstance(counts, Mapping) else {}
    numbers = {name: count for name, count in numbers.items() if isinstance(count, int | float)}
    return max(numbers, key=numbers.__getitem__, default=None)


# A graph at decision time: asked in a thread of its own, with a deadline, and not at all for a while after it failed
# again and again. The caller goes on without it.


_log = logging.getLogger("jimbot.knowledge")
Answer = TypeVar("Answer")
OUTCOMES = (ANSWERED, "late", "failed", "resting")


class Guard:
    """Runs questions one after the other, each within `deadline` seconds for the caller."""

    def __init__(self, deadline: float, failures: int, rest: float) -> None:
        self._deadline = deadline
        self._breaker = CircuitBreaker(failures, rest)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="jimbot-graph")
        self._counts = dict.fromkeys(OUTCOMES, 0)
        self._lock = threading.Lock()
        self._late: Future | None = None

    def ask(self, question: Callable[[], Answer]) -> tuple[str, Answer | None]:
        """(outcome, the answer if there is one). Never raises what the graph raised."""
        if not self._breaker.may_call() or self._busy():
            return self._counted("resting"), None
        waiting = self._thread.submit(question)
        try:
            answer = waiting.result(self._deadline)
        except TooLate:
            if not waiting.cancel():
                self._late = waiting
            self._breaker.failed()
            return self._counted("late"), None
        except Exception as problem:  # whatever a graph can do wrong, a decision must not suffer from it
            if not self._breaker.is_open:
                _log.warning("The graph gave no hint: %s", problem)
            self._breaker.failed()
            return self._counted("failed"), None
        self._breaker.succeeded()
        return self._counted(ANSWERED), answer

    def counts(self) -> dict[str, int]:
        """Questions by outcome."""
        with self._lock:
            return dict(self._counts)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _busy(self) -> bool:
        """Whether a question that came too late is still being worked on: the next would only wait behind it."""
        return self._late is not None and not self._late.done()

    def _counted(self, outcome: str) -> str:
        with self._lock:
            self._counts[outcome] += 1
        return outcome


# All synergies of a graph in memory, by pair.


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


@dataclass(frozen=True)
class Snapshot:
    """What hints are made of."""

    stamp: Hashable
    names: Names
    strategies: list[queries.Claim]
    pairs: Pairs
    counters: Mapping[str, list[queries.Claim]]
    """By boss, what helps first."""
