"""The door of the knowledge graph: `POST /graphql` for programs, `GET /graphql` for its schema, `GET /health`.

Who may come in is the guard's business (`jimbot.doors`); more requests at once than there are threads for are refused.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from jimbot.doors.access import LOOK, Bearers, Tokens
from jimbot.doors.guard import Door, Limits
from jimbot.doors.listening import guarded_server
from jimbot.errors import JimbotError, KnowledgeError, UnreadableError
from jimbot.knowledge import KnowledgeGraphClient
from jimbot.reading.plain import json_value

LARGEST_BODY = 2**16
AT_ONCE = 8
_log = logging.getLogger("jimbot.services.graph")


def graph_app(client: KnowledgeGraphClient) -> Starlette:
    """Everything that is answered."""
    from jimbot.knowledge.graphql_schema import answer, schema_text

    free = asyncio.Semaphore(AT_ONCE)

    async def ask(request: Request) -> Response:
        try:
            query, variables = _read(await request.body())
        except KnowledgeError as problem:
            return _error(400, str(problem))
        if free.locked():
            return _error(503, f"{AT_ONCE} queries are being answered; try again.", {"Retry-After": "1"})
        async with free:
            try:
                return JSONResponse(await asyncio.to_thread(answer, client, query, variables))
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
    return guarded_server(graph_app(client), door, host, port)


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
