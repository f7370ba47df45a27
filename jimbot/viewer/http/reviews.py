"""Reviews of games: a file that is dropped, a game that was just played on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from jimbot.errors import UsageError
from jimbot.evaluation.review.reading import games_in_text
from jimbot.games.hooks.people import LoggedGame
from jimbot.games.recording import read_recording
from jimbot.policies.players import find_player
from jimbot.viewer.reviews import SECONDS, OpenReview
from jimbot.viewer.tables import policy_reference

if TYPE_CHECKING:
    from jimbot.viewer.http.server import Page

MOST_SECONDS = 600.0


class Wanted(BaseModel):
    """What is to be reviewed: a file's text, a recording beside the runs, or a game of this page."""

    text: str = ""
    file: str = ""
    table: str = ""
    run: int = Field(1, ge=1)
    """Of a file with several games, which."""
    policy: str = ""
    """Who reviews; without one the policy that ships."""
    seconds: float = Field(SECONDS, ge=0, le=MOST_SECONDS)


class Question(BaseModel):
    number: int
    action: int


def routes(page: Page) -> APIRouter:
    router, reviews, index = APIRouter(), page.reviews, page.index

    @router.post("/reviews")
    def review(wanted: Wanted) -> dict[str, Any]:
        games = _games(wanted)
        if wanted.run > len(games):
            raise UsageError(f"The file has {len(games)} games; there is no game {wanted.run}.")
        game = games[wanted.run - 1]
        reference, root = policy_reference(wanted.policy or game.recorded.game, "", index.roots)
        player = find_player(reference, None if wanted.policy == "" else game.recorded.game, None, root)
        name = reviews.add(OpenReview(game, player, wanted.seconds))
        return {"id": name, "games": [one.recorded.title() for one in games]}

    def _games(wanted: Wanted) -> list[LoggedGame]:
        if wanted.table:
            recorded = page.tables.get(wanted.table).recorded()
            return [LoggedGame(recorded, "")]
        if wanted.file:
            return [LoggedGame(read_recording(page.recordings.text(wanted.file), wanted.file), "")]
        if not wanted.text.strip():
            raise UsageError("There is nothing to review; choose a recorded game or a log.")
        return games_in_text(wanted.text)

    @router.get("/reviews/{name}")
    def grown(name: str) -> dict[str, Any]:
        return reviews.get(name).document()

    @router.get("/reviews/{name}/scenes")
    def scenes(name: str) -> dict[str, Any]:
        return {"scenes": reviews.get(name).scenes()}

    @router.get("/reviews/{name}/moves")
    def moves(name: str, number: int = Query()) -> dict[str, Any]:
        return {"moves": reviews.get(name).moves(number)}

    @router.post("/reviews/{name}/what-if")
    def what_if(name: str, question: Question) -> dict[str, Any]:
        return reviews.get(name).what_if(question.number, question.action)

    return router
