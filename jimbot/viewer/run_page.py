"""Everything a page about one run shows beside its curves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jimbot.errors import JimbotError
from jimbot.runs.catalogue import EVALUATION, note_of
from jimbot.runs.checkpoint import BEST
from jimbot.runs.directory import RunDirectory
from jimbot.runs.files import read_json, read_text
from jimbot.viewer.curves import MetricLog
from jimbot.viewer.run_index import Row

MOST_LINES = 2_000  # of the event log that are sent at once
LONGEST_TAIL = 2**20  # bytes of it that are looked at

GROUPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("progress", "Progress", ("train/mean_episode_", "eval/", "stats/")),
    ("reward", "Reward terms, per step", ("reward/",)),
    ("actions", "What it does: shares of actions", ("actions/",)),
    ("learning", "Learning", ("train/", "losses/")),
    ("health", "Health and memory", ("health/", "memory/")),
    ("speed", "Speed and where the time goes", ("speed/",)),
)
"""Charts by subject: (id, title, beginnings of names). What belongs to none comes last, under its own first word."""
TOGETHER = {"reward": "lines", "actions": "stack"}
"""Groups that are one picture, and how it is drawn."""


def run_document(run: RunDirectory, row: Row | None, log: MetricLog) -> dict[str, Any]:
    """The page."""
    try:
        config, complaint = run.read_config() or {}, ""
    except JimbotError as problem:
        config, complaint = {}, str(problem)
    return {
        "row": None if row is None else row.to_dict(),
        "path": str(run.path),
        "config": _plain(config),
        "complaint": complaint,
        "note": note_of(run),
        "evaluation": _plain(read_json(run.path / EVALUATION)),
        "checkpoints": checkpoints(run),
        "report": run.report_path.is_file(),
        "rows": log.count,
        "groups": groups(log.names),
        "latest": log.latest(),
    }


def groups(names: list[str]) -> list[dict[str, Any]]:
    """Metrics by subject, in the order of the page.

    >>> [group["title"] for group in groups(["train/loss", "stats/ante", "mine/depth"])]
    ['Progress', 'Learning', 'Mine']
    """
    left, found = list(names), []
    for group, title, beginnings in GROUPS:
        inside = [name for name in left if name.startswith(beginnings)]
        left = [name for name in left if name not in inside]
        if inside:
            found.append({"id": group, "title": title, "names": inside, "together": TOGETHER.get(group, "")})
    for word in dict.fromkeys(name.partition("/")[0] for name in left):
        inside = [name for name in left if name.partition("/")[0] == word]
        found.append({"id": f"other-{word}", "title": word.capitalize(), "names": inside, "together": ""})
    return found


def checkpoints(run: RunDirectory) -> list[dict[str, Any]]:
    """Newest first, each with what its manifest says of how well it did."""
    best = (read_text(run.checkpoints_path / BEST) or "").strip()
    found = []
    for path in reversed(run.checkpoints().paths()):
        manifest = read_json(path / "manifest.json")
        manifest = manifest if isinstance(manifest, dict) else {}
        found.append(
            {
                "name": path.name,
                "step": manifest.get("step"),
                "best": path.name == best,
                "size": _size(path),
                "time": _date(path),
                "metrics": _plain(manifest.get("metrics")),
            }
        )
    return found


def event_lines(run: RunDirectory, most: int = MOST_LINES) -> list[str]:
    """The newest lines of the event log."""
    try:
        with open(run.events_path, "rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - LONGEST_TAIL))
            return file.read().decode(errors="replace").splitlines()[-most:]
    except OSError:
        return []


def _size(path: Path) -> int:
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())


def _date(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _plain(value: Any, depth: int = 0) -> Any:
    """Values that JSON has; anything else as text, and nothing deeper than anybody reads."""
    if isinstance(value, dict) and depth < 8:
        return {str(name): _plain(inside, depth + 1) for name, inside in value.items()}
    if isinstance(value, list | tuple) and depth < 8:
        return [_plain(inside, depth + 1) for inside in value]
    if isinstance(value, float) and value not in (float("inf"), float("-inf")) and value == value:
        return value
    return value if value is None or isinstance(value, str | int | bool) else str(value)
