"""Metrics as JSON lines, events as plain text lines: the files that are always there."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from jimbot.errors import UnreadableError
from jimbot.reading.plain import json_value
from jimbot.runs.files import write_atomically
from jimbot.runs.sinks.contract import Sink

LONGEST_ROW = 2**16  # bytes; rows have some hundred numbers


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a metrics.jsonl, in order; a torn last line (the writer was killed in it) is left out."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    return [row for row in map(parse_row, lines) if row is not None]


def last_row(path: Path) -> dict[str, Any] | None:
    """The newest complete row of a metrics.jsonl that may be growing."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LONGEST_ROW))
            lines = file.read().splitlines()
    except FileNotFoundError:
        return None
    return next((row for line in reversed(lines) if (row := parse_row(line)) is not None), None)


class JsonlSink(Sink):
    """Rows {"step": …, "time": …, name: value, …}; a value that is not finite becomes null."""

    name = "metrics.jsonl"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: TextIO | None = None

    def record(self, step: int, time: float, metrics: Mapping[str, float]) -> None:
        if self._file is None:
            self._mend()
            self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115 - open for the whole run
        values = {name: value if math.isfinite(value) else None for name, value in metrics.items()}
        self._file.write(json.dumps({"step": step, "time": round(time, 3), **values}) + "\n")
        self._file.flush()  # the kernel has it: a kill of this process loses nothing

    def trim(self, step: int) -> None:
        self.close()
        self._rewrite(lambda row: row["step"] <= step)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _mend(self) -> None:
        """Drops a line that was being written when its process was killed."""
        if self.path.exists() and not self.path.read_bytes().endswith(b"\n"):
            self._rewrite(lambda row: True)

    def _rewrite(self, keep: Any) -> None:
        if not self.path.exists():
            return
        lines = self.path.read_bytes().splitlines()
        kept = [line for line in lines if (row := parse_row(line)) is not None and keep(row)]
        write_atomically(self.path, b"".join(line + b"\n" for line in kept))


class EventLogSink(Sink):
    """One dated line per event. Never trimmed: it tells what happened to the run, resumes included."""

    name = "events.log"

    def __init__(self, path: Path) -> None:
        self.path = path

    def event(self, step: int, time: float, text: str) -> None:
        stamp = datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds")
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(f"{stamp} step {step}: {' '.join(text.split())}\n")


def parse_row(line: bytes) -> dict[str, Any] | None:
    """One row: its step, and everything else in it that is a number; None where it is none."""
    try:
        row = json_value(line)
    except UnreadableError:
        return None
    if not isinstance(row, dict) or type(row.get("step")) is not int:
        return None
    return {name: value for name, value in row.items() if value is None or type(value) in (int, float)}
