"""The door of the knowledge graph: `POST /graphql` for programs, `GET /graphql` for its schema, `GET /health`.

Who may come in is the guard's business (`jimbot.doors`); more requests at once than there are threads for are refused.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from jimbot.background import LoopThread
from jimbot.clients.event_bus import EventBusClient, enveloped
from jimbot.doors.access import CHANGE, LOOK, Bearers, Tokens
from jimbot.doors.guard import Door, Limits
from jimbot.doors.listening import guarded_server
from jimbot.errors import JimbotError, KnowledgeError, UnreadableError, UsageError
from jimbot.knowledge import KnowledgeGraphClient
from jimbot.knowledge.records import Edge, Strategy
from jimbot.knowledge.updates import update_of
from jimbot.proto.events_pb2 import Event, KnowledgeUpdate
from jimbot.reading.plain import json_value

LARGEST_BODY = 2**16
AT_ONCE = 8
TOPIC = "knowledge.update"
WAIT_SECONDS = 10.0
_log = logging.getLogger("jimbot.services.graph")


def graph_app(client: KnowledgeGraphClient, access: Bearers | None = None) -> Starlette:
    """Everything that is answered. Only who shows a token of `access` may change the graph."""
    from jimbot.knowledge.graphql_schema import answer, schema_text

    free = asyncio.Semaphore(AT_ONCE)

    async def ask(request: Request) -> Response:
        try:
            query, variables = _read(await request.body())
        except KnowledgeError as problem:
            return _error(400, str(problem))
        if free.locked():
            return _error(503, f"{AT_ONCE} queries are being answered; try again.", {"Retry-After": "1"})
        may_write = access is not None and access.allows(request.headers, CHANGE)
        async with free:
            try:
                return JSONResponse(await asyncio.to_thread(answer, client, query, variables, may_write))
            except JimbotError as problem:
                return _error(503, str(problem))
            except Exception:  # one strange query must not end the server; the log has the rest
                _log.exception("A query failed.")
                return _error(500, "The graph could not answer; see the server's log.")

    async def show_schema(request: Request) -> Response:
        return PlainTextResponse(schema_text())

    async def health(request: Request) -> Response:
        try:
            await asyncio.to_thread(client.ask, "MATCH (j:Joker) RETURN count(j)")
        except JimbotError as problem:
            return _error(503, str(problem))
        return JSONResponse({"game": client.game, "status": "ready"})

    return Starlette(
        routes=[
            Route("/graphql", ask, methods=["POST"]),
            Route("/graphql", show_schema, methods=["GET"]),
            Route("/health", health, methods=["GET"]),
        ]
    )


def graph_server(
    client: KnowledgeGraphClient,
    host: str,
    port: int,
    token_file: Path | None = None,
    limits: Limits = Limits(connections=64),
) -> uvicorn.Server:
    """The server, ready to `run`; it ends in order on SIGTERM and Ctrl+C."""
    access = Bearers(Tokens(token_file)) if token_file is not None else None
    door = Door(
        access, largest_body=LARGEST_BODY, changing=LOOK, is_open=lambda path: path == "/health", refusal=_refusal,
        limits=limits,
    )  # fmt: skip
    return guarded_server(graph_app(client, access), door, host, port)


class UpdateStore:
    """Keeps what is told on a bus (`knowledge.update`) until closed, in a thread of its own."""

    def __init__(self, client: KnowledgeGraphClient, bus: str) -> None:
        self._client, self._bus = client, EventBusClient(bus)
        self._loop = LoopThread("jimbot-knowledge-updates")
        self.kept = self.refused = 0
        self._loop.submit(self._bus.subscribe([TOPIC], self.take, durable=f"graph-{client.game}")).result(WAIT_SECONDS)

    async def take(self, event: Event) -> None:
        """One update. What is no update is said once and is not tried again; what could not be written is."""
        update = KnowledgeUpdate()
        if not event.payload.Unpack(update) or update.game != self._client.game:
            return
        try:
            found = await asyncio.to_thread(self._client.read, update)
        except UsageError as problem:  # unknown names, numbers that are none
            self.refused += 1
            _log.warning("An update of the bus was not kept: %s", problem)
            return
        await asyncio.to_thread(self._client.keep, found)  # while another process writes, the bus tries again
        self.kept += 1
        _log.info("Kept from the bus: %s (%s)", getattr(found, "name", found), update.learned_from)

    def close(self) -> None:
        self._loop.submit(self._bus.close()).result(WAIT_SECONDS)
        self._loop.close()


def tell(bus: str, game: str, found: Iterable[Strategy | Edge], learned_from: str) -> int:
    """Publishes what was discovered; how much of it is safe on the bus when this returns."""

    async def publish() -> int:
        async with EventBusClient(bus) as client:
            told = 0
            for one in found:
                update = update_of(game, one, learned_from)
                await client.publish(enveloped(update))
                told += 1
            return told

    return asyncio.run(publish())


def _read(body: bytes) -> tuple[str, dict[str, Any]]:
    try:
        said = json_value(body)
    except UnreadableError as problem:
        raise KnowledgeError(f'The body is no JSON ({problem}); expected {{"query": "…"}}.') from problem
    query = said.get("query") if isinstance(said, dict) else None
    variables = said.get("variables") or {} if isinstance(said, dict) else {}
    if not isinstance(query, str) or not query or not isinstance(variables, dict):
        raise KnowledgeError('The body is no query; expected {"query": "…", "variables": {…}}.')
    return query, variables


def _error(status: int, sentence: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"data": None, "errors": [{"message": sentence}]}, status, headers)


def _refusal(scope: Mapping[str, Any], status: int, sentence: str) -> tuple[int, bytes]:
    return status, json.dumps({"data": None, "errors": [{"message": sentence}]}).encode()
