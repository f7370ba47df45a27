"""A game served in the protocol of its bought edition: HTTP with one request per connection, one client at a time.

The mod looks at its socket once per frame and serves one client after the other, so a plain loop of blocking sockets
does what it does; every instance has its own port and thread. A call the game never answers keeps its connection until
the client leaves. Frames and animations are waited for only when asked (`SPEEDS`).
"""

from __future__ import annotations

import logging
import re
import socket
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from jimbot.errors import UsageError
from jimbot.games.hooks import HostedGame, Silence

_log = logging.getLogger("jimbot.services")

SPEEDS = ("instant", "frame", "real")
LARGEST_BODY = 65_536
LARGEST_SAVE = 1 << 24
FRAME = 1 / 60
_LARGEST_HEAD = 16_384
_CHUNK = 65_536
_DRAINED = 64  # chunks
_BACKLOG = 16  # the mod's is 1: who waits here waits there too, with the kernel's pauses in between
_TICK = 0.25  # seconds between looks at whether the host was stopped
_IDLE = 60.0  # seconds a client may say nothing while others wait
_STATUS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}
_REQUEST_LINE = re.compile(rb"([A-Z]+)\s+(\S+)\s+HTTP/\d\.\d")
_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d{1,18})\s*(?:\r\n|$)", re.IGNORECASE)


class DiskFiles:
    """Saves and pictures on the disk."""

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read(LARGEST_SAVE)

    def write(self, path: str, data: bytes) -> None:
        Path(path).write_bytes(data)

    def picture(self, drawing: Any) -> bytes:
        from jimbot.envs.raster import png

        return png(drawing)


class ClosedFiles(DiskFiles):
    """None for clients of other machines: a call names the path it writes to."""

    def read(self, path: str) -> bytes:
        raise PermissionError("files are for clients of this machine")

    def write(self, path: str, data: bytes) -> None:
        raise PermissionError("files are for clients of this machine")


def files_for(address: str) -> DiskFiles:
    """The disk where only this machine can reach the address, and nothing elsewhere."""
    return DiskFiles() if address in ("127.0.0.1", "localhost", "::1") else ClosedFiles()


class Request(NamedTuple):
    """What came in: a body, or a complaint with its status."""

    body: bytes
    status: int = 200
    complaint: str = ""


class LiveHost:
    """Hosts one game per port."""

    def __init__(
        self, games: list[HostedGame], address: str = "127.0.0.1", port: int = 0, speed: str = "instant"
    ) -> None:
        if speed not in SPEEDS:
            raise UsageError(f"Speed '{speed}' is not known; expected one of {', '.join(SPEEDS)}.")
        self.speed = speed
        self.answered = 0
        self._stopped = threading.Event()
        self._doors = [_listen(address, port + number if port else 0) for number in range(len(games))]
        self._threads = [
            threading.Thread(target=self._serve, args=(door, game), name=f"live-{door.getsockname()[1]}", daemon=True)
            for door, game in zip(self._doors, games, strict=True)
        ]

    @property
    def ports(self) -> list[int]:
        return [door.getsockname()[1] for door in self._doors]

    def start(self) -> LiveHost:
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=5)
        for door in self._doors:
            door.close()

    def wait(self) -> None:
        """Until `stop` is called, or Ctrl+C."""
        while not self._stopped.wait(_TICK):
            pass

    # --- one instance ---

    def _serve(self, door: socket.socket, game: HostedGame) -> None:
        door.settimeout(_TICK)
        while not self._stopped.is_set():
            try:
                client, _ = door.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            with client:
                try:
                    self._attend(client, game)
                except OSError as problem:  # a client that left, or was never really there
                    _log.debug("a client of the hosted game left: %s", problem)

    def _attend(self, client: socket.socket, game: HostedGame) -> None:
        client.settimeout(_TICK)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = self._receive(client)
        if request is None:
            return
        if request.status != 200:
            _send(client, request.status, game.complaint(request.complaint))
            _drain(client)
            return
        begun = time.monotonic()
        answer = game.answer(request.body)
        self.answered += 1
        if answer is Silence.HELD:
            self._hold(client)
        elif isinstance(answer, bytes):
            self._take_time(begun, game.seconds)
            _send(client, 200, answer)

    def _receive(self, client: socket.socket) -> Request | None:
        """The next request of a connection; None if the client leaves before it is whole."""
        data, deadline = b"", time.monotonic() + _IDLE
        while True:
            request = read_request(data)
            if request is not None:
                return request
            try:
                more = client.recv(_CHUNK)
            except TimeoutError:
                if self._stopped.is_set() or time.monotonic() > deadline:
                    return None
                continue
            if not more:
                return None
            data += more

    def _hold(self, client: socket.socket) -> None:
        while not self._stopped.is_set():
            try:
                if not client.recv(_CHUNK):
                    return
            except TimeoutError:
                continue

    def _take_time(self, begun: float, seconds: float) -> None:
        if self.speed == "instant":
            return
        due = begun + (seconds if self.speed == "real" else 0.0)
        frames = int((max(due, time.monotonic()) + FRAME) / FRAME)  # served when the next frame is drawn
        self._stopped.wait(max(0.0, frames * FRAME - time.monotonic()))


def read_request(data: bytes) -> Request | None:
    """The request at the start of some bytes; None while it is not whole."""
    head, found, body = data.partition(b"\r\n\r\n")
    if not found:
        return Request(b"", 400, "Request head too large") if len(data) > _LARGEST_HEAD else None
    line = _REQUEST_LINE.match(head)
    if line is None:
        return Request(b"", 400, "Invalid request line")
    length = _LENGTH.search(head)
    size = int(length[1]) if length else 0
    if line[1] == b"POST":
        if size > LARGEST_BODY:
            return Request(b"", 400, "Request body too large")
        if len(body) < size:
            return None
    else:
        return Request(b"", 405, "Method not allowed. Use POST for JSON-RPC requests")
    if line[2] != b"/":
        return Request(b"", 404, "Not found. Use POST to '/' for JSON-RPC requests")
    return Request(body[:size])


def _send(client: socket.socket, status: int, body: bytes) -> None:
    head = (
        f"HTTP/1.1 {status} {_STATUS[status]}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    client.settimeout(_IDLE)
    client.sendall(head.encode() + body)
    client.shutdown(socket.SHUT_WR)


def _drain(client: socket.socket) -> None:
    """Reads what a refused client still sends: closing on top of it would tear the answer away with it."""
    client.settimeout(_TICK)
    try:
        for _ in range(_DRAINED):
            if not client.recv(_CHUNK):
                return
    except TimeoutError:
        return


def _listen(address: str, port: int) -> socket.socket:
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((address, port))
    except OSError as problem:
        door.close()
        reason = problem.strerror or problem
        raise UsageError(
            f"Port {port} of {address} cannot be listened on ({reason}); take another by --port."
        ) from problem
    door.listen(_BACKLOG)
    return door
