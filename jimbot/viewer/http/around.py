"""What runs beside the page and what is known: services and the knowledge graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

if TYPE_CHECKING:
    from jimbot.viewer.http.server import Page


def routes(page: Page) -> APIRouter:
    router = APIRouter()

    @router.get("/services")
    async def services() -> dict[str, Any]:
        return await page.services.document()

    @router.get("/knowledge")
    def knowledge(text: str = "", channel: str = "", evidence: str = "", around: str = "") -> dict[str, Any]:
        return page.known.document(text, channel, evidence, around)

    return router
