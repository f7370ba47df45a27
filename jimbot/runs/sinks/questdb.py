"""QuestDB: rows, sentences and checkpoints as lines of its ingestion protocol (ILP) over HTTP.

One line per figure, with its name as a symbol: names of metrics are made by games and would be refused as columns
(`train/entropy` has a slash), and a game more is no column more. Nothing here waits for the server.

    jimbot_metrics  run, game, metric (symbols); value (double), step (long)
    jimbot_events   run, game, kind (symbols); text (string), step (long)

QuestDB deletes no rows, so a resumed run does not take back what came after its checkpoint: an event of the kind
`resumed` says from which step on the newest value counts.
"""

from __future__ import annotations

import math
import os
import time as clock
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jimbot.background import BackgroundSender
from jimbot.runs.sinks.contract import Sink
from jimbot.runs.sinks.http_post import check_url, post

if TYPE_CHECKING:
    from jimbot.runs.alerts.rules import Alert

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
