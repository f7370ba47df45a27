"""The service's metrics as Prometheus reads them, on `/metrics` of a port of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jimbot.adviser.metrics import AdviceMetrics
from jimbot.clients.bus_contract import BusMetrics
from jimbot.runs.sinks.prometheus import serve_metrics
from jimbot.services.decision.metrics import Histogram, ServiceMetrics
from jimbot.services.decision.service import DecisionService

# name: (attribute of ServiceMetrics, labels, meaning)
COUNTERS = {
    "requests": ("requests", ("game", "code"), "Requests by status code"),
    "decisions": ("decisions", ("game", "policy"), "Rows decided"),
    "fallbacks": ("fallbacks", ("game", "reason"), "Moves given in the policy's place"),
    "shed": ("shed", ("game",), "Requests refused because the queue was full"),
    "expired": ("expired", ("game",), "Requests dropped before inference because their time was over"),
    "cache_hits": ("cache_hits", ("game",), "Answers from the cache of recent states"),
    "repeats": ("repeats", ("game",), "Requests whose id had been answered before"),
    "illegal_actions": ("illegal", ("game",), "Illegal moves of a policy, none of which was sent; must stay 0"),
    "policy_faults": ("faults", ("game", "policy"), "Inferences that failed"),
    "reloads": ("reloads", ("game", "result"), "New policies, swapped in or refused"),
    "canary_steps_back": ("steps_back", ("game",), "Canaries withdrawn"),
    "plans": ("plans", ("game", "outcome"), "Decisions that moves were tried out for, and why not for others"),
    "hints": ("hints", ("game", "outcome"), "Questions to the knowledge graph; all but answered went without a hint"),
    "shadow_answers": ("shadows", ("game", "result"), "What shadows said: the same, another, nothing"),
}
# name: (attribute of ServiceMetrics, how much of the base unit one of its own is, meaning)
HISTOGRAMS = {
    "queue_seconds": ("queue_ms", 0.001, "Seconds in the queue"),
    "inference_seconds": ("inference_ms", 0.001, "Seconds of inference"),
    "total_seconds": ("total_ms", 0.001, "Seconds in the service"),
    "batch_rows": ("batch_rows", 1.0, "Rows per inference"),
}
PREFIX = "jimbot_serve_"
ADVISER_PREFIX = "jimbot_adviser_"
ADVISER_COUNTERS = {
    "decisions": "Decisions an adviser could have been asked about",
    "asked": "Questions asked; never more than the share of decisions that was set",
    "followed": "Decisions taken as advised",
    "changed": "Of those, where the policy would have done something else",
    "retries": "Further attempts of a question",
    "tokens": "Tokens charged",
    "dollars": "Dollars charged",
}
BUS_PREFIX = "jimbot_bus_"
BUS_COUNTERS = {
    "published": "Events that are safe in the log",
    "repeated": "Events published again under an id that the log has",
    "handled": "Events a handler has finished",
    "failed": "Attempts whose handler raised",
    "redelivered": "Events handed out again",
    "duplicates": "Events that came again although handled; no handler saw them",
    "dead": "Events given up after so many attempts, or unreadable",
    "dropped": "Events missed by a slow subscriber or not taken from a publisher",
    "unreadable": "Bytes on a topic that are no event of it",
}


class Collector:
    """Reads the metrics at every scrape."""

    def __init__(self, service: DecisionService, bus: BusMetrics | None = None) -> None:
        self._service, self._bus = service, bus

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        metrics = self._service.metrics
        for name, (attribute, labels, meaning) in COUNTERS.items():
            family = CounterMetricFamily(PREFIX + name, meaning, labels=labels)
            for key, value in dict(getattr(metrics, attribute)).items():
                family.add_metric(key if isinstance(key, tuple) else (key,), value)
            if labels == ("game",):  # alerts and panels look at them, so 0 is a statement here, not a gap
                games = {about.identity.game for about in self._service.policies().policies}
                for game in games - set(getattr(metrics, attribute)):
                    family.add_metric((game,), 0)
            yield family
        yield from self._histograms(metrics)
        if self._bus is not None:
            yield from bus_families(self._bus)
        advisers = self._service.advising.advisers
        yield from adviser_families({game: adviser.metrics for game, adviser in advisers.items()})
        depth = GaugeMetricFamily(PREFIX + "queue_depth", "Requests that wait", labels=("game", "policy"))
        for labels, value in metrics.gauges["queue_depth"]().items():
            depth.add_metric(labels, value)
        yield depth
        flight = GaugeMetricFamily(PREFIX + "in_flight", "Requests being answered now")
        flight.add_metric((), len(metrics.answering))
        yield flight
        beside = CounterMetricFamily(PREFIX + "beside_training", "Batches computed although training had the device")
        beside.add_metric((), metrics.beside_training)
        yield beside
        served = GaugeMetricFamily(
            PREFIX + "policy", "What is served", labels=("game", "policy", "version", "hash", "status")
        )
        for about in self._service.policies().policies:
            who = about.identity
            served.add_metric((who.game, who.name, who.version, who.hash, about.status), 1)
        yield served

    def _histograms(self, metrics: ServiceMetrics) -> Iterator[Any]:
        from prometheus_client.core import HistogramMetricFamily

        for name, (attribute, unit, meaning) in HISTOGRAMS.items():
            family = HistogramMetricFamily(PREFIX + name, meaning)
            family.add_metric((), *_buckets(getattr(metrics, attribute), unit))
            yield family


def adviser_families(metrics: dict[str, AdviceMetrics]) -> Iterator[Any]:
    """What advice came to, by game."""
    from prometheus_client.core import CounterMetricFamily

    if not metrics:
        return
    for name, meaning in ADVISER_COUNTERS.items():
        family = CounterMetricFamily(f"{ADVISER_PREFIX}{name}", meaning, labels=("game",))
        for game, counted in metrics.items():
            family.add_metric((game,), getattr(counted, name))
        yield family
    family = CounterMetricFamily(f"{ADVISER_PREFIX}outcomes", "Questions by outcome", labels=("game", "outcome"))
    for game, counted in metrics.items():
        for outcome, count in dict(counted.outcomes).items():
            family.add_metric((game, outcome), count)
    yield family


def bus_families(metrics: BusMetrics) -> Iterator[Any]:
    """What happened on the bus, as this process saw it."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    for name, counter in metrics.counters().items():
        family = CounterMetricFamily(f"{BUS_PREFIX}{name}", BUS_COUNTERS[name], labels=("topic",))
        for topic, value in dict(counter).items():
            family.add_metric((topic,), value)
        yield family
    again = CounterMetricFamily(f"{BUS_PREFIX}reconnects", "Times the bus came back after it was away")
    again.add_metric((), metrics.reconnects)
    yield again
    lag = GaugeMetricFamily(f"{BUS_PREFIX}lag", "Events a durable reader lies behind", labels=("reader",))
    for reader, value in dict(metrics.lag).items():
        lag.add_metric((reader,), value)
    yield lag


def _buckets(histogram: Histogram, unit: float) -> tuple[list[tuple[str, float]], float]:
    running, found = 0, []
    for bound, count in zip((*histogram.bounds, float("inf")), histogram.counts, strict=True):
        running += count
        found.append(("+Inf" if bound == float("inf") else f"{bound * unit:g}", float(running)))
    return found, histogram.total * unit


def open_metrics(
    service: DecisionService, host: str, port: int, bus: BusMetrics | None = None, token_file: Path | None = None
) -> tuple[int, Callable[[], None]]:
    """Serves `/metrics`; (the port, how to stop)."""
    return serve_metrics(Collector(service, bus), host, port, token_file)
