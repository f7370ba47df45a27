"""The door: a WebSocket at / and /events, and the same by `POST /api/v1/events` and `/api/v1/events/batch`.

Every message is answered with an acknowledgement. Pages in a browser are refused: any page may open a WebSocket to
this machine, so a connection that names an origin elsewhere is not a mod.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from jimbot.errors import MissingExtraError
from jimbot.services.access import is_loopback
from jimbot.services.events_in.events import LARGEST_MESSAGE
from jimbot.services.events_in.intake import Acknowledgement, Intake

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route, WebSocketRoute
    from starlette.websockets import WebSocket, WebSocketDisconnect
except ModuleNotFoundError as problem:
    raise MissingExtraError("The door for events", "events") from problem

PING_SECONDS, PONG_SECONDS = 30.0, 10.0
RETRY_SECONDS = "1"


def event_app(intake: Intake) -> Starlette:
    """Everything that is answered."""

    async def socket(connection: WebSocket) -> None:
        if not _from_here(connection.headers.get("origin")):
            await connection.close(1008, "Only programs of this machine may push events.")
            return
        await connection.accept()
        try:
            while True:
                message = await connection.receive()
                if message["type"] == "websocket.disconnect":
                    return
                await connection.send_json(intake.take(message.get("text") or message.get("bytes") or b"").to_dict())
        except WebSocketDisconnect:  # gone before its acknowledgement; what it sent was taken
            return

    async def post(request: Request) -> JSONResponse:
        if not _from_here(request.headers.get("origin")):
            return _refusal(403, "Only programs of this machine may push events.")
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_MESSAGE:
                return _refusal(413, f"The body is larger than {LARGEST_MESSAGE:,} bytes; send fewer events at once.")
        return _answer(intake.take(bytes(body)))

    async def health(request: Request) -> JSONResponse:
        return JSONResponse(intake.figures())

    return Starlette(
        routes=[
            WebSocketRoute("/", socket),
            WebSocketRoute("/events", socket),
            Route("/api/v1/events", post, methods=["POST"]),
            Route("/api/v1/events/batch", post, methods=["POST"]),
            Route("/health", health),
        ]
    )


def event_server(intake: Intake, host: str, port: int) -> uvicorn.Server:
    """The server, ready to `run`; it ends in order on SIGTERM and Ctrl+C."""
    settings: dict[str, Any] = {
        "ws": "websockets-sansio", "ws_max_size": LARGEST_MESSAGE, "ws_ping_interval": PING_SECONDS,
        "ws_ping_timeout": PONG_SECONDS, "log_level": "warning", "timeout_graceful_shutdown": 3,
    }  # fmt: skip
    return uvicorn.Server(uvicorn.Config(event_app(intake), host=host, port=port, **settings))


def _answer(done: Acknowledgement) -> JSONResponse:
    """200 where something was taken or nothing was sent; mods count any 2xx as success, so loss must not be one."""
    if done.dropped:
        return JSONResponse(done.to_dict(), 503, {"Retry-After": RETRY_SECONDS})
    return JSONResponse(done.to_dict(), 400 if done.refused and not done.accepted else 200)


def _refusal(status: int, sentence: str) -> JSONResponse:
    return JSONResponse(Acknowledgement(0, 0, {0: sentence}).to_dict(), status)


def _from_here(origin: str | None) -> bool:
    return origin is None or is_loopback(urlsplit(origin).hostname or "")
