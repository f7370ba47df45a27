"""All runs under some folders, kept up to date in the background: what the table of runs shows.

A pass looks at dates and sizes only and reads what changed, so that ten thousand runs cost a fraction of a second each
time. A page that waits for news compares `version`.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jimbot.background import Repeating
from jimbot.errors import CheckpointError
from jimbot.runs.catalogue import (
    EVALUATION,
    NOTES,
    RETURN,
    TAGS,
    Headline,
    evaluated_headline,
    find_run,
    holder,
    note_of,
    tags_of,
)  # fmt: skip
from jimbot.runs.checkpoint import CHECKPOINTS
from jimbot.runs.directory import RunDirectory, is_plain_name
from jimbot.runs.files import read_json, read_text
from jimbot.runs.sinks.jsonl import last_row
from jimbot.viewer.columns import Columns
from jimbot.viewer.curves import BLOCK, GrowingFile

SPARK = 40  # points of the small curve
MOST_RETURNS = 2**10  # buckets of the curve it is drawn from
SPOT = 2**12  # bytes in which a row begins and ends, mostly
FIRST_LOOK = 2**16  # bytes of a long file that are read before all runs are known
AT_LEISURE = 2**27  # bytes that one pass reads of long files, beyond that
_VALUE = re.compile(rb'"%s": ?(-?[0-9][0-9.eE+-]*)' % re.escape(RETURN.encode()))


class Glance(GrowingFile):
    """What the table of runs shows of one metrics file."""

    @property
    def best(self) -> float | None:
        many = self._sample if self.behind else []
        return max([*many, float(self._returns[RETURN].high.max())]) if self._returns else None

    @property
    def spark(self) -> list[float]:
        """A few points of the curve, first and last included."""
        if self.behind:
            return [_short(value) for value in self._sample]
        means = self._returns[RETURN].mean if self._returns else np.zeros(0)
        many = len(means)
        if many > SPARK:
            means = means[[round(i * (many - 1) / (SPARK - 1)) for i in range(SPARK)]]
        return [_short(value) for value in means]

    def _forget(self) -> None:
        super()._forget()
        self.last: dict[str, Any] = {}
        self._returns = Columns(MOST_RETURNS)
        self._sample: list[float] = []

    def _read(self, most: int | None) -> None:
        super()._read(most)
        self.last = last_row(self.path) or {}
        if self.behind and not self._sample:
            self._sample = list(_sampled(self.path))

    def _take(self, lines: bytes) -> None:
        values = np.fromiter(_numbers(_VALUE.findall(lines)), float)
        self._returns.append(len(values), {RETURN: values})


def _numbers(texts: Iterable[bytes]) -> Iterable[float]:
    for text in texts:
        try:
            yield float(text)
        except ValueError:  # digits and dots that are no number
            continue


def _sampled(path: Path) -> Iterable[float]:
    """One value here and there of a long file."""
    with open(path, "rb") as file:
        length = file.seek(0, os.SEEK_END)
        for part in range(SPARK):
            file.seek(length * part // SPARK)
            if found := _VALUE.search(file.read(SPOT)):
                yield from _numbers([found[1]])


def _short(value: float) -> float:
    return float(f"{value:.4g}")


REST = 1.0  # seconds between two passes, at least
SHARE = 5  # a pass may take one part in so many of the time
PUBLISH = 0.4  # seconds after which a long first pass shows what it has
SPEED = "speed/steps_per_second"
WATCHED = ("config.yaml", "metrics.jsonl", EVALUATION, TAGS, NOTES, CHECKPOINTS, "lock")
_SETTING = re.compile(r"""^(game|learner|algorithm): *['"]?([^'"\n]+)""", re.MULTILINE)
LIVE, FINISHED, STOPPED = "live", "finished", "stopped"
MOST_NAMED = 100
"""Changed runs that are listed by name; if there are more, a page that shows one looks itself."""


class Key(NamedTuple):
    """Which run: the number of its folder, its name."""

    root: int
    name: str

    def __str__(self) -> str:
        return f"{self.root}/{self.name}"


@dataclass
class Row:
    """A run in the table."""

    key: Key
    game: str = "?"
    learner: str = "?"
    algorithm: str = "?"
    status: str = STOPPED
    step: int = 0
    speed: float | None = None
    best: Headline | None = None
    spark: list[float] = field(default_factory=list)
    changed: float = 0.0
    tags: tuple[str, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        best = None if self.best is None else {**self.best._asdict(), "words": str(self.best)}
        return {**self.__dict__, "root": self.key.root, "name": self.key.name, "key": str(self.key), "best": best}

    def words(self) -> str:
        """Everything a filter looks at."""
        parts = [self.key.name, self.game, self.learner, self.algorithm, self.status, self.note]
        return " ".join([*parts, *(f"#{tag}" for tag in self.tags)]).lower()


SORTS: dict[str, Any] = {
    "name": lambda row: row.key.name.lower(),
    "game": lambda row: (row.game, -row.changed),
    "learner": lambda row: (row.learner, row.algorithm),
    "status": lambda row: ((LIVE, FINISHED, STOPPED).index(row.status), -row.changed),
    "step": lambda row: -row.step,
    "speed": lambda row: -(row.speed or 0.0),
    "best": lambda row: (row.best is None, row.best.name if row.best else "", -(row.best.mean if row.best else 0.0)),
    "age": lambda row: -row.changed,
}
"""Each the way one wants to see it first."""


class RunIndex:
    """The table, and the thread that keeps it."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(roots)
        self.version = 0
        self.complete = False
        """Whether a first pass has seen everything."""
        self._rows: dict[Key, Row] = {}
        self._seen: dict[Key, tuple[Any, ...]] = {}
        self._glances: dict[Key, Glance] = {}
        self._news: list[tuple[int, frozenset[str]]] = []
        self._lock = threading.Lock()
        self._one_pass = threading.Lock()
        self._passes = Repeating("run-index", 0.0, self._pass, 5.0)

    def start(self) -> None:
        self._passes.start()

    def close(self) -> None:
        self._passes.close()

    # --- asking ---

    def rows(self, text: str = "", sort: str = "age", reverse: bool = False) -> list[Row]:
        """The runs whose words hold every word of `text`."""
        wanted = text.lower().split()
        with self._lock:
            found = list(self._rows.values())
        if wanted:
            found = [row for row in found if all(word in row.words() for word in wanted)]
        return sorted(found, key=SORTS.get(sort, SORTS["age"]), reverse=reverse)

    def __len__(self) -> int:
        return len(self._rows)

    def run(self, root: int, name: str) -> RunDirectory:
        """A run that is there."""
        if not 0 <= root < len(self.roots):
            raise CheckpointError(f"There is no folder number {root}; this page shows {len(self.roots)}.")
        try:
            return find_run(self.roots[root], name)
        except CheckpointError:  # without the names of ten thousand others
            raise CheckpointError(f"There is no run '{name}' in {self.roots[root]} (any more).") from None

    def metrics(self, key: str) -> Path | None:
        """The file of a run that is there."""
        root, _, name = key.partition("/")
        with suppress(CheckpointError):
            return self.run(int(root) if root.isdigit() else -1, name).metrics_path
        return None

    def news(self, since: int) -> tuple[int, list[str] | None]:
        """(version now, the runs that changed after `since`; None where that is not known any more)."""
        with self._lock:
            version, news = self.version, list(self._news)
        if not news or news[0][0] > since + 1:
            return version, [] if version == since else None
        changed = frozenset().union(*(names for number, names in news if number > since))
        return version, None if len(changed) > MOST_NAMED else sorted(changed)

    # --- looking ---

    def refresh(self) -> None:
        """One pass over everything."""
        with self._one_pass:
            changed: set[str] = set()
            published = time.monotonic()
            places = dict(_places(self.roots))
            for key, path in places.items():
                stamp = _stamp(path)
                if self._seen.get(key) != stamp:
                    row = self._read(key, path)
                    with self._lock:
                        self._rows[key], self._seen[key] = row, stamp
                    changed.add(str(key))
                elif self._refreshed(key, path):
                    changed.add(str(key))
                if changed and time.monotonic() - published > PUBLISH:
                    self._publish(changed)
                    changed, published = set(), time.monotonic()
                if self._passes.is_over:
                    return
            for key in set(self._rows) - set(places):
                with self._lock:
                    del self._rows[key]
                self._seen.pop(key, None)
                self._glances.pop(key, None)
                changed.add(str(key))
            news = bool(changed) or not self.complete
            self.complete = True
            if news:
                self._publish(changed)

    def catch_up(self) -> None:
        """Reads on in long files, now that every run is shown."""
        with self._one_pass:
            if known := set(self._read_on()):
                self._publish(known)

    def _read_on(self) -> Iterable[str]:
        """Those that are known to their end now."""
        left = AT_LEISURE
        for key in [key for key, glance in self._glances.items() if glance.behind]:
            while left > 0 and self._glances[key].behind and not self._passes.is_over:
                self._glances[key].refresh(BLOCK)
                left -= BLOCK
            if left <= 0 or self._passes.is_over:
                return
            row = self._read(key, self.roots[key.root] / key.name)
            with self._lock:
                self._rows[key] = row
            yield str(key)

    def _publish(self, changed: Iterable[str]) -> None:
        with self._lock:
            self.version += 1
            self._news = [*self._news[-50:], (self.version, frozenset(changed))]

    def _pass(self) -> None:
        began = time.monotonic()
        self.refresh()
        self._passes.seconds = max(REST, SHARE * (time.monotonic() - began))
        self.catch_up()

    def _refreshed(self, key: Key, path: Path) -> bool:
        """A live run ends without touching a file."""
        row = self._rows[key]
        if row.status != LIVE or holder(RunDirectory(path.parent, path.name)) is not None:
            return False
        row.status = FINISHED if (path / EVALUATION).exists() else STOPPED
        return True

    def _read(self, key: Key, path: Path) -> Row:
        """What there is to know; what is damaged is left out."""
        run, row = RunDirectory(path.parent, path.name), Row(key)
        glance = self._glances.setdefault(key, Glance(run.metrics_path))
        glance.refresh(FIRST_LOOK)
        about = _about(run)
        row.game, row.learner, row.algorithm = (
            str(about.get(name) or "?") for name in ("game", "learner", "algorithm")
        )
        row.step = max(_whole(about.get("step")), _whole(glance.last.get("step")))
        speed = glance.last.get(SPEED)
        row.speed = float(speed) if isinstance(speed, int | float) else None
        row.best = evaluated_headline(run) or (None if glance.best is None else Headline("return", glance.best))
        row.spark = glance.spark
        row.changed = _changed(path)
        live = holder(run) is not None
        row.status = LIVE if live else FINISHED if (path / EVALUATION).exists() else STOPPED
        row.tags, row.note = tags_of(run), note_of(run)
        return row


def _places(roots: Sequence[Path]) -> Iterable[tuple[Key, Path]]:
    """Every run, those that wrote last first."""
    found = []
    for number, root in enumerate(roots):
        try:
            with os.scandir(root) as entries:
                for entry in entries:
                    if is_plain_name(entry.name) and os.path.isdir(os.path.join(entry.path, CHECKPOINTS)):
                        found.append((entry.stat().st_mtime, Key(number, entry.name), Path(entry.path)))
        except OSError:  # not there yet, or not any more
            continue
    return [(key, path) for _, key, path in sorted(found, reverse=True)]


def _stamp(path: Path) -> tuple[Any, ...]:
    stamp = []
    for name in WATCHED:
        try:
            about = os.stat(path / name)
            stamp.append((about.st_mtime_ns, about.st_size))
        except OSError:
            stamp.append(None)
    return tuple(stamp)


def _about(run: RunDirectory) -> dict[str, Any]:
    """Game, learner, algorithm and step: of the newest checkpoint, else as the settings say."""
    latest = (read_text(run.checkpoints_path / "latest") or "").strip()
    manifest = read_json(run.checkpoints_path / latest / "manifest.json") if is_plain_name(latest) else None
    if isinstance(manifest, dict):
        return manifest
    # Three lines of a long file that we wrote ourselves: parsing all of it takes a hundred times as long.
    return dict(_SETTING.findall(read_text(run.config_path) or ""))


def _changed(path: Path) -> float:
    dates = []
    for name in ("metrics.jsonl", CHECKPOINTS):  # not the folder itself: a tag is no news of the training
        try:
            dates.append(os.stat(path / name).st_mtime)
        except OSError:
            continue
    return max(dates, default=0.0)


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and value == value and abs(value) < 1e18 else 0
