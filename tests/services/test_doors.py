"""Every HTTP door, attacked the same way: real servers on loopback, raw bytes, one guard.

A door is added by a row of `DOORS`; what is asked of one is asked of all.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import psutil
import pytest

pytest.importorskip("mcp")
pytest.importorskip("strawberry")
pytest.importorskip("prometheus_client")

from jimbot.cli import main
from jimbot.doors.access import Tokens
from jimbot.doors.guard import Limits
from jimbot.errors import SettingsError
from jimbot.games.contract import game_entry
from jimbot.knowledge import KnowledgeGraphClient
from jimbot.runs.sinks.prometheus import PrometheusSink, serve_metrics
from jimbot.services.bus.publisher import BackgroundPublisher
from jimbot.services.events_in import Ingest, event_server
from jimbot.services.graph_server import graph_server
from jimbot.services.live_host import FolderFiles, LiveHost
from jimbot.services.mcp.server import http_server
from jimbot.services.mcp.tools import Tools
from jimbot.viewer.http.server import Page, page_server
from tests.knowledge.samples import GAME, sample_file
from tests.viewer.making import make_run

TOKEN = "a-token-of-many-letters"
HASTY = Limits(connections=40, head_seconds=1.0, body_seconds=1.0, linger_seconds=0.5, linger_bytes=2**20)
CALL = {"jsonrpc": "2.0", "id": 1, "method": "health", "params": {}}
EVENT = {"type": "heartbeat", "timestamp": 1, "game_id": "g", "data": {}}
STREAM = {"accept": "application/json, text/event-stream"}


class Question(NamedTuple):
    """A request that a door answers."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = MappingProxyType({})


class Door(NamedTuple):
    port: int
    asked: Question
    break_it: Callable[[pytest.MonkeyPatch], None]
    """Lets the next answer to `asked` raise."""


def _page(folder: Path, tokens: Path | None, stack: ExitStack) -> Door:
    make_run(folder, "one", rows=3)
    page = Page([folder])
    port = _served(page_server(page, "127.0.0.1", 0, Tokens(tokens) if tokens else None, HASTY), stack)
    question = Question("POST", "/api/runs/0/one/words", {"add": ["x"]})
    return Door(port, question, lambda patch: patch.setattr(page.index, "run", _broken))


def _live(folder: Path, tokens: Path | None, stack: ExitStack) -> Door:
    live = game_entry("balatro").live
    assert live is not None
    game = live.host("1.x", True, (), FolderFiles([folder]))
    host = LiveHost([game], token_file=tokens, limits=HASTY).start()
    stack.callback(host.stop)
    return Door(host.ports[0], Question("POST", "/", CALL), lambda patch: patch.setattr(game, "answer", _broken))


def _events(folder: Path, tokens: Path | None, stack: ExitStack) -> Door:
    publisher = BackgroundPublisher(f"embedded:{folder / 'bus.sqlite'}", 100)
    stack.callback(publisher.close)
    ingest = Ingest(publisher)
    port = _served(event_server(ingest, "127.0.0.1", 0, tokens, HASTY), stack)
    return Door(port, Question("POST", "/api/v1/events", EVENT), lambda patch: patch.setattr(ingest, "take", _broken))


def _graph(folder: Path, tokens: Path | None, stack: ExitStack) -> Door:
    client = KnowledgeGraphClient(str(sample_file(folder)), GAME)
    stack.callback(client.close)
    port = _served(graph_server(client, "127.0.0.1", 0, tokens, HASTY), stack)
    question = Question("POST", "/graphql", {"query": "{ jokers(first: 1) { name } }"})
    where = "jimbot.knowledge.graphql_schema.answer"
    return Door(port, question, lambda patch: patch.setattr(f"{where}.__code__", _broken.__code__))


def _mcp(folder: Path, tokens: Path | None, stack: ExitStack) -> Door:
    tools = Tools(folder)
    stack.callback(tools.close)
    server = http_server(tools, "127.0.0.1", 0, tokens, HASTY)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    app: Any = server.config.app
    return Door(
        _served(server, stack),
        Question("POST", "/mcp", call, STREAM),
        lambda patch: patch.setattr(app, "app", _raising),
    )


class _Collector:
    def collect(self) -> Iterator[Any]:
        return iter(())


def _metrics(folder: Path, tokens: Path | None, stack: ExitStack) -> Door:
    collector = _Collector()
    port, stop = serve_metrics(collector, "127.0.0.1", 0, tokens, limits=HASTY)
    stack.callback(stop)
    return Door(port, Question("GET", "/metrics"), lambda patch: patch.setattr(collector, "collect", _broken))


DOORS = {"ui": _page, "host": _live, "events": _events, "graph": _graph, "mcp": _mcp, "metrics": _metrics}


def _broken(*args: Any, **named: Any) -> Any:
    raise RuntimeError("/secret/path")


async def _raising(*args: Any) -> None:
    raise RuntimeError("/secret/path")


def _served(server: Any, stack: ExitStack) -> int:
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        thread.join(20)

    stack.callback(stop)
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    return server.servers[0].sockets[0].getsockname()[1]


@pytest.fixture(scope="module", params=DOORS)
def door(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with ExitStack() as stack:
        yield DOORS[request.param](tmp_path_factory.mktemp(request.param), None, stack)


@pytest.fixture(scope="module", params=DOORS)
def locked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp(f"locked-{request.param}")
    (folder / "tokens").write_text(f"{TOKEN}\n")
    (folder / "work").mkdir()
    with ExitStack() as stack:
        yield DOORS[request.param](folder / "work", folder / "tokens", stack)


def raw(port: int, data: bytes) -> tuple[int, str]:
    """(status, body) of what some bytes are answered with; 0: nothing, the connection ended."""
    with socket.create_connection(("127.0.0.1", port), 20) as client:
        client.sendall(data)
        return _read(client)


def _read(client: socket.socket) -> tuple[int, str]:
    file = client.makefile("rb")
    line = file.readline()
    if not line:
        return 0, ""
    headers = {}
    while (header := file.readline().strip()) and b":" in header:
        name, _, value = header.partition(b":")
        headers[name.lower()] = value.strip()
    size = int(headers[b"content-length"]) if b"content-length" in headers else 0
    return int(line.split()[1]), file.read(size).decode()


def request(door: Door, path: str = "", body: bytes | None = None, **headers: str) -> bytes:
    """The bytes of a question; headers may be other ones, or left out by an empty text."""
    question = door.asked
    if body is None:
        body = b"" if question.body is None else json.dumps(question.body).encode()
    given = {"host": f"127.0.0.1:{door.port}", "connection": "close", **question.headers}
    if question.method == "POST":
        given |= {"content-type": "application/json", "content-length": str(len(body))}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{question.method} {path or question.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in given.items() if value]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def lives(door: Door, **headers: str) -> bool:
    return raw(door.port, request(door, **headers))[0] == 200


def test_an_honest_question_is_answered(door: Door) -> None:
    assert lives(door)
    assert lives(door, host="localhost")
    assert lives(door, host="[::1]:80")
    assert lives(door, origin=f"http://127.0.0.1:{door.port}", sec_fetch_site="same-origin")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example:80"}, 403),
        ({"host": "192.0.2.7"}, 403),
        ({"host": "[::1"}, 400),
        ({"host": "127.0.0.1:port"}, 400),
        ({"host": "a@127.0.0.1"}, 400),
        ({"host": ""}, 400),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
    ],
)
def test_names_that_point_here_and_pages_from_elsewhere_are_turned_away(
    door: Door, headers: dict[str, str], status: int
) -> None:
    found, body = raw(door.port, request(door, **headers))
    assert (found, bool(json.loads(body))) == (status, True)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain;json"]
)
def test_what_a_form_can_send_changes_nothing(door: Door, kind: str) -> None:
    if door.asked.method == "POST":
        assert raw(door.port, request(door, content_type=kind))[0] == 415
    else:
        sent = request(door, content_type=kind).replace(b"GET", b"POST", 1)
        assert raw(door.port, sent)[0] == 405


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PUT", "PATCH", "CONNECT", "BREW"])
def test_other_methods_are_refused(door: Door, method: str) -> None:
    sent = request(door).replace(door.asked.method.encode(), method.encode(), 1)
    assert raw(door.port, sent)[0] == 405


@pytest.mark.parametrize("path", ["{}%00", "{}?run=%00", "{}%ed%a0%80", "{}?text=%ff", "{}?%ed%b0%80=1", "/..%00/x"])
def test_addresses_that_are_no_text_are_refused(door: Door, path: str) -> None:
    assert raw(door.port, request(door, path.format(door.asked.path)))[0] == 400
    assert lives(door)


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ("origin: http://evil.example\r\norigin: http://127.0.0.1:{port}", 400),
        ("content-type: text/plain\r\ncontent-type: application/json", 400),
        ("sec-fetch-site: cross-site\r\nsec-fetch-site: none", 400),
        ("content-length: {length}\r\ntransfer-encoding: chunked", 400),
        (f"a: {'b' * 20_000}", 431),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_head_says_one_thing_and_is_not_too_long(door: Door, more: str, status: int) -> None:
    head, _, body = request(door).partition(b"\r\n\r\n")
    more = more.format(port=door.port, length=len(body))
    assert raw(door.port, head + b"\r\n" + more.encode() + b"\r\n\r\n" + body)[0] == status
    assert lives(door)


NOISE = (
    b"nonsense\r\n\r\n", b"\0" * 100, b"GET / HTTP/9.9\r\nhost: x\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: b\r\n\r\n", b"GET /\xff\xfe HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: \xb2\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 9000,
)  # fmt: skip


@pytest.mark.parametrize("noise", NOISE, ids=range(len(NOISE)))
def test_noise_is_answered_and_the_next_one_served(door: Door, noise: bytes) -> None:
    status, body = raw(door.port, noise)
    assert 400 <= status < 500
    assert json.loads(body)
    assert lives(door)


@pytest.mark.parametrize(
    "value", ["[" * 90 + "]" * 90, '{"a":' * 90 + "1" + "}" * 90, "[" * 9000, '"\\ud800"', '"\\u0000"', "1" * 5000]
)
def test_json_that_no_program_can_hold_is_refused(door: Door, value: str) -> None:
    if door.asked.method == "POST":
        body = json.dumps({**door.asked.body, "extra": "HERE"}).replace('"HERE"', value).encode()
        status, text = raw(door.port, request(door, body=body))
        taken = status == 200 and "extra" not in text  # nobody looked at it
        assert 400 <= status < 500 or taken
        assert lives(door)


def test_a_handler_that_raises_is_an_error_and_the_server_lives(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        door.break_it(patch)
        status, body = raw(door.port, request(door))
        assert (status, "secret" in body) == (500, False)
        assert json.loads(body)
    assert lives(door)


def test_slow_clients_are_cut_off_and_hold_up_nobody(door: Door) -> None:
    head = request(door)
    slow = [socket.create_connection(("127.0.0.1", door.port), 20) for _ in range(HASTY.connections + 20)]
    stopped = threading.Event()

    def trickle() -> None:
        for number in range(len(head)):
            for client in slow[::8]:
                try:
                    client.sendall(head[number : number + 1])
                except OSError:
                    continue
            if stopped.wait(0.1):
                return

    thread = threading.Thread(target=trickle)
    thread.start()
    assert lives(door), "while more connections than there may be say nothing, or say it slowly"
    for client in slow:
        assert _ended(client), "a head has its time"
    stopped.set()
    thread.join()
    if door.asked.method == "POST":
        with socket.create_connection(("127.0.0.1", door.port), 20) as client:
            client.sendall(request(door, content_length="1000"))
            assert lives(door), "while a body is waited for"
            assert _read(client)[0] in (408, 400)


def _ended(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True
    finally:
        client.close()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_huge_body_is_neither_read_nor_kept(locked: Door, chunked: bool) -> None:
    before, size, chunk = psutil.Process().memory_info().rss, 400 * 2**20, bytes(2**16)
    how = {"transfer_encoding": "chunked", "content_length": ""} if chunked else {"content_length": str(size)}
    sent = 0
    with socket.create_connection(("127.0.0.1", locked.port), 20) as client:
        client.sendall(request(locked, body=b"", connection="", **how))
        try:
            while sent < size:
                client.sendall(b"10000\r\n" + chunk + b"\r\n" if chunked else chunk)
                sent += len(chunk)
        except OSError:
            pass
    assert sent < 64 * 2**20
    assert psutil.Process().memory_info().rss - before < 32 * 2**20
    assert lives(locked, authorization=f"Bearer {TOKEN}")


def test_without_a_good_token_nothing_is_told(locked: Door) -> None:
    assert raw(locked.port, request(locked))[0] == 401
    assert raw(locked.port, request(locked, authorization="Bearer wrong"))[0] == 401
    assert raw(locked.port, request(locked, authorization=f"Bearer {TOKEN}", origin="http://evil.example"))[0] == 403
    assert lives(locked, authorization=f"Bearer {TOKEN}", host="a-name-of-this-machine.example")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 101),
        ({"host": "evil.example"}, 403),
        ({"host": "[::1"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://["}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_a_websocket_is_looked_at_like_everything_else(headers: dict[str, str], status: int, tmp_path: Path) -> None:
    shake = {"upgrade": "websocket", "connection": "upgrade", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}
    (tmp_path / "tokens").write_text(f"{TOKEN}\n")
    with ExitStack() as stack:
        for tokens, given, expected in (
            (None, headers, status),
            (tmp_path / "tokens", {}, 403),
            (tmp_path / "tokens", {"authorization": f"Bearer {TOKEN}"}, 101),
        ):
            (folder := tmp_path / f"{expected}{tokens is None}").mkdir()
            port = _events(folder, tokens, stack).port
            lines = {"host": f"127.0.0.1:{port}", "sec-websocket-version": "13", **shake, **given}
            sent = "GET /events HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
            assert raw(port, sent.encode() + b"\r\n")[0] == expected


@pytest.mark.parametrize(
    "words",
    [["ui"], ["host", "balatro"], ["host", "events"], ["graph", "serve"], ["mcp", "--http"], ["serve", "probe"]],
    ids=" ".join,
)
def test_other_machines_are_not_served_without_a_token(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([*words, "--host", "0.0.0.0", "--port", "0"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "can be reached by other machines" in said
    assert "--token-file" in said


def test_figures_of_a_training_are_not_shown_to_other_machines_without_a_token() -> None:
    with pytest.raises(SettingsError, match="--metrics-token-file"):
        PrometheusSink(0, "r", "probe", "0.0.0.0")


@pytest.mark.parametrize("key", ["²/x", "0/x/../..", "99999999999999999999999/x", "x", "/"])
def test_a_run_that_is_none_is_a_sentence(key: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        page = _page(tmp_path, None, stack)
        for path in ("/api/evaluations?run=", "/api/seeds/balatro?seed=A&options=ante="):
            sent = request(page, path + "".join(f"%{byte:02x}" for byte in key.encode()), body=b"", content_length="")
            assert 200 <= raw(page.port, sent.replace(b"POST", b"GET", 1))[0] < 500
    assert os.path.isdir(tmp_path / "one")
