"""Prometheus: the newest row of a run on `/metrics` of a port, for as long as the run is open.

A metric keeps its name with `jimbot_` before it and underscores for what Prometheus does not allow: `train/entropy`
is `jimbot_train_entropy{run=…, game=…}`; megabytes become bytes, as Prometheus wants base units. A value that is not a
number any more is shown as it is; what a row no longer has is not shown.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jimbot.doors.access import Bearers, Tokens, check_exposure
from jimbot.doors.guard import Door, Limits
from jimbot.errors import MissingExtraError
from jimbot.runs.alerts import BASE_UNITS, ROW_TIME, prometheus_name
from jimbot.runs.sinks.contract import Sink

LABELS = ("run", "game")
# metrics of the run itself: name: (is it counted, meaning)
RUN_METRICS = {
    "run/step": (False, "Environment steps at the newest row"),
    "run/row_time": (False, "When the newest row was written, or the run opened, in seconds since 1970"),
    "run/checkpoint_time": (False, "When the newest checkpoint was saved, in seconds since 1970"),
    "run/events_total": (True, "Lines of events.log written by this process"),
    "run/checkpoints_total": (True, "Checkpoints saved by this process"),
}


class PrometheusSink(Sink):
    """Shows what was recorded last at http://HOST:PORT/metrics; port 0 takes any free one (`self.port`)."""

    name = "Prometheus"

    def __init__(
        self, port: int, run: str, game: str, host: str = "127.0.0.1", token_file: Path | None = None
    ) -> None:  # fmt: skip
        self._labels = (run, game)
        self._row: dict[str, float] = {}
        self._metrics: dict[str, float] = {name: 0.0 for name, (counted, _) in RUN_METRICS.items() if counted}
        self._metrics[ROW_TIME] = clock.time()
        self.port, self._stop = serve_metrics(self, host, port, token_file, "--metrics-token-file")

    def record(self, step: int, time: float, metrics: Mapping[str, float]) -> None:
        self._metrics = {**self._metrics, "run/step": float(step), ROW_TIME: time}
        self._row = dict(metrics)

    def event(self, step: int, time: float, text: str) -> None:
        self._count("run/events_total")

    def checkpoint(self, step: int, path: Path, is_best: bool) -> None:
        self._count("run/checkpoints_total")
        self._metrics = {**self._metrics, "run/checkpoint_time": clock.time()}

    def close(self) -> None:
        self._stop()

    def collect(self) -> Iterator[Any]:
        """What Prometheus' client asks for at every scrape, from a thread of its own."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        seen = set()
        for name, value in self._metrics.items():
            counted, meaning = RUN_METRICS[name]
            kind = CounterMetricFamily if counted else GaugeMetricFamily
            yield _one(kind(prometheus_name(name), meaning, labels=LABELS), self._labels, value)
        for name, value in self._row.items():
            if (shown := prometheus_name(name)) not in seen:  # two names may become one
                seen.add(shown)
                family = GaugeMetricFamily(shown, f"{name} of the newest row", labels=LABELS)
                yield _one(family, self._labels, value * BASE_UNITS.get(name, (name, 1))[1])

    def _count(self, name: str) -> None:
        self._metrics = {**self._metrics, name: self._metrics[name] + 1}


def _one(family: Any, labels: tuple[str, str], value: float) -> Any:
    family.add_metric(labels, value)
    return family


def serve_metrics(
    collector: Any,
    host: str,
    port: int,
    token_file: Path | None = None,
    flag: str = "--token-file",
    limits: Limits = Limits(),
) -> tuple[int, Callable[[], None]]:
    """Serves what a collector tells on `/metrics`, to whom the door lets in; (the port, how to stop)."""
    try:
        from prometheus_client import CollectorRegistry, make_asgi_app
    except ModuleNotFoundError as problem:
        raise MissingExtraError("The Prometheus client", "serve") from problem
    from jimbot.doors.listening import Background, guarded_server, listener

    check_exposure(host, token_file is not None, flag=flag)
    registry = CollectorRegistry()
    registry.register(collector)
    door = Door(Bearers(Tokens(token_file)) if token_file is not None else None, methods=("GET", "HEAD"), limits=limits)
    server = guarded_server(make_asgi_app(registry), door, host, port, lifespan="off")
    place = listener(host, port)
    shown = Background(server, [place])
    shown.start()
    return place.getsockname()[1], shown.stop
