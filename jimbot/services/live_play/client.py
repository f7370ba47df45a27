"""One call of JSON-RPC over HTTP, with a deadline for the whole of it.

The servers this is for answer one request per connection, may never answer, may answer with the id of another request,
and may be something else altogether; each of these is an error of its own.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import socket
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from jimbot.errors import JimbotError, UsageError

LARGEST_ANSWER = 4 * 2**20
TOKEN_VARIABLE = "JIMBOT_LIVE_TOKEN"
_LARGEST_HEAD = 2**16
_CHUNK = 2**16
_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d{1,12})\s*\r\n", re.IGNORECASE)


class LiveError(JimbotError):
    """A game that runs elsewhere cannot be played on."""


class AwayError(LiveError):
    """Nobody listens at the address."""


class UnansweredError(LiveError):
    """A call was sent and not answered, or not with an answer of its own: it may have happened, or not."""


class RefusedError(LiveError):
    """The game said no."""

    def __init__(self, method: str, name: str, message: str) -> None:
        super().__init__(f"The game refused '{method}': {message} ({name})")
        self.name, self.message = name, message


class Exchange(NamedTuple):
    """One call as it went over the wire."""

    request: dict[str, Any]
    response: Any
    """The whole answer; None where there was none."""
    seconds: float


class LiveClient:
    """Calls one server, one call at a time. The token, where one is asked for, is in JIMBOT_LIVE_TOKEN."""

    def __init__(self, address: str, deadline: float = 30.0) -> None:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        try:
            port = parts.port or 80
        except ValueError:
            port = 0
        if parts.scheme != "http" or not parts.hostname or not port or parts.path not in ("", "/"):
            raise UsageError(f"'{address}' is no address of a game; expected one like http://127.0.0.1:12346.")
        self.address = f"http://{parts.hostname}:{port}"
        self._place = (parts.hostname, port)
        self.deadline = deadline
        self.last: Exchange | None = None
        self._ids = itertools.count(1)
        token = os.environ.get(TOKEN_VARIABLE, "")
        if not token.isprintable():
            raise UsageError(f"{TOKEN_VARIABLE} holds characters that no token has; give one line of the token file.")
        self._authorization = f"Authorization: Bearer {token}\r\n" if token else ""

    def call(self, method: str, params: Mapping[str, Any] | None = None, deadline: float | None = None) -> Any:
        """The result of a call."""
        request = {"jsonrpc": "2.0", "method": method, "params": dict(params or {}), "id": next(self._ids)}
        self.last = Exchange(request, None, 0.0)
        began = time.monotonic()
        answer = None
        try:
            body = self._exchange(json.dumps(request).encode(), began + (deadline or self.deadline), method)
            answer = self._read(body, method)
            return self._result(answer, request)
        finally:
            self.last = Exchange(request, answer, time.monotonic() - began)

    def _result(self, answer: Mapping[str, Any], request: Mapping[str, Any]) -> Any:
        method = str(request["method"])
        refused_unread = "error" in answer and "id" not in answer  # at the door: nobody looked whose call it was
        if answer.get("id") != request["id"] and not refused_unread:
            raise UnansweredError(f"The answer to '{method}' carries the id {answer.get('id')!r} of another call.")
        error = answer.get("error")
        if error is not None:
            about = error if isinstance(error, Mapping) else {}
            data = about.get("data")
            name = data.get("name") if isinstance(data, Mapping) else None
            raise RefusedError(method, str(name or about.get("code")), str(about.get("message"))[:500])
        if "result" not in answer:
            raise self._foreign(f"its answer to '{method}' has neither a result nor an error")
        return answer["result"]

    def _read(self, body: bytes, method: str) -> Mapping[str, Any]:
        try:
            answer = json.loads(body, parse_constant=_no_number)
        except (ValueError, RecursionError) as problem:
            raise UnansweredError(f"The answer to '{method}' cannot be read: {problem}.") from problem
        if not isinstance(answer, Mapping) or answer.get("jsonrpc") != "2.0":
            raise self._foreign(f"its answer to '{method}' is no JSON-RPC 2.0")
        return answer

    def _foreign(self, what: str) -> LiveError:
        return LiveError(f"What listens at {self.address} is not the game's mod: {what}. Check the address and port.")

    # --- the wire ---

    def _exchange(self, body: bytes, ends: float, method: str) -> bytes:
        host, port = self._place
        head = (
            f"POST / HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n{self._authorization}\r\n"
        )
        try:
            connection = socket.create_connection(self._place, timeout=_left(ends))
        except TimeoutError as problem:
            raise UnansweredError(f"'{method}' was not taken in time.") from problem
        except OSError as problem:
            raise AwayError(f"Nobody answers at {self.address} ({problem.strerror or problem}).") from problem
        with connection:
            try:
                connection.sendall(head.encode() + body)
                return self._receive(connection, ends, method)
            except TimeoutError as problem:
                raise UnansweredError(f"'{method}' was not answered in time.") from problem
            except OSError as problem:
                raise UnansweredError(f"The connection broke during '{method}': {problem.strerror}.") from problem

    def _receive(self, connection: socket.socket, ends: float, method: str) -> bytes:
        """The body of the answer, by its length; a connection that ends before it is broken."""
        data, needed = bytearray(), None
        while needed is None or len(data) < needed:
            connection.settimeout(_left(ends))
            part = connection.recv(_CHUNK)
            if not part:
                raise UnansweredError(f"The connection ended in the middle of the answer to '{method}'.")
            data += part
            if needed is None:
                needed = self._needed(data, method)
        return bytes(data[data.index(b"\r\n\r\n") + 4 : needed])

    def _needed(self, data: bytearray, method: str) -> int | None:
        """Bytes of the whole answer, once its head is there."""
        end = data.find(b"\r\n\r\n")
        if not data.startswith(b"HTTP/"[: len(data)]) or (end < 0 and len(data) > _LARGEST_HEAD):
            raise self._foreign(f"its answer to '{method}' is no HTTP")
        if end < 0:
            return None
        length = _LENGTH.search(data, 0, end + 2)
        if length is None:
            raise self._foreign(f"its answer to '{method}' does not say how long it is")
        if int(length[1]) > LARGEST_ANSWER:
            raise self._foreign(f"its answer to '{method}' has {int(length[1]):,} bytes, more than any state")
        return end + 4 + int(length[1])


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number that JSON knows")


def _left(ends: float) -> float:
    """Seconds until then; a TimeoutError when there are none."""
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
