"""The one way metrics leave training: named numbers in, every sink fed, no sink able to stop the run.

A sink that raises is disabled with one warning and counted in `health/sink_failures`, which every other sink then
shows. Training goes on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jimbot.errors import UsageError
from jimbot.runs.directory import RunDirectory
from jimbot.runs.sinks.contract import Sink

if TYPE_CHECKING:
    from jimbot.runs.alerts import Alert

SINK_FAILURES = "health/sink_failures"

_log = logging.getLogger("jimbot.runs")


class Recorder:
    """Feeds rows, events and checkpoints to sinks."""

    def __init__(self, sinks: Sequence[Sink], guard: Callable[[], None] | None = None) -> None:
        """`guard` raises where nothing may be written any more (see `RunDirectory.check_held`)."""
        self.sinks = list(sinks)
        self._guard = guard or (lambda: None)
        self.failures = 0

    def record(self, step: int, metrics: Mapping[str, Any]) -> None:
        """One row of metrics (anything `float` takes) at an environment step."""
        self._guard()
        row = {name: _number(name, value) for name, value in metrics.items()}
        row[SINK_FAILURES] = float(self.failures)
        now = time.time()
        self._each(lambda sink: sink.record(step, now, row))

    def event(self, step: int, text: str) -> None:
        """Something that happened, in words: started, resumed, saved, a health warning."""
        self._guard()
        now = time.time()
        self._each(lambda sink: sink.event(step, now, text))

    def alert(self, step: int, alert: Alert) -> None:
        """An alert that has begun or ended; may come from another thread than the rows."""
        self._guard()
        now = time.time()
        self._each(lambda sink: sink.alert(step, now, alert))

    def checkpoint(self, step: int, path: Path, is_best: bool = False) -> None:
        """Tells the sinks of a saved checkpoint (W&B uploads it)."""
        self._each(lambda sink: sink.checkpoint(step, path, is_best))

    def trim(self, step: int) -> None:
        """On resume: what was recorded after the checkpoint's step is forgotten, as it will happen again."""
        self._guard()
        self._each(lambda sink: sink.trim(step))

    def close(self) -> None:
        self._guard = lambda: None  # what is open is closed, wherever the run is now
        self._each(lambda sink: sink.close())
        self.sinks = []

    def _each(self, call: Callable[[Sink], None]) -> None:
        for sink in self.sinks:
            try:
                call(sink)
            except Exception as problem:  # whatever a sink's library raises must not end the training
                self._guard()  # unless the run itself is gone: then no sink is to blame
                self.failures += 1
                self.sinks = [other for other in self.sinks if other is not sink]
                _log.warning(
                    "Metrics no longer go to %s, training continues: %s: %s", sink.name, type(problem).__name__, problem
                )


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as problem:
        raise UsageError(f"Metric '{name}' is {value!r:.80}; expected a number.") from problem


def standard_sinks(run: RunDirectory) -> list[Sink]:
    """The sinks every run has: metrics.jsonl, events.log and tensorboard/."""
    from jimbot.runs.sinks import EventLogSink, JsonlSink, TensorBoardSink

    return [
        JsonlSink(run.metrics_path),
        EventLogSink(run.events_path),
        TensorBoardSink(run.tensorboard_path, run.check_held),
    ]
