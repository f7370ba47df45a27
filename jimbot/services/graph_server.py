"""The door of the knowledge graph: `POST /graphql` for programs, `GET /graphql` for its schema, `GET /health`.

Pages of a browser elsewhere are refused, as are bodies larger than any honest query, and more requests at once than
there are threads for.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jimbot.errors import JimbotError, KnowledgeError, MissingExtraError, UnreadableError
from jimbot.knowledge import KnowledgeGraphClient
from jimbot.reading.plain import json_value
from jimbot.services.access import LOOK, Tokens, check_exposure, is_loopback

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route
except ModuleNotFoundError as problem:
    raise MissingExtraError("The door of the graph", "graph") from problem

LARGEST_BODY = 2**16
AT_ONCE = 8
_log = logging.getLogger("jimbot.services.graph")


def graph_app(client: KnowledgeGraphClient, tokens: Tokens | None = None) -> Starlette:
    """Everything that is answered."""
    from jimbot.knowledge.graphql_schema import answer, schema_text

    free = asyncio.Semaphore(AT_ONCE)

    def refusal(request: Request) -> Response | None:
        origin = request.headers.get("origin")
        if origin is not None and not is_loopback(urlsplit(origin).hostname or ""):
            return _error(403, "Pages from elsewhere may not ask; use a program of this machine.")
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if tokens is not None and not tokens.allows(given, LOOK):
            return _error(401, "The token is missing or not good; send Authorization: Bearer TOKEN.")
        return None

    async def ask(request: Request) -> Response:
        if (refused := refusal(request)) is not None:
            return refused
        try:
            query, variables = _read(await _body(request))
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
        return refusal(request) or PlainTextResponse(schema_text())

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


def graph_server(client: KnowledgeGraphClient, host: str, port: int, token_file: Path | None = None) -> uvicorn.Server:
    """The server, ready to `run`; it ends in order on SIGTERM and Ctrl+C."""
    check_exposure(host, token_file is not None, False)
    app = graph_app(client, Tokens(token_file) if token_file else None)
    settings: dict[str, Any] = {"log_level": "warning", "timeout_graceful_shutdown": 3, "limit_concurrency": 64}
    return uvicorn.Server(uvicorn.Config(app, host=host, port=port, **settings))


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise KnowledgeError(f"The body is larger than {LARGEST_BODY:,} bytes.")
    return bytes(body)


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
