"""Sinks that send over HTTP, in the background (`jimbot.background`): QuestDB, and alerts as JSON to a webhook.

QuestDB gets rows, sentences and checkpoints as lines of its ingestion protocol (ILP). One line per metric, with its
name as a symbol: names of metrics are made by games and would be refused as columns (`train/entropy` has a slash), and
a game more is no column more. Nothing here waits for the server.

    jimbot_metrics  run, game, metric (symbols); value (double), step (long)
    jimbot_events   run, game, kind (symbols); text (string), step (long)

QuestDB deletes no rows, so a resumed run does not take back what came after its checkpoint: an event of the kind
`resumed` says from which step on the newest value counts.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import math
import os
import socket
import time as clock
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from jimbot.background import BackgroundSender, RefusedError
from jimbot.errors import SettingsError
from jimbot.runs.sinks.contract import Sink

if TYPE_CHECKING:
    from jimbot.runs.alerts import Alert


POST_SECONDS = 10.0  # that one request may take
TRY_AGAIN = (408, 429)  # beside everything from 500 on: not the request's fault


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
    except http.client.HTTPException as problem:
        raise OSError(str(problem) or type(problem).__name__) from problem


def _is_here(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


VARIABLE = "JIMBOT_ALERT_WEBHOOK"
"""Where the address may stand instead: many are secrets, and settings are kept in files."""
MOST_ALERTS = 100


class WebhookSink(Sink):
    """Sends nothing but alerts, one per request, without anybody waiting for it."""

    name = "The webhook"

    def __init__(self, url: str, who: str, game: str) -> None:
        """`who` is the run or the service that has something to say."""
        self._url, self._who, self._game = check_url("alert_webhook", url), who, game
        self.sender = BackgroundSender(self.name, self._send, MOST_ALERTS, batch=1, linger=0.0)

    def alert(self, step: int, time: float, alert: Alert) -> None:
        message = {
            "text": f"{self._who}: {alert.text}",  # what chats show
            "alert": alert.rule.name,
            "status": "firing" if alert.firing else "resolved",
            "severity": alert.rule.severity,
            "value": alert.value,
            "runbook": alert.rule.runbook,
            "run": self._who,
            "game": self._game,
            "step": step,
            "time": time,
            "host": socket.gethostname(),
        }
        self.sender.offer(json.dumps(message))

    def close(self) -> None:
        self.sender.close()

    def _send(self, messages: list[str]) -> None:
        for message in messages:
            post(self._url, message.encode(), {"Content-Type": "application/json"})


def open_webhook(url: str | None, who: str, game: str = "") -> WebhookSink | None:
    """The one that was named, or that the environment names."""
    found = url or os.environ.get(VARIABLE)
    return WebhookSink(found, who, game) if found else None


METRICS, EVENTS = "jimbot_metrics", "jimbot_events"
TOKEN_VARIABLE = "JIMBOT_QUESTDB_TOKEN"
MOST_WAITING = 100_000  # lines, some 15 MB: an hour of most runs
BATCH = 2_000
LINGER = 1.0  # seconds in which lines gather

_NAME = str.maketrans({char: f"\\{char}" for char in " ,=\n\r\\"})
_TEXT = str.maketrans({char: f"\\{char}" for char in '"\\\n\r'})


class QuestDBSink(Sink):
    """`url` is the server's HTTP address; a token, if it wants one, is in JIMBOT_QUESTDB_TOKEN."""

    name = "QuestDB"

    def __init__(self, url: str, run: str, game: str, linger: float = LINGER) -> None:
        self._url = f"{check_url('questdb', url)}/write?precision=n"
        token = os.environ.get(TOKEN_VARIABLE)
        self._headers = {"Content-Type": "text/plain; charset=utf-8"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._symbols = {"run": run, "game": game}
        self.sender = BackgroundSender(self.name, self._send, MOST_WAITING, BATCH, linger)

    def record(self, step: int, time: float, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            if math.isfinite(value):
                symbols = {**self._symbols, "metric": name}
                self.sender.offer(line(METRICS, symbols, {"value": float(value), "step": step}, time))

    def event(self, step: int, time: float, text: str) -> None:
        self._notify("event", step, time, text)

    def alert(self, step: int, time: float, alert: Alert) -> None:
        self._notify("alert", step, time, alert.text)

    def checkpoint(self, step: int, path: Path, is_best: bool) -> None:
        self._notify("best" if is_best else "checkpoint", step, clock.time(), str(path))

    def trim(self, step: int) -> None:
        self._notify("resumed", step, clock.time(), "")

    def close(self) -> None:
        self.sender.close()

    def _notify(self, kind: str, step: int, time: float, text: str) -> None:
        symbols = {**self._symbols, "kind": kind}
        self.sender.offer(line(EVENTS, symbols, {"text": text, "step": step}, time))

    def _send(self, lines: list[str]) -> None:
        post(self._url, "".join(lines).encode(), self._headers)


def line(table: str, symbols: Mapping[str, str], fields: Mapping[str, float | int | str], seconds: float) -> str:
    """One row as ILP has it; symbols without a word are left out, as the protocol has no empty ones.

    >>> line("t", {"run": "a b"}, {"value": 1.5, "step": 3, "text": 'say "x"'}, 2.0)
    't,run=a\\\\ b value=1.5,step=3i,text="say \\\\"x\\\\"" 2000000000\\n'
    """
    tags = "".join(f",{name}={value.translate(_NAME)}" for name, value in symbols.items() if value)
    values = ",".join(f"{name}={_value(value)}" for name, value in fields.items())
    return f"{table}{tags} {values} {round(seconds * 1e6) * 1000}\n"


def _value(value: float | int | str) -> str:
    match value:
        case str():
            return f'"{value.translate(_TEXT)}"'
        case int():
            return f"{value}i"
        case _:
            return repr(value)
