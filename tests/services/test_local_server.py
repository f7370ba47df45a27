"""The NATS server of one machine: one for all who use it, back after kills, gone when unused, closed to others."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from jimbot.errors import MissingExtraError, NotWritableError
from jimbot.services.bus import local_server
from jimbot.services.bus.local_server import Server, join, read_state, stop
from tests.services.buses import nats_program

pytestmark = pytest.mark.skipif(nats_program() is None, reason="nats-server is not installed")
JOIN = "import sys, pathlib; from jimbot.services.bus.local_server import join; print(join(pathlib.Path(sys.argv[1])))"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "bus.nats"
    stop(tmp_path / "bus.nats")


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.02)


def said(server: Server, login: str) -> bytes:
    """What the server answers to whoever says this."""
    with socket.create_connection((local_server.HOST, server.port), 10) as connection:
        connection.recv(4096)
        connection.sendall(f"CONNECT {{{login}}}\r\nPING\r\n".encode())
        return connection.recv(4096)


def test_commands_at_once_start_one_server_that_outlives_them(store: Path) -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", JOIN, str(store)], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    found = {child.communicate(timeout=60)[0] for child in children}
    assert found == {f"{join(store)}\n"}
    assert stop(store)
    assert not stop(store)


def test_only_who_knows_the_token_is_let_in_and_only_its_user_can_read_it(store: Path) -> None:
    server = join(store)
    assert b"PONG" in said(server, f'"auth_token": "{server.token}"')
    assert b"Authorization Violation" in said(server, "")
    assert b"Authorization Violation" in said(server, '"auth_token": "guessed"')
    assert store.stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in store.iterdir())
    words = " ".join(" ".join(psutil.Process(pid).cmdline()) for pid in (server.pid, server.supervisor))
    assert server.token not in words


def test_a_killed_server_comes_back_at_the_same_place(store: Path) -> None:
    server = join(store)
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: (read_state(store) or server).pid != server.pid and join(store).supervisor == server.supervisor)
    again = join(store)
    assert (again.port, again.token) == (server.port, server.token)
    assert b"PONG" in said(again, f'"auth_token": "{server.token}"')


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the next supervisor ends it")
def test_a_killed_supervisor_leaves_no_server_behind(store: Path) -> None:
    server = join(store)
    os.kill(server.supervisor, signal.SIGKILL)
    until(lambda: not psutil.pid_exists(server.pid))
    assert join(store)._replace(pid=0, supervisor=0) == server._replace(pid=0, supervisor=0)


def test_it_ends_when_nobody_is_connected_and_not_before(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_server, "IDLE_SECONDS", 0.5)
    server = join(store)
    with socket.create_connection((local_server.HOST, server.port)):
        time.sleep(2.0)
        assert psutil.pid_exists(server.pid)
    until(lambda: not psutil.pid_exists(server.pid) and not psutil.pid_exists(server.supervisor))


def test_what_is_missing_is_one_sentence(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritableError, match="cannot be used"):
        join(tmp_path / "file")
    monkeypatch.setattr(local_server.shutil, "which", lambda name: None)
    monkeypatch.setattr(local_server.sys, "executable", str(tmp_path / "python"))
    with pytest.raises(MissingExtraError, match=r"\[nats\]") as problem:
        join(store)
    assert problem.value.exit_code == 2
