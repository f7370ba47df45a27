"""Sending for those who must not wait: a bounded queue, a thread, batches over HTTP.

`offer` costs a microsecond whatever the other end does. What does not fit is dropped and counted; an end that is away
is tried again after pauses that double; what it refuses is given up with one warning, since it would refuse it again.
`close` gives what waits a moment and gives up the rest.
"""

from __future__ import annotations

import http.client
import ipaddress
import logging
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from jimbot.errors import SettingsError

POST_SECONDS = 10.0  # that one request may take
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
GRACE = 3.0  # seconds `close` waits for what is left
TRY_AGAIN = (408, 429)  # beside everything from 500 on: not the request's fault

_log = logging.getLogger("jimbot.runs")


class RefusedError(Exception):
    """The other end understood and does not want it."""


class Courier:
    """Brings items to `send`, at most `batch` at a time, `linger` seconds after the first of them came.

    `send` raises `RefusedError` for what is hopeless and anything else for what may be tried again.
    """

    def __init__(
        self,
        name: str,
        send: Callable[[list[str]], None],
        most_waiting: int,
        batch: int,
        linger: float,
        grace: float = GRACE,
    ) -> None:
        self.name = name
        self.sent = self.dropped = self.refused = 0
        self._send, self._most, self._batch, self._linger, self._grace = send, most_waiting, batch, linger, grace
        self._waiting: deque[str] = deque()
        self._news, self._full, self._closing = threading.Event(), threading.Event(), threading.Event()
        self._ends = float("inf")  # when to give up
        self._told = False
        self._thread = threading.Thread(target=self._run, name=f"jimbot-{name}", daemon=True)
        self._thread.start()

    def offer(self, item: str) -> bool:
        """Whether there was room for it."""
        if len(self._waiting) >= self._most or self._closing.is_set():
            self.dropped += 1
            return False
        self._waiting.append(item)
        self._news.set()
        if len(self._waiting) >= self._batch:
            self._full.set()
        return True

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def close(self) -> None:
        if self._closing.is_set():
            return
        self._ends = time.monotonic() + self._grace
        for event in (self._closing, self._news, self._full):
            event.set()
        self._thread.join(self._grace + POST_SECONDS)
        lost = self.dropped + self.refused
        if lost:
            _log.warning("%s did not get %d of %d lines.", self.name, lost, lost + self.sent)

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while self._waiting or not self._closing.is_set():
            self._news.wait()
            self._full.wait(self._linger)
            self._full.clear()
            self._news.clear()
            if not self._waiting:
                continue
            batch = [self._waiting[place] for place in range(min(self._batch, len(self._waiting)))]
            arrived = self._try(batch)
            if arrived:
                pause = FIRST_PAUSE
                for _ in batch:
                    self._waiting.popleft()
            elif time.monotonic() >= self._ends:
                break
            else:
                self._closing.wait(min(pause, max(0.0, self._ends - time.monotonic())))
                pause = min(2 * pause, LONGEST_PAUSE)
            if self._waiting:
                self._news.set()
        self.dropped += len(self._waiting)
        self._waiting.clear()

    def _try(self, batch: list[str]) -> bool:
        """Whether the batch is done with."""
        try:
            self._send(batch)
        except RefusedError as problem:
            self.refused += len(batch)
            self._complain(f"refuses what it is sent: {problem}")
            return True
        except (OSError, http.client.HTTPException) as problem:
            self._complain(f"takes nothing for now, nobody waits for it: {problem}")
            return False
        self.sent += len(batch)
        return True

    def _complain(self, text: str) -> None:
        if not self._told:
            self._told = True
            _log.warning("%s %s", self.name, text)


def check_url(setting: str, url: str, schemes: tuple[str, ...] = ("http", "https")) -> str:
    """The address without a slash at its end; an error if it is none, or carries a password that files would keep."""
    parts = urlsplit(url)
    with suppress(ValueError):
        if parts.scheme in schemes and parts.hostname and parts.port != 0:
            if parts.username is None and parts.password is None:
                return url.rstrip("/")
            raise SettingsError(f"{setting} carries a password, which config.yaml would keep. Give it without one.")
    raise SettingsError(f"{setting} is {url!r}; expected an address like http://HOST:PORT.")


def post(url: str, body: bytes, headers: Mapping[str, str], seconds: float = POST_SECONDS) -> None:
    """Sends a body; `RefusedError` with the answer's words where trying again is useless."""
    proxies = urllib.request.ProxyHandler({} if _is_here(urlsplit(url).hostname or "") else None)
    request = urllib.request.Request(url, body, dict(headers), method="POST")
    try:
        with urllib.request.build_opener(proxies).open(request, timeout=seconds) as answer:
            answer.read(2**16)
    except urllib.error.HTTPError as problem:
        words = problem.read(500).decode(errors="replace").strip()
        if problem.code >= 500 or problem.code in TRY_AGAIN:
            raise OSError(f"{problem.code} {words}") from problem
        raise RefusedError(f"{problem.code} {words}") from problem


def _is_here(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
