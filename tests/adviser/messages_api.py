"""A server that plays the Messages API: real HTTP on loopback, answers as a test writes them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

USAGE = {"input_tokens": 700, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 300, "output_tokens": 50}


class Reply(NamedTuple):
    """What the server sends back."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = {}  # noqa: RUF012 - a value
    seconds: float = 0.0
    raw: bytes | None = None


def message(content: list[Any], stop_reason: str = "tool_use", usage: Any = USAGE) -> dict[str, Any]:
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-5-5", "content": content,
            "stop_reason": stop_reason, "stop_sequence": None, "usage": usage}  # fmt: skip


def call(action: Any, reason: str = "It wins.", name: str = "choose_move", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": {"action": action, "reason": reason, **more}}


def chosen(action: Any, **more: Any) -> Reply:
    return Reply(body=message([call(action, **more)]))


def error(status: int, kind: str, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"type": "error", "error": {"type": kind, "message": kind}}, named)


class MessagesApi:
    """`replies` are given in order, the last one again and again; a function sees the request's table first."""

    def __init__(self, replies: Iterable[Reply | Callable[[dict[str, Any]], Reply]]) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.address = ""
        self._lock = threading.Lock()

    def answer(self, request: dict[str, Any], headers: dict[str, str]) -> Reply:
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
            self.headers.append(headers)
        reply = self.replies[min(number, len(self.replies) - 1)]
        return reply if isinstance(reply, Reply) else reply(table_of(request))


def table_of(request: dict[str, Any]) -> dict[str, Any]:
    """The document a request holds."""
    text = request["messages"][0]["content"]
    return json.loads(text[text.index("<table>") + len("<table>") : text.index("</table>")])


def first_listed(table: dict[str, Any]) -> Reply:
    return chosen(table["legal_moves"][0]["action"])


def last_listed(table: dict[str, Any]) -> Reply:
    return chosen(table["legal_moves"][-1]["action"])


@contextmanager
def playing_the_api(*replies: Reply | Callable[[dict[str, Any]], Reply]) -> Generator[MessagesApi]:
    api = MessagesApi(replies)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            reply = api.answer(body, {name.lower(): value for name, value in self.headers.items()})
            time.sleep(reply.seconds)
            sent = reply.raw if reply.raw is not None else json.dumps(reply.body).encode()
            try:
                self.send_response(reply.status)
                for name, value in {"content-type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)
            except OSError:
                pass  # the client has given up, as it should

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    api.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
