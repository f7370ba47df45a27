"""Traces over the bus: a span for every publishing and every handling, joined by the event's own trace context.

Only in programs that use OpenTelemetry themselves (or `jimbot serve --traces`); elsewhere it costs a look into a table.
Without a collector nothing changes either: a tracer without a provider makes spans that nobody keeps.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from jimbot.proto.events_pb2 import Event

PUBLISH, HANDLE = "publish", "handle"
provider: Any = None
"""Where spans go; None: to the provider the program has set up."""


def span(what: str, event: Event) -> AbstractContextManager[Any]:
    """Around publishing or handling an event. Inside, the event carries this span, so that the next program goes on
    from it."""
    return _span(what, event) if "opentelemetry.trace" in sys.modules else nullcontext()


@contextmanager
def _span(what: str, event: Event) -> Generator[Any]:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    context = TraceContextTextMapPropagator()
    carried = {"traceparent": event.trace.traceparent, "tracestate": event.trace.tracestate}
    parent = context.extract(carried) if event.trace.traceparent else None
    kind = trace.SpanKind.PRODUCER if what == PUBLISH else trace.SpanKind.CONSUMER
    tracer = trace.get_tracer("jimbot.bus", tracer_provider=provider)
    with tracer.start_as_current_span(f"{what} {event.topic}", parent, kind) as begun:
        begun.set_attributes({"event_id": event.event_id, "topic": event.topic, "attempt": event.attempt})
        carried = {}
        context.inject(carried)
        if carried:
            event.trace.traceparent = carried["traceparent"]
            event.trace.tracestate = carried.get("tracestate", "")
        yield begun
