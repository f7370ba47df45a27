"""The bought game's protocol over real sockets: HTTP as the mod speaks it, ids, silence, many games at once."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jimbot.errors import UsageError
from jimbot.games.contract import game_entry
from jimbot.games.hooks.programs import HostedGame
from jimbot.services.live_host import FolderFiles, LiveHost
from jimbot.services.live_play.client import LiveClient, LiveError

START = {"deck": "RED", "stake": "WHITE", "seed": "TEST123"}
Open = Callable[..., LiveHost]


def hosted(*traps: str, dialect: str = "1.x", folder: Path | None = None) -> HostedGame:
    live = game_entry("balatro").live
    assert live is not None
    return live.host(dialect, True, traps, FolderFiles([folder] if folder is not None else ()))


@pytest.fixture
def opened() -> Iterator[Open]:
    hosts: list[LiveHost] = []

    def start(*traps: str, games: int = 1, speed: str = "instant", folder: Path | None = None) -> LiveHost:
        hosts.append(LiveHost([hosted(*traps, folder=folder) for _ in range(games)], speed=speed).start())
        return hosts[-1]

    yield start
    for host in hosts:
        host.stop()


def answered(game: HostedGame, body: bytes) -> Any:
    answer = game.answer(body)
    assert isinstance(answer, bytes)
    return json.loads(answer)


def post(port: int, body: bytes, method: str = "POST", path: str = "/") -> tuple[int, dict[str, str], Any]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=300)  # the first call may compile
    client.request(method, path, body)
    answer = client.getresponse()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, json.loads(answer.read())


def ask(port: int, method: str, params: Any = None, identity: Any = 1) -> Any:
    request = {"jsonrpc": "2.0", "method": method, "params": params or {}, "id": identity}
    return post(port, json.dumps(request).encode())[2]


def test_every_answer_closes_its_connection(opened: Open) -> None:
    (port,) = opened().ports
    status, headers, answer = post(port, b'{"jsonrpc":"2.0","method":"health","id":0}')
    assert (status, answer) == (200, {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 0})
    assert (headers["connection"], headers["content-type"]) == ("close", "application/json")


@pytest.mark.parametrize("identity", [0, -42, "", "my-id", 7])
def test_ids_come_back(opened: Open, identity: Any) -> None:
    assert ask(opened().ports[0], "health", identity=identity)["id"] == identity


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{invalid json}", b'"text"', b"7", b"[]", b"null", b"[1,2]", b"\xff\xfe", b"[" * 5000,
        b'{"method":"health","id":1}', b'{"jsonrpc":"1.0","method":"health","id":1}',
        b'{"jsonrpc":"2.0","method":"health"}', b'{"jsonrpc":"2.0","method":"health","id":null}',
        b'{"jsonrpc":"2.0","method":"health","id":1.5}', b'{"jsonrpc":"2.0","method":"health","id":true}',
        b'{"jsonrpc":"2.0","method":"health","id":[1]}', b'{"jsonrpc":"2.0","method":"health","id":{}}',
        b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"2.0","method":7,"id":1}', b'{"jsonrpc":"2.0","method":"x","id":1}',
    ],
)  # fmt: skip
def test_what_is_no_request_is_a_bad_request(body: bytes) -> None:
    answer = answered(hosted(), body)
    assert (answer["error"]["code"], answer["error"]["data"]["name"]) == (-32001, "BAD_REQUEST")
    usable = b'"id":1}' in body
    assert ("id" in answer) == usable


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/", b"", 405),
        ("PUT", "/", b"{}", 405),
        ("OPTIONS", "/", b"", 405),
        ("POST", "/api/health", b"{}", 404),
        ("POST", "/", b"x" * 65_537, 400),
    ],
)
def test_http_errors_carry_the_id_of_the_request_before(
    opened: Open, method: str, path: str, body: bytes, status: int
) -> None:
    (port,) = opened().ports
    ask(port, "health", identity="before")
    found, _, answer = post(port, body, method, path)
    assert (found, answer["id"], answer["error"]["code"]) == (status, "before", -32001)


def test_the_largest_body_is_taken(opened: Open) -> None:
    request = {"jsonrpc": "2.0", "method": "health", "id": 1, "params": {"fill": ""}}
    request["params"] = {"fill": "x" * (65_536 - len(json.dumps(request)))}
    body = json.dumps(request).encode()
    assert len(body) == 65_536
    assert post(opened().ports[0], body)[2]["result"] == {"status": "ok"}


def test_requests_in_pieces_are_put_together_and_noise_is_answered(opened: Open) -> None:
    (port,) = opened().ports
    body = b'{"jsonrpc":"2.0","method":"health","id":7}'
    whole = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with socket.create_connection(("127.0.0.1", port)) as client:
        for start in range(0, len(whole), 20):
            client.sendall(whole[start : start + 20])
        assert client.makefile("rb").read().endswith(b'"id":7}')
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"nonsense\r\n\r\n")
        assert b'"name": "BAD_REQUEST"' in client.makefile("rb").read()


def test_clients_wait_for_a_call_and_not_for_one_that_says_nothing(opened: Open) -> None:
    (port,) = opened("hang=1").ports
    silent = socket.create_connection(("127.0.0.1", port))
    assert ask(port, "health")["result"] == {"status": "ok"}
    held = http.client.HTTPConnection("127.0.0.1", port)
    held.request("POST", "/", json.dumps({"jsonrpc": "2.0", "method": "start", "params": START, "id": 2}))
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(ask(port, "health")))
    while ask_quickly(port):  # until the call that is never answered has its turn
        pass
    waiting.start()
    waiting.join(timeout=0.3)
    assert answers == []
    held.close()
    waiting.join(timeout=10)
    assert answers[0]["result"] == {"status": "ok"}
    silent.close()


def ask_quickly(port: int) -> bool:
    """Whether the host answers at once."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=0.3)
    client.request("POST", "/", b'{"jsonrpc":"2.0","method":"health","id":1}')
    try:
        return client.getresponse().status == 200
    except TimeoutError:
        return False
    finally:
        client.close()


def test_a_call_that_hangs_is_done_and_the_next_client_is_served(opened: Open) -> None:
    (port,) = opened("hang=2").ports
    ask(port, "start", START)
    hanging = http.client.HTTPConnection("127.0.0.1", port, timeout=0.4)
    hanging.request("POST", "/", b'{"jsonrpc":"2.0","method":"select","id":2}')
    with pytest.raises(TimeoutError):
        hanging.getresponse()
    hanging.close()
    assert ask(port, "gamestate")["result"]["state"] == "SELECTING_HAND"


def test_a_dropped_call_was_done_every_other_time(opened: Open) -> None:
    (port,) = opened("drop=2").ports
    ask(port, "start", START)
    states = []
    for method in ("select", "menu", "start", "select"):
        try:
            ask(port, method, START if method == "start" else {})
        except (http.client.RemoteDisconnected, ConnectionResetError):
            states.append((method, ask(port, "gamestate")["result"]["state"]))
    assert states == [("select", "BLIND_SELECT"), ("start", "BLIND_SELECT")]


def test_an_answer_may_carry_an_old_id(opened: Open) -> None:
    (port,) = opened("stale-id=2").ports
    assert [ask(port, "health", identity=n)["id"] for n in (1, 2, 3, 4)] == [1, 1, 3, 3]


def test_eight_games_at_once_do_not_meet(opened: Open) -> None:
    host = opened(games=8)
    seeds = [f"GAME{number}" for number in range(1, 9)]
    states: dict[str, Any] = {}

    def play(port: int, seed: str) -> None:
        ask(port, "start", {**START, "seed": seed})
        states[seed] = ask(port, "select")["result"]

    threads = [threading.Thread(target=play, args=pair) for pair in zip(host.ports, seeds, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {seed: state["seed"] for seed, state in states.items()} == dict(zip(seeds, seeds, strict=True))
    assert len({json.dumps(state["hand"]) for state in states.values()}) == 8


def test_frames_are_waited_for_when_asked(opened: Open) -> None:
    (port,) = opened(speed="frame").ports
    assert ask(port, "health")["result"] == {"status": "ok"}
    with pytest.raises(UsageError, match="warp"):
        LiveHost([], speed="warp")


def test_files_are_written_where_the_client_says(opened: Open, tmp_path: Path) -> None:
    (port,) = opened(folder=tmp_path).ports
    ask(port, "start", START)
    save, picture = tmp_path / "run.jkr", tmp_path / "table.png"
    assert ask(port, "save", {"path": str(save)})["result"] == {"success": True, "path": str(save)}
    assert ask(port, "screenshot", {"path": str(picture)})["result"]["success"] is True
    assert picture.read_bytes().startswith(b"\x89PNG")
    ask(port, "menu")
    assert ask(port, "load", {"path": str(save)})["result"]["path"] == str(save)
    assert ask(port, "gamestate")["result"]["seed"] == "TEST123"
    assert ask(port, "save", {"path": str(tmp_path / "no" / "where")})["error"]["data"]["name"] == "INTERNAL_ERROR"


def test_a_bare_name_is_a_file_of_the_folder_and_a_save_may_be_saved_again(opened: Open, tmp_path: Path) -> None:
    (port,) = opened(folder=tmp_path).ports
    ask(port, "start", START)
    for name in ("run.jkr", "run.jkr", "table.png", "table.png"):
        method = "save" if name.endswith("jkr") else "screenshot"
        assert ask(port, method, {"path": name})["result"] == {"success": True, "path": name}
    assert {path.name for path in tmp_path.iterdir()} == {"run.jkr", "table.png"}
    assert ask(port, "load", {"path": "run.jkr"})["result"]["success"] is True


@pytest.fixture
def furnished(tmp_path: Path) -> Path:
    """A folder for clients with everything in it that is no save of ours, inside one that is nobody's business."""
    folder = tmp_path / "open"
    (folder / "folder").mkdir(parents=True)
    (tmp_path / "private").write_bytes(b"mine")
    (folder / "notes.txt").write_bytes(b"mine")
    (folder / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    (folder / "out").symlink_to(tmp_path / "private")
    (folder / "away").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize("method", ["save", "load", "screenshot"])
@pytest.mark.parametrize(
    "path",
    ["../private", "{outside}/private", "{outside}/new", "out", "away/private", "away/new", "notes.txt", "photo.png",
     "pipe", "folder", "", ".", "x\0y", "\ud800", "/dev/null", "/dev/zero"],
)  # fmt: skip
def test_nothing_but_saves_of_our_own_is_touched(opened: Open, furnished: Path, method: str, path: str) -> None:
    (port,) = opened(folder=furnished).ports
    outside = furnished.parent
    ask(port, "start", START)
    refused = ask(port, method, {"path": path.format(outside=outside)})
    assert refused["error"]["data"]["name"] == "INTERNAL_ERROR"
    assert {one.name for one in outside.iterdir()} == {"open", "private"}
    assert {one.read_bytes() for one in (outside / "private", furnished / "notes.txt")} == {b"mine"}
    assert (furnished / "photo.png").read_bytes().endswith(bytes(200))
    assert ask(port, "health")["result"] == {"status": "ok"}


def test_without_a_folder_files_go_to_one_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    FolderFiles().write("run.jkr", b"jimbot-balatro-save\n")
    assert (tmp_path / "jimbot" / "hosted" / "run.jkr").is_file()


def test_discover_tells_the_dialects_apart() -> None:
    for dialect, has in (("1.x", False), ("dev", True)):
        request = b'{"jsonrpc":"2.0","method":"rpc.discover","id":1}'
        document = answered(hosted(dialect=dialect), request)["result"]
        names = {method["name"] for method in document["methods"]}
        assert document["openrpc"] == "1.3.2"
        assert {"health", "play", "buy", "rpc.discover"} <= names
        assert ({"sort", "buy_and_use", "reroll_boss"} <= names) == has
        decks = {choice["const"] for choice in document["components"]["schemas"]["Deck"]["oneOf"]}
        assert ("b_red" in decks) == has


def test_a_port_in_use_is_named(opened: Open) -> None:
    (port,) = opened().ports
    with pytest.raises(UsageError, match=str(port)):
        LiveHost([hosted()], port=port)


def test_our_own_client_shows_the_token_of_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokens").write_text("a-token-of-the-host\n")
    host = LiveHost([hosted()], token_file=tmp_path / "tokens").start()
    try:
        address = f"http://127.0.0.1:{host.ports[0]}"
        with pytest.raises(LiveError, match="token"):
            LiveClient(address).call("health")
        monkeypatch.setenv("JIMBOT_LIVE_TOKEN", "a-token-of-the-host")
        assert LiveClient(address).call("health") == {"status": "ok"}
        monkeypatch.setenv("JIMBOT_LIVE_TOKEN", "two\r\nHost: elsewhere")
        with pytest.raises(UsageError, match="no token has"):
            LiveClient(address)
    finally:
        host.stop()
