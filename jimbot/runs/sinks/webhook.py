"""Alerts as JSON, POSTed to an address: a chat, a pager, a program of one's own."""

from __future__ import annotations

import json
import os
import socket

from jimbot.background import BackgroundSender
from jimbot.runs.alerts.rules import Alert
from jimbot.runs.sinks.contract import Sink
from jimbot.runs.sinks.http_post import check_url, post

VARIABLE = "JIMBOT_ALERT_WEBHOOK"
"""Where the address may stand instead: many are secrets, and settings are kept in files."""
MOST_WAITING = 100


class WebhookSink(Sink):
    """Sends nothing but alerts, one per request, without anybody waiting for it."""

    name = "The webhook"

    def __init__(self, url: str, who: str, game: str) -> None:
        """`who` is the run or the service that has something to say."""
        self._url, self._who, self._game = check_url("alert_webhook", url), who, game
        self.sender = BackgroundSender(self.name, self._send, MOST_WAITING, batch=1, linger=0.0)

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
