"""The door: a WebSocket at / and /events, and the same by `POST /api/v1/events` and `/api/v1/events/batch`.

Every message is answered with an acknowledgement. Who may come in is the guard's business (`jimbot.doors`): any page in
a browser may open a WebSocket to this machine, and none of them is a mod.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from jimbot.doors.access import Bearers, Tokens
from jimbot.doors.guard import Door, Limits
from jimbot.doors.listening import guarded_server
from jimbot.services.events_in.events import LARGEST_MESSAGE
from jimbot.services.events_in.ingest import Acknowledgement, Ingest

PING_SECONDS, PONG_SECONDS = 30.0, 10.0
RETRY_SECONDS = "1"


def event_app(ingest: Ingest) -> Starlette:
    """Everything that is answered."""

    async def socket(connection: WebSocket) -> None:
        await connection.accept()
        try:
            while True:
                message = await connection.receive()
                if message["type"] == "websocket.disconnect":
                    return
                await connection.send_json(ingest.take(message.get("text") or message.get("bytes") or b"").to_dict())
        except WebSocketDisconnect:  # gone before its acknowledgement; what it sent was taken
            return

    async def post(request: Request) -> JSONResponse:
        return _answer(ingest.take(await request.body()))

    async def health(request: Request) -> JSONResponse:
        return JSONResponse(ingest.figures())

    return Starlette(
        routes=[
            WebSocketRoute("/", socket),
            WebSocketRoute("/events", socket),
            Route("/api/v1/events", post, methods=["POST"]),
            Route("/api/v1/events/batch", post, methods=["POST"]),
            Route("/health", health),
        ]
    )


def event_server(
    ingest: Ingest, host: str, port: int, token_file: Path | None = None, limits: Limits = Limits()
) -> uvicorn.Server:
    """The server, ready to `run`; it ends in order on SIGTERM and Ctrl+C."""
    access = Bearers(Tokens(token_file)) if token_file is not None else None
    door = Door(
        access, largest_body=LARGEST_MESSAGE, untyped=True, reads_json=False, refusal=_refusal, limits=limits
    )  # fmt: skip
    return guarded_server(
        event_app(ingest), door, host, port, ws="websockets-sansio", ws_max_size=LARGEST_MESSAGE,
        ws_ping_interval=PING_SECONDS, ws_ping_timeout=PONG_SECONDS,
    )  # fmt: skip


def _answer(done: Acknowledgement) -> JSONResponse:
    """200 where something was taken or nothing was sent; mods count any 2xx as success, so loss must not be one."""
    if done.dropped:
        return JSONResponse(done.to_dict(), 503, {"Retry-After": RETRY_SECONDS})
    return JSONResponse(done.to_dict(), 400 if done.refused and not done.accepted else 200)


def _refusal(scope: Mapping[str, Any], status: int, sentence: str) -> tuple[int, bytes]:
    return status, json.dumps(Acknowledgement(0, 0, {0: sentence}).to_dict()).encode()
