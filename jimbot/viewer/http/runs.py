"""Runs: the table, one run, its curves, and what may be done to it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from sse_starlette import EventSourceResponse

from jimbot.errors import CheckpointError, JimbotError, UsageError
from jimbot.runs.catalogue import EVALUATION, delete_run, note_of, note_run, rename_run, tag_run
from jimbot.runs.checkpoint import BEST
from jimbot.runs.directory import RunDirectory
from jimbot.runs.files import read_json, read_text
from jimbot.viewer.curves import Axis, MetricLog, check_curve
from jimbot.viewer.run_index import Key, Row

if TYPE_CHECKING:
    from jimbot.viewer.http.server import Page

BEAT = 0.4  # seconds between two looks for news
PING = 10  # seconds; a page that hears nothing for longer says so
MOST_ROWS = 500
MOST_CURVES = 200
MOST_OVERLAID = 100
REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""For a file that a run holds: it is shown, and nothing in it runs."""


class NewName(BaseModel):
    name: str


class Words(BaseModel):
    add: list[str] = []
    remove: list[str] = []
    note: str | None = None


class Sure(BaseModel):
    name: str
    """The name of the run once more: the user says what is deleted."""


def routes(page: Page) -> APIRouter:
    router, index = APIRouter(), page.index

    @router.get("/runs")
    def table(
        text: str = "",
        sort: str = "age",
        reverse: bool = False,
        offset: int = Query(0, ge=0),
        limit: int = Query(60, ge=1, le=MOST_ROWS),
    ) -> dict[str, Any]:
        version, found = index.version, index.rows(text, sort, reverse)
        return {
            "version": version,
            "complete": index.complete,
            "total": len(index),
            "found": len(found),
            "roots": [str(root) for root in index.roots],
            "rows": [row.to_dict() for row in found[offset : offset + limit]],
        }

    @router.get("/events")
    async def events(request: Request, since: int = -1) -> EventSourceResponse:
        async def news() -> AsyncGenerator[dict[str, str]]:
            seen = since
            while not page.stopping():
                version, changed = index.news(seen)
                if version != seen:
                    seen = version
                    yield {"event": "news", "data": json.dumps({"version": version, "changed": changed})}
                await asyncio.sleep(BEAT)

        return EventSourceResponse(news(), ping=PING, send_timeout=5, shutdown_grace_period=2)

    @router.get("/runs/{root}/{name}")
    def run(root: int, name: str) -> dict[str, Any]:
        found = index.run(root, name)
        row = next((row for row in index.rows() if row.key == Key(root, name)), None)
        return run_document(found, row, page.logs.soon(found.metrics_path))

    @router.get("/runs/{root}/{name}/curves")
    def curves(
        root: int,
        name: str,
        names: list[str] = Query([], max_length=MOST_CURVES),
        axis: str = "step",
        points: int = 600,
        smooth: float = 0.0,
        start: float | None = None,
        end: float | None = None,
    ) -> dict[str, Any]:
        chosen = check_curve(axis, points, smooth)
        log = page.logs.of(index.run(root, name).metrics_path)
        known = set(log.names)
        return log.curves([name for name in names if name in known], chosen, points, smooth, start, end)

    @router.get("/curves")
    def overlaid(
        run: list[str] = Query([], max_length=MOST_OVERLAID),
        since: list[float] = Query([], max_length=MOST_OVERLAID),
        names: list[str] = Query([], max_length=MOST_CURVES),
        axis: str = "step",
        points: int = 600,
        smooth: float = 0.0,
        start: float | None = None,
        end: float | None = None,
        whole: bool = False,
    ) -> dict[str, Any]:
        """Curves of several runs, of each only what came after its `since`; `whole` leaves out those that are not
        known to their end yet."""
        chosen, found = check_curve(axis, points, smooth), {}
        if since and len(since) != len(run):
            raise UsageError(f"{len(since)} values of since for {len(run)} runs; expected one for each, or none.")
        for key, first in zip(run, since or [start] * len(run), strict=True):
            path = index.metrics(key)
            # How many games were played is known only to who has read everything.
            log = None if path is None else page.logs.of(path) if axis == "games" else page.logs.soon(path)
            if log is not None and not (whole and log.behind):
                found[key] = part_of(log, names, chosen, points, smooth, first, end)
        return found

    @router.get("/runs/{root}/{name}/log")
    def log_lines(root: int, name: str) -> dict[str, Any]:
        return {"lines": event_lines(index.run(root, name))}

    @router.get("/runs/{root}/{name}/report")
    def report(root: int, name: str) -> Response:
        found = index.run(root, name)
        text = read_text(found.report_path)
        if text is None:
            raise CheckpointError(f"Run '{name}' has no report yet. Write one: jimbot analyze {name}")
        return Response(text, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})

    @router.post("/runs/{root}/{name}/rename")
    def rename(root: int, name: str, new: NewName) -> dict[str, Any]:
        index.run(root, name)
        rename_run(index.roots[root], name, new.name)
        index.refresh()
        return {"name": new.name}

    @router.post("/runs/{root}/{name}/delete")
    def delete(root: int, name: str, sure: Sure) -> dict[str, Any]:
        if sure.name != name:
            raise UsageError(f"To delete run '{name}' its name must be given once more; '{sure.name}' is another.")
        index.run(root, name)
        delete_run(index.roots[root], name)
        index.refresh()
        return {"deleted": name}

    @router.post("/runs/{root}/{name}/words")
    def words(root: int, name: str, given: Words) -> dict[str, Any]:
        index.run(root, name)
        tags = tag_run(index.roots[root], name, tuple(given.add), tuple(given.remove))
        if given.note is not None:
            note_run(index.roots[root], name, given.note)
        index.refresh()
        return {"tags": tags}

    return router


def part_of(log: MetricLog, names: list[str], axis: Axis, *how: Any) -> dict[str, Any]:
    """Curves of one run, and what to say to hear only what comes after them."""
    known, place = set(log.names), log.axis(axis)
    return {
        "curves": log.curves([name for name in names if name in known], axis, *how),
        "until": float(place[-1]) if len(place) else None,
        "file": log.file,
        "behind": log.behind,
    }


# Everything a page about one run shows beside its curves.


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
    """Values that JSON has; anything else as text, and nothing deeper than a page shows."""
    if isinstance(value, dict) and depth < 8:
        return {str(name): _plain(inside, depth + 1) for name, inside in value.items()}
    if isinstance(value, list | tuple) and depth < 8:
        return [_plain(inside, depth + 1) for inside in value]
    if isinstance(value, float) and value not in (float("inf"), float("-inf")) and value == value:
        return value
    return value if value is None or isinstance(value, str | int | bool) else str(value)
