"""Listeners of a decision service: its log and its traces. Neither is ever a burden to a decision.

The log has one JSON line per decision: who asked what, what was answered, how long it took; rotated, no secrets. Lines
are written by a thread of their own from a bounded queue; when the disk is too slow lines are dropped and counted. A
share of the requests is written with its whole body.

Traces are one span per decision with its queue and its inference, below the trace of the caller. Spans are made from
the timing of the answer after it was sent, and exported by OpenTelemetry's own background thread.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict

from jimbot.background import BackgroundSender
from jimbot.errors import MissingExtraError
from jimbot.runs.files import make_directory, storing
from jimbot.services.decision.question import DecisionRecord, uniform
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
    if bodies and uniform(0, request.request_id) <= bodies:
        line["body"] = MessageToDict(request)
    return line


class Tracing:
    """A listener of a service. Where spans go is said by OTEL_EXPORTER_OTLP_ENDPOINT, as everywhere; `exporter` is for
    those who want them elsewhere."""

    def __init__(self, service_name: str = "jimbot-serve", exporter: Any = None) -> None:
        try:
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

            if exporter is None:
                from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

                exporter = OTLPSpanExporter(timeout=5)
        except ModuleNotFoundError as problem:
            raise MissingExtraError("OpenTelemetry", "otel") from problem
        self.provider = TracerProvider(resource=Resource.create({"service.name": service_name}))
        self.provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self.provider.get_tracer("jimbot.services")
        self._context = TraceContextTextMapPropagator()

    def __call__(self, record: DecisionRecord) -> None:
        from opentelemetry.trace import Status, StatusCode, set_span_in_context

        end = time.time_ns()
        start = end - int(record.total_ms * 1e6)
        parent = self._context.extract({"traceparent": record.traceparent}) if record.traceparent else None
        span = self._tracer.start_span("decide", parent, start_time=start)
        span.set_attributes({"game": record.game, "request_id": record.request.request_id})
        if record.rows:
            span.set_attribute("rows", record.rows)
        if record.refusal is not None:
            span.set_status(Status(StatusCode.ERROR, f"{record.refusal.code.name}: {record.refusal}"))
        if record.answer is not None:
            span.set_attributes({"policy": record.answer.policy.name, "action": record.answer.selected_action.label})
            timing, inside = record.answer.timing, set_span_in_context(span)
            waited = start + int(timing.queue_ms * 1e6)
            for name, begin, over in (
                ("queue", start, waited),
                ("infer", waited, waited + int(timing.inference_ms * 1e6)),
            ):
                self._tracer.start_span(name, inside, start_time=begin).end(over)
        span.end(end)

    def close(self) -> None:
        """Sends what waits; gives up soon where nobody listens."""
        self.provider.force_flush(2000)
        self.provider.shutdown()
