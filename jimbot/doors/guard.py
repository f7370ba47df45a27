"""What every HTTP request is checked for before anything answers it, whichever server it came to.

A web page in any browser here can send requests to this machine, so being on this machine is not enough: the name
asked for must be one of this machine's own (unless a token is shown), a page elsewhere is turned away, and whatever
changes something must say that it is JSON, which no page can say without asking first. Bodies are read here, up to a
bound and within a time, only after all of that; what is behind the guard never sees a request that is none.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from jimbot.doors.access import CHANGE, LOOK, Bearers, is_loopback
from jimbot.errors import UnreadableError
from jimbot.reading.plain import json_value

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOKING = ("GET", "HEAD")
CONNECTION = "jimbot.connection"
"""In a request's `state`: the connection it came over, which can be cut."""
JUDGED = (
    b"host",
    b"origin",
    b"content-type",
    b"content-length",
    b"authorization",
    b"sec-fetch-site",
    b"sec-fetch-mode",
)
"""What decides over a request, so none may be said twice: who reads the other one would judge another request."""
DEEPEST = 32  # lists and objects of a body inside each other
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
_TO_PAGES = "Pages from elsewhere may not ask; use a program of this machine."
_log = logging.getLogger("jimbot.doors")


@dataclass(frozen=True)
class Limits:
    """What one server gives its clients, altogether and each."""

    connections: int = 128
    """At once; those that have not asked for anything go first when another comes."""
    head_seconds: float = 10.0
    """For a whole head, from the first moment on."""
    body_seconds: float = 20.0
    """For a whole body."""
    send_seconds: float = 30.0
    """For a part of an answer to be taken."""
    keep_alive_seconds: int = 5
    head_bytes: int = 16_384
    linger_bytes: int = 4 * 2**20
    """That a refused client may still send before it is cut off, so that it can read its answer."""
    linger_seconds: float = 2.0


def json_refusal(scope: Mapping[str, Any], status: int, sentence: str) -> tuple[int, bytes]:
    """The usual answer to a request that is refused: (status, body)."""
    return status, json.dumps({"error": sentence}).encode()


@dataclass(frozen=True)
class Door:
    """What one server lets in, and how it says no."""

    access: Bearers | None = None
    """None: only this machine, under its own names."""
    methods: tuple[str, ...] = ("GET", "HEAD", "POST")
    largest_body: int = 2**16
    largest_open_body: int = 2**12
    """Of a request that shows no token, where one is needed for all but a few addresses."""
    untyped: bool = False
    """Whether a POST may leave out its content type, as programs do and no form of a page can."""
    reads_json: bool = True
    """Whether every body must be JSON; otherwise what is behind the guard checks it."""
    is_open: Callable[[str], bool] = lambda path: False
    """(path) → whether it tells nothing, and needs no token."""
    changing: str = CHANGE
    """What a token must be good for to POST."""
    refusal: Callable[[Mapping[str, Any], int, str], tuple[int, bytes]] = json_refusal
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of every answer, where it does not say otherwise."""
    closes: bool = False
    """Whether every answer ends its connection."""
    limits: Limits = Limits()


class RefusedError(Exception):
    """A request that is not let in."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Guard:
    """Stands before everything that a server answers."""

    def __init__(self, app: Any, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._request(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = _Answer(self.door, scope, send)
        try:
            headers = _headers(scope)
            self._check(scope, headers)
            self._check_change(scope, headers)
            body = await self._body(scope, headers, receive)
        except RefusedError as refusal:
            await answer.refuse(refusal.status, str(refusal), unread=True)
            return
        except ConnectionError:
            return
        try:
            await self.app(scope, _again(body, receive), answer.send)
            await answer.flush()
        except Exception:  # a bug of ours: written to the log, not to the client; the server lives
            _log.exception("%s %s could not be answered.", scope["method"], scope["path"])
            if answer.begun:
                cut(scope)
            else:
                await answer.refuse(500, "This could not be answered; the server's log says why.")

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            headers = _headers(scope)
            self._check(scope, headers)
            self._check_token(scope["path"], headers, self.door.changing)
        except RefusedError as refusal:
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": str(refusal)[:100]})
            return
        try:
            await self.app(scope, receive, send)
        except Exception:
            _log.exception("A WebSocket at %s could not be served.", scope["path"])

    # --- checks, cheapest first; none of them reads a body ---

    def _check(self, scope: Scope, headers: Mapping[str, str]) -> None:
        _check_head(scope, self.door.limits.head_bytes)
        _check_text("path", scope.get("raw_path") or scope["path"].encode(errors="replace"))
        _check_text("query", scope.get("query_string", b""))
        host = headers.get("host", "")
        name = host_name(host)
        if not name:
            raise RefusedError(400, f"The Host of the request, '{host[:80]}', is no name.")
        if self.door.access is None and not is_loopback(name):
            raise RefusedError(
                403, f"This is for this machine only; '{host[:80]}' is not one of its names. Use 127.0.0.1."
            )
        _check_origin(scope, headers, host)

    def _check_change(self, scope: Scope, headers: Mapping[str, str]) -> None:
        method = scope["method"]
        if method not in self.door.methods:
            raise RefusedError(405, f"{method[:20]} is not understood here; use {', '.join(self.door.methods)}.")
        if method == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json" and (kind or not self.door.untyped):
                raise RefusedError(415, "The body must be JSON (content-type application/json).")
        self._check_token(scope["path"], headers, LOOK if method in LOOKING else self.door.changing)
        _check_length(headers, self._most(scope))

    def _check_token(self, path: str, headers: Mapping[str, str], scope: str) -> None:
        access = self.door.access
        if access is None or self.door.is_open(path) or access.allows(headers, scope):
            return
        if access.allows(headers, LOOK):
            raise RefusedError(403, "This token is good for looking only.")
        raise RefusedError(401, "The token is missing or not good; send Authorization: Bearer TOKEN.")

    # --- reading ---

    def _most(self, scope: Scope) -> int:
        unknown = self.door.access is not None and self.door.is_open(scope["path"])
        return self.door.largest_open_body if unknown else self.door.largest_body

    async def _body(self, scope: Scope, headers: Mapping[str, str], receive: Receive) -> bytes:
        body, most = bytearray(), self._most(scope)
        try:
            async with asyncio.timeout(self.door.limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ConnectionError
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise _too_large(most)
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise RefusedError(408, "The body took too long to arrive.") from None
        if body and self.door.reads_json and scope["method"] == "POST":
            try:
                json_value(bytes(body), deepest=DEEPEST)
            except UnreadableError as problem:
                raise RefusedError(400, f"The body is not JSON that can be read: {problem}.") from None
        return bytes(body)


class _Answer:
    """The way back: adds headers, and gives up clients that do not take what they asked for."""

    def __init__(self, door: Door, scope: Scope, send: Send) -> None:
        self._door, self._scope, self._send = door, scope, send
        self.begun = False
        self._lingers = False
        self._held: list[Message] = []

    async def send(self, message: Message) -> None:
        """A failure is held back until those behind the guard are done: where they raised, ours is the better word."""
        if self._held or (message["type"] == "http.response.start" and message["status"] == 500):
            self._held.append(message)
        else:
            await self._pass_on(message)

    async def flush(self) -> None:
        for message in self._held:
            await self._pass_on(message)

    async def _pass_on(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            message = {**message, "headers": self._headers(message.get("headers", []))}
        try:
            async with asyncio.timeout(self._door.limits.send_seconds):
                await self._send(message)
        except TimeoutError:
            cut(self._scope)

    async def refuse(self, status: int, sentence: str, unread: bool = False) -> None:
        """`unread`: a body may be on its way; the connection stays until it came, or too much of it."""
        self._lingers = unread and _has_body(self._scope)
        status, body = self._door.refusal(self._scope, status, sentence)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self._pass_on({"type": "http.response.start", "status": status, "headers": headers})
        await self._pass_on({"type": "http.response.body", "body": body})

    def _headers(self, given: Any) -> list[tuple[bytes, bytes]]:
        added = {**HEADERS, **self._door.headers}
        if self._door.closes and not self._lingers:
            added["connection"] = "close"
        there = {bytes(name).lower() for name, _ in given}
        more = [(name.encode(), value.encode()) for name, value in added.items() if name.encode() not in there]
        return [*given, *more]


def cut(scope: Mapping[str, Any]) -> None:
    """Ends the connection of a request, without another word."""
    connection = scope.get("state", {}).get(CONNECTION)
    if connection is not None:
        connection.cut()


def host_name(header: str) -> str:
    """The name in a Host header, without its port; empty where it is none."""
    if not header.isascii() or any(sign in header for sign in "/@?#\\, "):
        return ""
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port
        return parts.hostname or ""
    except ValueError:  # half a bracket, a port that is no number
        return ""


def _check_head(scope: Scope, most: int) -> None:
    """A head within its bound (of one that comes all at once nobody else counts the bytes) that says one thing."""
    names = [name for name, _ in scope["headers"]]
    address = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
    if address + sum(len(name) + len(value) + 4 for name, value in scope["headers"]) > most:
        raise RefusedError(431, f"The head is larger than {most:,} bytes.")
    if any(names.count(name) > 1 for name in JUDGED):
        raise RefusedError(400, "The head says the same thing twice.")
    if b"transfer-encoding" in names and b"content-length" in names:
        raise RefusedError(400, "The head gives a length and comes in chunks; one of them is wrong.")


def _check_origin(scope: Scope, headers: Mapping[str, str], host: str) -> None:
    """A browser says where a request comes from; a program says nothing, or the very address it asks."""
    origin = headers.get("origin")
    if origin is not None and not _same(origin, host):
        raise RefusedError(403, _TO_PAGES)
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        follows_link = headers.get("sec-fetch-mode") == "navigate" and scope.get("method") in LOOKING
        if not follows_link:
            raise RefusedError(403, _TO_PAGES)


def _same(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc == host
    except ValueError:
        return False


def _check_text(what: str, raw: bytes) -> None:
    """An address that is no text, or that no file and no log could hold."""
    try:
        text = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        raise RefusedError(400, f"The {what} of the address is not UTF-8 text.") from None
    if "\0" in text:
        raise RefusedError(400, f"The {what} of the address holds a NUL.")


def _check_length(headers: Mapping[str, str], most: int) -> None:
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise RefusedError(400, "The Content-Length is no number.")
    if len(length) > 18 or int(length) > most:
        raise _too_large(most)


def _too_large(most: int) -> RefusedError:
    return RefusedError(413, f"The body is larger than {most:,} bytes.")


def _has_body(scope: Scope) -> bool:
    headers = _headers(scope)
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _again(body: bytes, receive: Receive) -> Receive:
    """`receive` for those behind the guard: the body as a whole, then whatever else comes (the client leaves)."""
    given = False

    async def received() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return received
