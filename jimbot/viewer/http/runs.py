"""Runs: the table, one run, its curves, and what may be done to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from sse_starlette import EventSourceResponse

from jimbot.errors import CheckpointError, UsageError
from jimbot.runs.catalogue import delete_run, note_run, rename_run, tag_run
from jimbot.runs.files import read_text
from jimbot.viewer.curves import check_curve
from jimbot.viewer.guard import REPORT_POLICY
from jimbot.viewer.run_index import Key
from jimbot.viewer.run_page import event_lines, run_document

if TYPE_CHECKING:
    from jimbot.viewer.http.server import Page

BEAT = 0.4  # seconds between two looks for news
PING = 10  # seconds; a page that hears nothing for longer says so
MOST_ROWS = 500
MOST_CURVES = 200


class NewName(BaseModel):
    name: str


class Words(BaseModel):
    add: list[str] = []
    remove: list[str] = []
    note: str | None = None


class Sure(BaseModel):
    name: str
    """The name of the run once more: whoever deletes says what."""


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
        async def told() -> AsyncGenerator[dict[str, str]]:
            seen = since
            while not page.stopping():
                version, changed = index.news(seen)
                if version != seen:
                    seen = version
                    yield {"event": "news", "data": json.dumps({"version": version, "changed": changed})}
                await asyncio.sleep(BEAT)

        return EventSourceResponse(told(), ping=PING, send_timeout=5, shutdown_grace_period=2)

    @router.get("/runs/{root}/{name}")
    def run(root: int, name: str) -> dict[str, Any]:
        found = index.run(root, name)
        row = next((row for row in index.rows() if row.key == Key(root, name)), None)
        return run_document(found, row, page.logs.of(found.metrics_path))

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
        return {one: log.curve(one, chosen, points, smooth, start, end) for one in names if one in known}

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
        index.look()
        return {"name": new.name}

    @router.post("/runs/{root}/{name}/delete")
    def delete(root: int, name: str, sure: Sure) -> dict[str, Any]:
        if sure.name != name:
            raise UsageError(f"To delete run '{name}' its name must be given once more; '{sure.name}' is another.")
        index.run(root, name)
        delete_run(index.roots[root], name)
        index.look()
        return {"deleted": name}

    @router.post("/runs/{root}/{name}/words")
    def words(root: int, name: str, given: Words) -> dict[str, Any]:
        index.run(root, name)
        tags = tag_run(index.roots[root], name, tuple(given.add), tuple(given.remove))
        if given.note is not None:
            note_run(index.roots[root], name, given.note)
        index.look()
        return {"tags": tags}

    return router
