"""What takes longer: seeds that are searched, policies that are compared; and seeds that are looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from jimbot.errors import UsageError
from jimbot.games.contract import game_entry, game_title, games_with
from jimbot.games.hooks import SeedPages
from jimbot.reading.plain import is_count
from jimbot.viewer.comparing import check_wish, compared, stored_evaluation
from jimbot.viewer.jobs import Job

if TYPE_CHECKING:
    from jimbot.viewer.http.server import Page

MOST_FOUND = 500


class Search(BaseModel):
    """Seeds somebody looks for."""

    game: str
    question: str = Field(max_length=2_000)
    limit: int = Field(10, ge=1, le=MOST_FOUND)
    options: dict[str, Any] = {}


class Comparison(BaseModel):
    """Policies somebody wants beside each other."""

    policies: list[str]
    game: str = ""
    games: int = 256
    options: dict[str, Any] = {}


class TrainingWish(BaseModel):
    """A training somebody wants to start: nothing but a game that exists and how long."""

    game: str = Field(max_length=80)
    minutes: int


def routes(page: Page) -> APIRouter:
    router, jobs, index = APIRouter(), page.jobs, page.index

    @router.get("/seeds")
    def seed_games() -> dict[str, Any]:
        return {"games": [_about(game) for game in games_with("seed_pages")]}

    @router.get("/seeds/{game}")
    def seed(game: str, seed: str = Query(max_length=40), options: list[str] = Query([])) -> dict[str, Any]:
        given = dict(one.split("=", 1) for one in options if "=" in one)
        return _pages(game).chapters(seed.strip(), {name: _value(text) for name, text in given.items()})

    @router.post("/seeds/search")
    def search(wanted: Search) -> dict[str, Any]:
        pages, asked = _pages(wanted.game), wanted.question
        batches = pages.search(asked, wanted.limit, wanted.options)

        def work(job: Job) -> dict[str, Any]:
            looked = 0
            for looked, seeds in batches:
                job.found += [{"seed": one, "where": pages.places(asked, one, wanted.options)} for one in seeds]
                job.report(looked)
            return {"looked": looked}

        return {"id": jobs.start({"kind": "search", **wanted.model_dump()}, work)}

    @router.get("/evaluations")
    def evaluations(run: list[str] = Query([], max_length=50)) -> dict[str, Any]:
        found = []
        for key in run:
            root, _, name = key.partition("/")
            stored = stored_evaluation(index.run(int(root) if is_count(root) else -1, name))
            found.append({"key": key, "name": name, "evaluation": stored})
        return {"evaluations": found}

    @router.post("/compare")
    def compare(wanted: Comparison) -> dict[str, Any]:
        check_wish(wanted.policies, wanted.games)
        about = {"kind": "compare", **wanted.model_dump()}
        work = (wanted.policies, wanted.game, wanted.games, wanted.options, index.roots)
        return {"id": jobs.start(about, lambda job: compared(job, *work))}

    @router.get("/training")
    def training() -> dict[str, Any]:
        return page.trainings.document()

    @router.post("/training")
    def start_training(wanted: TrainingWish) -> dict[str, Any]:
        return page.trainings.start(wanted.game, wanted.minutes)

    @router.post("/training/stop")
    def stop_training() -> dict[str, Any]:
        return page.trainings.stop()

    @router.get("/jobs/{name}")
    def job(name: str) -> dict[str, Any]:
        return jobs.get(name).document()

    @router.post("/jobs/{name}/cancel")
    def cancel(name: str) -> dict[str, Any]:
        jobs.get(name).cancel()
        return {}

    return router


def _pages(game: str) -> SeedPages:
    pages = game_entry(game).seed_pages
    if pages is None:
        raise UsageError(
            f"Seeds of game '{game}' cannot be looked into; those of {', '.join(games_with('seed_pages'))} can."
        )
    return pages


def _about(game: str) -> dict[str, Any]:
    entry, pages = game_entry(game), _pages(game)
    example = entry.seed_form.example if entry.seed_form is not None else "42"
    choices = {name: list(values) for name, values in pages.choices().items()}
    things = {kind: list(names) for kind, names in pages.things().items()}
    told = {"id": game, "title": game_title(game), "how": pages.how, "example": example}
    return {**told, "choices": choices, "things": things}


def _value(text: str) -> Any:
    return int(text) if is_count(text) else text
