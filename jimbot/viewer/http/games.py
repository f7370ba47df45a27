"""Games: which there are, a policy's game, a recording, a person's game, and asking a policy."""

from __future__ import annotations

import hashlib
import json
import threading
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from jimbot.errors import UsageError
from jimbot.games.contract import available_games, game_entry, game_title
from jimbot.games.recording import read_recording
from jimbot.planning import planning
from jimbot.policies.players import Player, find_player
from jimbot.policies.scripted import scripted_names
from jimbot.runs.directory import is_plain_name
from jimbot.runs.shipped import shipped_games
from jimbot.viewer.live_tables import followed_game, live_game
from jimbot.viewer.recordings import LARGEST
from jimbot.viewer.tables import PersonGame, Tables, policy_game, policy_reference, recorded_game

if TYPE_CHECKING:
    from jimbot.viewer.http.server import Page


MOST_TRIES = 1_024  # per decision; a page is no place to wait for more
TRIES = Field(default=0, ge=0, le=MOST_TRIES)


class Wanted(BaseModel):
    """A game somebody wants to see."""

    kind: Literal["watch", "person", "recording", "live", "follow"] = "watch"
    game: str = ""
    policy: str = ""
    checkpoint: str = ""
    rival: str = ""
    seed: str = ""
    options: dict[str, Any] = {}
    stochastic: bool = False
    plan: int = TRIES
    """How many tries per decision the watched policy looks ahead with; its companion on the same seed never does."""
    recording: str = ""
    """The text of a recording, or `file`, the key of one that lies with the runs."""
    file: str = ""
    address: str = ""
    """Where a live game is: http://HOST:PORT of the bought game's mod, or of `jimbot host`."""


class Move(BaseModel):
    text: str


class Question(BaseModel):
    policy: str
    checkpoint: str = ""
    plan: int = TRIES


def routes(page: Page) -> APIRouter:
    router, tables, index = APIRouter(), page.tables, page.index
    one_at_a_time = threading.Lock()

    def player(policy: str, checkpoint: str = "", game: str = "", options: dict[str, Any] | None = None) -> Player:
        if checkpoint and not is_plain_name(checkpoint):
            raise UsageError(f"'{checkpoint}' is no checkpoint of a run.")
        reference, root = policy_reference(policy, checkpoint, index.roots)
        return find_player(reference, game or None, options, root)

    @router.get("/games")
    def games() -> dict[str, Any]:
        shipped = set(shipped_games())
        found = [
            {"id": one, "title": game_title(one), "shipped": one in shipped, "about": game_entry(one).about}
            for one in available_games()
        ]
        return {"games": sorted(found, key=lambda one: (not one["shipped"], one["title"]))}

    @router.get("/games/{game}")
    def about(game: str) -> dict[str, Any]:
        entry = game_entry(game)
        options = [
            {"name": one.name, "default": one.shown_default, "kind": one.kind, "meaning": one.meaning}
            for one in entry.spec.option_list
            if not one.internal
        ]
        return {
            "id": game,
            "title": game_title(game),
            "about": entry.about,
            "players": sorted(scripted_names(game)),
            "shipped": game in shipped_games(),
            "two_sides": entry.two_sides is not None,
            "live": page.services.live if game == page.services.game else "",
            "seed_example": entry.seed_form.example if entry.seed_form is not None else "42",
            "options": options,
        }

    @router.get("/recordings")
    def recordings() -> dict[str, Any]:
        return {"recordings": page.recordings.listed()}

    @router.post("/tables")
    def open_table(wanted: Wanted) -> dict[str, Any]:
        if wanted.kind == "recording":
            if len(wanted.recording) > LARGEST:
                raise UsageError(f"The recording is longer than {LARGEST:,} characters.")
            text = page.recordings.text(wanted.file) if wanted.file else wanted.recording
            recorded = read_recording(text)
            adviser = player(wanted.policy, wanted.checkpoint, recorded.game) if wanted.policy else None
            return {"id": tables.add(recorded_game(recorded, adviser), _name(wanted))}
        if wanted.kind == "person":
            entry = game_entry(wanted.game)
            return {"id": tables.add(PersonGame(entry, wanted.seed, wanted.options))}
        if wanted.kind == "live":
            watched = player(wanted.policy or wanted.game, wanted.checkpoint, wanted.game, wanted.options or None)
            return {"id": tables.add(live_game(watched, wanted.address, wanted.seed))}
        name = _name(wanted)
        if wanted.kind == "follow":
            with one_at_a_time:  # however many look, the game is asked once
                if not tables.goes_on(name):
                    adviser = player(wanted.policy, wanted.checkpoint, wanted.game) if wanted.policy else None
                    tables.add(followed_game(game_entry(wanted.game), wanted.address, adviser), name)
            return {"id": name}
        with one_at_a_time:
            if not wanted.seed or not tables.known(name):
                watched = player(wanted.policy or wanted.game, wanted.checkpoint, wanted.game, wanted.options or None)
                rival = player(wanted.rival, "", watched.game) if wanted.rival else None
                watched = planning(watched, wanted.plan or None)
                name = tables.add(policy_game(watched, wanted.seed, wanted.stochastic, rival), name)
        return {"id": name}

    @router.get("/tables/{name}")
    def table(name: str, first: int = Query(0, ge=0)) -> dict[str, Any]:
        return tables.get(name).document(first)

    @router.post("/tables/{name}/move")
    def move(name: str, made: Move) -> dict[str, Any]:
        game = _person(tables, name)
        game.move(made.text)
        return {"count": len(game.frames)}

    @router.post("/tables/{name}/ask")
    def ask(name: str, question: Question) -> dict[str, Any]:
        game = _person(tables, name)
        asked = player(question.policy, question.checkpoint, game.entry.spec.id)
        return game.ask(planning(asked, question.plan or None))

    return router


def _person(tables: Tables, name: str) -> PersonGame:
    game = tables.get(name)
    if not isinstance(game, PersonGame):
        raise UsageError("Nobody plays this game by hand; begin one of your own.")
    return game


def _name(wanted: Wanted) -> str:
    """The same game has the same name, so that a link opens what is at hand."""
    text = json.dumps(wanted.model_dump(), sort_keys=True)
    if wanted.kind == "watch" and not wanted.seed:
        return ""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
