"""TensorBoard event files, written at once and trimmed for real.

tensorboardX's SummaryWriter hands rows to a thread through a small queue; if that thread dies (a full disk), the
training loop blocks for ever. Rows are few and small here, so the lower-level, synchronous writer of the same library
is used: a failure is an exception in the place that records.
"""

from __future__ import annotations

import importlib
import itertools
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jimbot.runs.files import sweep, write_atomically
from jimbot.runs.sinks.contract import Sink

CLASSIC_NAMES = {
    "train/mean_episode_return": "episode_reward_mean",
    "train/mean_episode_length": "episode_len_mean",
    "train/pg_loss": "policy_loss",
    "train/value_loss": "value_loss",
    "train/entropy": "entropy",
    "train/approx_kl": "kl_divergence",
}
"""The names other trainers have made familiar; written beside our own."""

_LENGTH_AND_CHECK, _CHECK = 12, 4  # bytes around each record: length + its checksum before, data checksum after
_file_number = itertools.count()


class TensorBoardSink(Sink):
    """Scalars under our names and the classic ones, in `folder`."""

    name = "TensorBoard"

    def __init__(self, folder: Path, guard: Callable[[], None] = lambda: None) -> None:
        """`guard` raises where nothing may be written any more; asked once the library is loaded, which takes a second
        in which a run can be moved."""
        self.folder, self._guard = folder, guard
        self._writer: Any = None
        self._purge_from: int | None = None

    def record(self, step: int, time: float, metrics: Mapping[str, float]) -> None:
        event, summary = _proto("event"), _proto("summary")
        classic = {CLASSIC_NAMES[name]: value for name, value in metrics.items() if name in CLASSIC_NAMES}
        values = [summary.Summary.Value(tag=tag, simple_value=value) for tag, value in {**metrics, **classic}.items()]
        writer = self._open(time)
        writer.write_event(event.Event(wall_time=time, step=step, summary=summary.Summary(value=values)))
        writer.flush()

    def trim(self, step: int) -> None:
        """Rewrites the event files without later rows, and tells viewers that have read those to drop them."""
        self.close()
        if self.folder.is_dir():
            sweep(self.folder)  # half-rewritten files of a trim that was killed
            for path in sorted(self.folder.glob("events.*")):
                _trim_file(path, step)
        self._purge_from = step + 1

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _open(self, time: float) -> Any:
        if self._writer is None:
            from tensorboardX.event_file_writer import EventsWriter

            self._guard()
            self.folder.mkdir(exist_ok=True)
            # Two writers within one second would otherwise share, and overwrite, one file name. Readers sort by it.
            suffix = f".{os.getpid()}.{next(_file_number):06}"
            self._writer = EventsWriter(str(self.folder / "events"), suffix)
            if self._purge_from is not None:
                event = _proto("event")
                start = event.SessionLog(status=event.SessionLog.START)
                self._writer.write_event(event.Event(wall_time=time, step=self._purge_from, session_log=start))
        return self._writer


def read_events(path: Path) -> Iterator[tuple[bytes, Any]]:
    """The records of an event file as (raw bytes with framing, Event); a torn tail is left out."""
    from google.protobuf.message import DecodeError

    data = path.read_bytes()
    at = 0
    while at + _LENGTH_AND_CHECK <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        end = at + _LENGTH_AND_CHECK + length + _CHECK
        if end > len(data):
            return
        event = _proto("event").Event()
        try:
            event.ParseFromString(data[at + _LENGTH_AND_CHECK : end - _CHECK])
        except DecodeError:
            return
        yield data[at:end], event
        at = end


def _proto(name: str) -> Any:
    """A module of generated messages; their classes exist only at run time, which a type checker cannot see."""
    return importlib.import_module(f"tensorboardX.proto.{name}_pb2")


def _trim_file(path: Path, step: int) -> None:
    kept = b"".join(raw for raw, event in read_events(path) if event.step <= step)
    if len(kept) != path.stat().st_size:
        write_atomically(path, kept)
