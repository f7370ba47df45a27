"""What runs beside the page and what is known: services and the knowledge graph."""

from __future__ import annotations

import asyncio
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from jimbot.clients.decision_client import DEFAULT_ADDRESS, DecisionClient
from jimbot.clients.event_bus import EventBusClient, unpacked
from jimbot.clients.resilience import RetryPolicy
from jimbot.errors import JimbotError
from jimbot.games.contract import game_entry, games_with
from jimbot.knowledge.effects import EVERY, effects_of
from jimbot.knowledge.first_use import first_graph, graph_address, graph_game, open_store, read_with_newer
from jimbot.knowledge.records import Edge, Graph
from jimbot.services.bus.embedded import file_of, store_of
from jimbot.services.live_play.client import LiveClient

if TYPE_CHECKING:
    from jimbot.viewer.http.server import Page

EMBEDDED = "embedded:"
DECISIONS = "learning.decision.response"
LOOKED_AT = 400  # events at the end of the log among which decisions are looked for
MOST_SHOWN = 40
RETRIES = RetryPolicy(deadline=1.5, cap=1.5, attempts=1)
BUS_SECONDS = 4.0


def hosted_game() -> tuple[str, str]:
    """The game that can run in another program, and where it usually does."""
    game = games_with("live")[0]
    protocol = game_entry(game).live
    assert protocol is not None
    return game, f"http://127.0.0.1:{protocol.port}"


class Services:
    """Where they are, and how they are when a page asks."""

    def __init__(self, serve: str = "", bus: str = "", runs: Path = Path("runs"), live: str = "") -> None:
        self.serve = serve or DEFAULT_ADDRESS
        self.game, self.live = hosted_game()
        self.live = live or self.live
        self.bus = bus if bus and bus != EMBEDDED[:-1] else f"{EMBEDDED}{runs / 'bus.sqlite'}"

    async def document(self) -> dict[str, Any]:
        decision, live = asyncio.to_thread(self._decision), asyncio.to_thread(self._live)
        found = await asyncio.gather(decision, self._bus(), live)
        return dict(zip(("decision", "bus", "live"), found, strict=True))

    def _live(self) -> dict[str, Any]:
        """The game that another program hosts; nobody there is nothing wrong."""
        try:
            LiveClient(self.live, deadline=RETRIES.deadline).call("health", {})
        except JimbotError as problem:
            return {"address": self.live, "game": self.game, "well": False, "words": str(problem)}
        return {"address": self.live, "game": self.game, "well": True, "words": "A game is there to be looked at."}

    def _decision(self) -> dict[str, Any]:
        began = time.monotonic()
        try:
            with DecisionClient(self.serve, patience=RETRIES) as client:
                answer = client.policies()
        except JimbotError as problem:
            return {"address": self.serve, "well": False, "words": str(problem), "policies": []}
        policies = [
            {
                "game": one.identity.game,
                "name": one.identity.name,
                "version": one.identity.version,
                "status": one.status,
                "share": one.canary_share,
            }
            for one in answer.policies
        ]
        words = f"answers in {1000 * (time.monotonic() - began):.0f} ms, version {answer.server_version}"
        return {"address": self.serve, "well": True, "words": words, "policies": policies}

    async def _bus(self) -> dict[str, Any]:
        found: dict[str, Any] = {"address": self.bus, "well": False, "there": True, "topics": []}
        found |= {"readers": [], "decisions": []}
        if self.bus.startswith(EMBEDDED) and not (store_of(self.bus).is_dir() or file_of(self.bus).is_file()):
            place = store_of(self.bus)  # opening it would create it
            words = f"There is no bus at {place} yet; it begins with the first event."
            return {**found, "there": False, "words": words}
        try:
            async with asyncio.timeout(BUS_SECONDS), EventBusClient(self.bus) as client:
                about = await client.stats()
                decisions = await _decisions(client, int(about["end"]))
        except TimeoutError:
            return {**found, "words": f"The bus at {self.bus} did not answer in {BUS_SECONDS:g} s."}
        except JimbotError as problem:
            return {**found, "words": str(problem)}
        topics = [{"name": name, "events": one["events"]} for name, one in about["topics"].items()]
        readers = [{"name": name, "lag": one["lag"], "live": one["live"]} for name, one in about["readers"].items()]
        words = f"{about['events']:,} events, {about['bytes'] / 1e6:.1f} MB"
        return {**found, "well": True, "words": words, "topics": topics, "readers": readers, "decisions": decisions}


async def _decisions(client: EventBusClient, end: int) -> list[dict[str, Any]]:
    """The newest first."""
    found = []
    async for event in client.replay([DECISIONS], max(0, end - LOOKED_AT)):
        answer: Any = unpacked(event)
        found.append(
            {
                "time": event.timestamp_ns / 1e9,
                "game": answer.policy.game,
                "policy": answer.policy.name,
                "move": answer.selected_action.words or answer.selected_action.label,
                "confidence": answer.confidence,
                "milliseconds": answer.timing.total_ms,
                "refusal": answer.refusal.message if answer.HasField("refusal") else "",
            }
        )
    return found[: -MOST_SHOWN - 1 : -1]


MOST_EDGES = 400
FRESH = 60.0  # seconds after which it is read again


class Known:
    """A graph that is read when it is first asked for: the user's file where it claims anything, with what ships now;
    else what ships alone."""

    def __init__(self) -> None:
        self._graph: Graph | None = None
        self._read_at = 0.0

    def graph(self) -> Graph:
        if self._graph is None or time.monotonic() - self._read_at > FRESH:
            own = _users_graph()
            self._graph = own if own is not None and own.edges else _shipped(graph_game())
            self._read_at = time.monotonic()
        return self._graph

    def document(self, text: str, channel: str, evidence: str, around: str) -> dict[str, Any]:
        """Claims by strength; `text` is in a name, `around` is a key at one of their ends."""
        graph = self.graph()
        nodes = {node.key: node for node in graph.nodes}
        wanted = text.lower()

        def fits(edge: Edge) -> bool:
            names = f"{nodes[edge.a].name} {nodes[edge.b].name}".lower()
            return (
                channel in ("", edge.channel)
                and evidence in ("", edge.evidence)
                and (not around or around in (edge.a, edge.b))
                and wanted in names
            )

        found = sorted(filter(fits, graph.edges), key=lambda edge: -abs(edge.strength))
        shown = found[:MOST_EDGES]
        ends = {key for edge in shown for key in (edge.a, edge.b)}
        return {
            "game": graph.game,
            "total": len(graph.edges),
            "found": len(found),
            "channels": sorted({edge.channel for edge in graph.edges if edge.channel}),
            "evidences": sorted({edge.evidence for edge in graph.edges}),
            "edges": [_edge(edge) for edge in shown],
            "nodes": {key: _node(nodes[key]) for key in ends},
            "effects": _effects(nodes[around]) if around in nodes else _best_effects(graph),
        }


@cache
def _shipped(game: str) -> Graph:
    """Tens of thousands of claims, which take seconds to read and do not change while the page runs."""
    return first_graph(game)


def _users_graph() -> Graph | None:
    """The graph the user built here, if there is one; looking must not make one."""
    try:
        store = open_store(graph_address(None, graph_game()), graph_game())
        try:
            return read_with_newer(store, graph_game()) if store.exists() else None
        finally:
            store.close()
    except JimbotError:
        return None


def _edge(edge: Edge) -> dict[str, Any]:
    shown = ("type", "a", "b", "strength", "low", "high", "channel", "evidence", "samples", "order", "command")
    return {name: getattr(edge, name) for name in shown} | {"others": list(edge.others)}


def _effects(node: Any) -> list[dict[str, Any]]:
    """What trials say of one thing: under all options and each, at any milestone and at each."""
    return [vars(effect) for effect in effects_of([node])]


def _best_effects(graph: Graph) -> list[dict[str, Any]]:
    """Of everything that was tried, at any milestone under all options, best first."""
    found = [effect for effect in effects_of(graph.nodes) if effect.at == EVERY]
    chosen = [effect for effect in found if not effect.options] or found
    names = {node.key: node.name for node in graph.nodes}
    ranked = sorted(chosen, key=lambda effect: -effect.wins)
    return [{**vars(effect), "name": names[effect.part]} for effect in ranked]


def _node(node: Any) -> dict[str, str]:
    return {"name": node.name, "label": node.label, "words": node.words}


def routes(page: Page) -> APIRouter:
    router = APIRouter()

    @router.get("/services")
    async def services() -> dict[str, Any]:
        return await page.services.document()

    @router.get("/knowledge")
    def knowledge(text: str = "", channel: str = "", evidence: str = "", around: str = "") -> dict[str, Any]:
        return page.known.document(text, channel, evidence, around)

    return router
