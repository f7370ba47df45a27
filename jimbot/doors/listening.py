"""How a guarded app is served: uvicorn, with the same limits for every server.

uvicorn gives a client as long as it likes to send its head, and refuses the newest where there are too many; here a
head has its time, and a connection that has asked for nothing makes room for one that may.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from jimbot.doors.access import check_exposure
from jimbot.doors.guard import CONNECTION, App, Door, Guard
from jimbot.errors import SettingsError

BACKLOG = 128
_WORDS_FOR_NOISE = "This is no HTTP request, or its head is too large."


class Connection(H11Protocol):
    """One connection, with an eye on the clock."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, {**app_state, CONNECTION: self}, _loop)
        self._door: Door = config.app.door
        self._timer: asyncio.TimerHandle | None = None
        self._lingered = 0
        self.since = time.monotonic()

    def cut(self) -> None:
        """Ends it without another word."""
        self._stop_timer()
        self.transport.abort()

    @property
    def waiting(self) -> bool:
        """Whether it has not asked for anything, or was answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if self._has_room():
            self._start_timer(self._door.limits.head_seconds)
        else:
            self._say(503, "Too many connections are open; try again.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except (ValueError, h11.ProtocolError):  # bytes in the address that are no text; noise behind a request
            self._say(400, _WORDS_FOR_NOISE)
            return
        self._watch(len(data))

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch(0)

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._stop_timer()
        super().handle_websocket_upgrade(event)

    def send_400_response(self, msg: str) -> None:
        self._say(400, _WORDS_FOR_NOISE)

    def _watch(self, received: int) -> None:
        """Sets the clock to what the client owes: a head, or the rest of a body that nobody reads."""
        limits = self._door.limits
        if not self.waiting:
            self._stop_timer()
        elif self.conn.their_state is h11.SEND_BODY:
            self._lingered += received
            if self._lingered > limits.linger_bytes:
                self.cut()
            elif self._timer is None:
                self._start_timer(limits.linger_seconds)
        elif received:
            self._lingered = 0
            if self._timer is None:
                self._start_timer(limits.head_seconds)

    def _has_room(self) -> bool:
        """Whether there is room, after the one that has waited longest was sent away."""
        if len(self.connections) <= self._door.limits.connections:
            return True
        idle = [one for one in self.connections if isinstance(one, Connection) and one is not self and one.waiting]
        if idle:
            min(idle, key=lambda one: one.since).cut()
        return bool(idle)

    def _say(self, status: int, sentence: str) -> None:
        """An answer to what never became a request."""
        status, body = self._door.refusal({"server": self.server}, status, sentence)
        if not self.transport.is_closing():
            head = f"HTTP/1.1 {status} Refused\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
            if self.waiting:  # else an answer is on its way already, and this would stand in the middle of it
                self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self._stop_timer()
        self.transport.close()

    def _start_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self.cut)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def guarded_server(app: App | Any, door: Door, host: str, port: int, **more: Any) -> uvicorn.Server:
    """A server for `app` behind its guard, ready to `run`; it ends in order on SIGTERM and Ctrl+C."""
    check_exposure(host, door.access is not None)
    settings: dict[str, Any] = {
        "http": Connection, "ws": "none", "log_config": None, "log_level": "error", "access_log": False,
        "server_header": False, "timeout_graceful_shutdown": 3, "timeout_keep_alive": door.limits.keep_alive_seconds,
        "h11_max_incomplete_event_size": door.limits.head_bytes, "backlog": BACKLOG, **more,
    }  # fmt: skip
    return uvicorn.Server(uvicorn.Config(Guard(app, door), host=host, port=port, **settings))


def listener(host: str, port: int) -> socket.socket:
    """An address that is listened on; a sentence where that cannot be."""
    place = None
    try:
        family, kind, _, _, where = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        place = socket.socket(family, kind)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(where)
        place.listen(BACKLOG)
    except (OSError, OverflowError) as problem:
        if place is not None:
            place.close()
        reason = getattr(problem, "strerror", None) or problem
        raise SettingsError(f"Nobody can listen on {host}:{port}: {reason}. Choose another port (0: any).") from problem
    return place


class Background:
    """A server in a thread of its own, for programs that do something else."""

    def __init__(self, server: uvicorn.Server, places: Sequence[socket.socket]) -> None:
        self._server, self._places = server, places
        self._thread = threading.Thread(target=self._run, name="jimbot-door", daemon=True)

    def start(self) -> None:
        """Returns when it answers."""
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)

    def stop(self) -> None:
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(10)
        for place in self._places:
            place.close()

    def _run(self) -> None:
        self._server.run(sockets=list(self._places))
