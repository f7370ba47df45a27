"""Traces by option: one span per decision with its queue and its inference, below the trace of whoever asked.

Spans are made from the timing of the answer after it was sent, so that tracing costs a decision nothing, and exported
by OpenTelemetry's own background thread: whether a collector is there or not makes no difference to anybody who asks.
"""

from __future__ import annotations

import time
from typing import Any

from jimbot.errors import MissingExtraError
from jimbot.services.decision.question import DecisionRecord


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
