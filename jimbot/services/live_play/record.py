"""Every decision of a live game as one JSON line: what was seen, what was thought, what was sent, what came back.

The first line of a run says who plays what (`kind: run`), each decision is a line (`kind: decision`), the last says how
it ended (`kind: end`). `jimbot verify` reads these files, so every game is a proof of the simulator, or a bug report.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any, TextIO

import jimbot
from jimbot.runs.files import make_directory, storing

FORMAT = "jimbot-live-1"


class LiveRecord:
    """A file that grows line by line; a reader of it meanwhile reads whole lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        make_directory(path.parent)
        with storing(path):
            self._file: TextIO = path.open("a", encoding="utf-8", buffering=1)

    def write(self, kind: str, **values: Any) -> None:
        line = json.dumps({"kind": kind, "time": time.time(), **values}, default=_plain)
        with storing(self.path):
            self._file.write(line + "\n")

    def begin(self, **about: Any) -> None:
        self.write("run", format=FORMAT, jimbot=jimbot.__version__, **about)

    def close(self) -> None:
        self._file.close()


def state_hash(state: Any) -> str:
    """A short name of a state: equal states have equal ones, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
