"""The shape of a sink. A subclass overrides what it cares about; any exception disables it (see recorder.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jimbot.runs.alerts import Alert


class Sink:
    """Takes rows of metrics, events and checkpoints."""

    name: str = "sink"

    def record(self, step: int, time: float, metrics: Mapping[str, float]) -> None:
        """One row; `time` is in seconds since 1970."""

    def event(self, step: int, time: float, text: str) -> None:
        """Something worth a line of text happened."""

    def alert(self, step: int, time: float, alert: Alert) -> None:
        """An alert has begun or ended: an event, where nothing better is known."""
        self.event(step, time, alert.text)

    def checkpoint(self, step: int, path: Path, is_best: bool) -> None:
        """A checkpoint was saved."""

    def trim(self, step: int) -> None:
        """Forgets everything after `step`: training continues from a checkpoint taken there."""

    def close(self) -> None:
        """Everything recorded so far is safe."""
