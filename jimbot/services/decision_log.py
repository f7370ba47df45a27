"""One JSON line per decision: who asked what, what was answered, how long it took. Rotated, never a burden, no secrets.

Lines are written by a thread of their own from a bounded queue; when the disk is too slow lines are dropped and
counted, decisions go on. A share of the requests is written with its whole body, for those who want to look closer.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict

from jimbot.background import BackgroundSender
from jimbot.runs.files import make_directory, storing
from jimbot.services.decision.choosing import luck
from jimbot.services.decision.question import DecisionRecord
from jimbot.services.decision.refusal import Code

WAITING = 10_000  # lines
BATCH = 100


class DecisionLog:
    """A listener of a service. `bodies` is the share of requests written whole."""

    def __init__(self, path: Path, most_bytes: int = 64 * 2**20, keep: int = 5, bodies: float = 0.0) -> None:
        make_directory(path.parent)
        self._bodies = bodies
        with storing(path):
            self._file = RotatingFileHandler(path, maxBytes=most_bytes, backupCount=keep, encoding="utf-8")
        self._lines = BackgroundSender("The decision log", self._write, WAITING, BATCH)

    @property
    def dropped(self) -> int:
        return self._lines.dropped

    def __call__(self, record: DecisionRecord) -> None:
        self._lines.offer(record)

    def close(self) -> None:
        """Writes what waits."""
        self._lines.close()
        self._file.close()

    def _write(self, some: list[DecisionRecord]) -> None:
        for record in some:
            line = json.dumps(line_of(record, self._bodies), separators=(",", ":"), ensure_ascii=False)
            self._file.emit(logging.LogRecord("jimbot.decisions", logging.INFO, "", 0, line, None, None))


def line_of(
    record: DecisionRecord, bodies: float = 0.0, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> dict[str, Any]:
    """What is written about a decision."""
    request, answer, refusal = record.request, record.answer, record.refusal
    line: dict[str, Any] = {
        "time": now().isoformat(timespec="milliseconds"),
        "trace": record.trace_id,
        "request": request.request_id,
        "game": record.game,
        "session": request.session_id,
        "code": (refusal.code if refusal is not None else Code.OK).name,
        "total_ms": round(record.total_ms, 3),
    }
    if refusal is not None:
        line["message"] = str(refusal)
    if answer is not None:
        line |= {
            "policy": answer.policy.name,
            "hash": answer.policy.hash,
            "action": answer.selected_action.number,
            "label": answer.selected_action.label,
            "confidence": round(answer.confidence, 4),
            "fallback": answer.fallback_reason or False,
            "cached": answer.cached,
            "used_llm": answer.used_llm,
            "advice": answer.advice or False,
            "queue_ms": round(answer.timing.queue_ms, 3),
            "inference_ms": round(answer.timing.inference_ms, 3),
            "batch": answer.timing.batch_size,
        }
    if record.rows:
        line["rows"] = record.rows
        for single in ("action", "label", "confidence"):
            line.pop(single, None)
    if request.HasField("context"):
        line["context"] = MessageToDict(request.context)
    if bodies and luck(0, request.request_id) <= bodies:
        line["body"] = MessageToDict(request)
    return line
