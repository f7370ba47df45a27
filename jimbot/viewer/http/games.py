"""Games: which there are, a policy's game, a recording, a person's game, and asking a policy."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from jimbot.errors import CheckpointError, UsageError
from jimbot.games.contract import GameEntry, available_games, game_entry, game_title
from jimbot.games.hooks.programs import LivePlay, LiveRun, Standing
from jimbot.games.recording import read_recording
from jimbot.planning import planning
from jimbot.policies.contract import decide
from jimbot.policies.heuristics import heuristic_names
from jimbot.policies.players import Player, find_player
from jimbot.reading.plain import is_count
from jimbot.runs.checkpoint import shipped_games
from jimbot.runs.directory import is_plain_name
from jimbot.services.live_play.client import LiveClient
from jimbot.services.live_play.driver import LiveDriver, Timeouts
from jimbot.services.mcp.open_games import LiveGame
from jimbot.viewer import tables

if TYPE_CHECKING:
    from jimbot.viewer.http.server import Page

FOLDER = "recordings"
LARGEST = 20_000_000  # bytes
MOST_LISTED = 200


class Recordings:
    """What lies there, by a key as those of runs: the number of the folder, a slash, the file."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._folders = [Path(root) / FOLDER for root in roots]

    def listed(self) -> list[dict[str, Any]]:
        """The newest first."""
        found: list[tuple[float, dict[str, Any]]] = []
        for number, folder in enumerate(self._folders):
            try:
                with os.scandir(folder) as entries:
                    for one in entries:
                        if one.name.endswith(".json") and is_plain_name(one.name) and one.is_file():
                            about = one.stat()
                            shown = {"key": f"{number}/{one.name}", "time": about.st_mtime, "size": about.st_size}
                            found.append((about.st_mtime, shown))
            except OSError:  # there is none
                continue
        return [shown for _, shown in sorted(found, key=lambda one: -one[0])[:MOST_LISTED]]

    def text(self, key: str) -> str:
        """One of them."""
        number, _, name = key.partition("/")
        if not is_count(number) or int(number) >= len(self._folders) or not is_plain_name(name):
            raise UsageError(
                f"'{key[:80]}' is no recording; expected the number of a folder of runs, a slash and a file."
            )
        path = self._folders[int(number)] / name
        try:
            if path.stat().st_size > LARGEST:
                raise UsageError(f"The recording {name} is larger than {LARGEST:,} bytes.")
            return path.read_text()
        except (OSError, UnicodeDecodeError) as problem:
            raise CheckpointError(f"There is no recording {name} in {path.parent} any more.") from problem


MOST_SIMULATIONS = 1_024  # per decision; a page is no place to wait for more
SIMULATIONS = Field(default=0, ge=0, le=MOST_SIMULATIONS)


class Wanted(BaseModel):
    """A game the user wants to see."""

    kind: Literal["watch", "person", "recording", "live", "follow"] = "watch"
    game: str = ""
    policy: str = ""
    checkpoint: str = ""
    opponent: str = ""
    seed: str = ""
    options: dict[str, Any] = {}
    stochastic: bool = False
    plan: int = SIMULATIONS
    """Simulations per decision of the watched policy; its companion on the same seed never looks ahead."""
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
    plan: int = SIMULATIONS


def routes(page: Page) -> APIRouter:
    router, opened, index = APIRouter(), page.tables, page.index
    one_at_a_time = threading.Lock()

    def player(policy: str, checkpoint: str = "", game: str = "", options: dict[str, Any] | None = None) -> Player:
        if checkpoint and not is_plain_name(checkpoint):
            raise UsageError(f"'{checkpoint}' is no checkpoint of a run.")
        reference, root = tables.policy_reference(policy, checkpoint, index.roots)
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
            "players": sorted(heuristic_names(game)),
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
            return {"id": opened.add(tables.recorded_game(recorded, adviser), _name(wanted))}
        if wanted.kind == "person":
            entry = game_entry(wanted.game)
            return {"id": opened.add(tables.PersonGame(entry, wanted.seed, wanted.options))}
        if wanted.kind == "live":
            watched = player(wanted.policy or wanted.game, wanted.checkpoint, wanted.game, wanted.options or None)
            return {"id": opened.add(live_game(watched, wanted.address, wanted.seed))}
        name = _name(wanted)
        if wanted.kind == "follow":
            with one_at_a_time:  # however many look, the game is asked once
                if not opened.goes_on(name):
                    adviser = player(wanted.policy, wanted.checkpoint, wanted.game) if wanted.policy else None
                    opened.add(followed_game(game_entry(wanted.game), wanted.address, adviser), name)
            return {"id": name}
        with one_at_a_time:
            if not wanted.seed or not opened.known(name):
                watched = player(wanted.policy or wanted.game, wanted.checkpoint, wanted.game, wanted.options or None)
                opponent = player(wanted.opponent, "", watched.game) if wanted.opponent else None
                watched = planning(watched, wanted.plan or None)
                name = opened.add(tables.policy_game(watched, wanted.seed, wanted.stochastic, opponent), name)
        return {"id": name}

    @router.get("/tables/{name}")
    def table(name: str, first: int = Query(0, ge=0)) -> dict[str, Any]:
        return opened.get(name).document(first)

    @router.post("/tables/{name}/move")
    def move(name: str, made: Move) -> dict[str, Any]:
        game = _person(opened, name)
        game.move(made.text)
        return {"count": len(game.frames)}

    @router.post("/tables/{name}/ask")
    def ask(name: str, question: Question) -> dict[str, Any]:
        game = _person(opened, name)
        asked = player(question.policy, question.checkpoint, game.entry.spec.id)
        return game.ask(planning(asked, question.plan or None))

    return router


def _person(opened: tables.PageGames, name: str) -> tables.PersonGame:
    game = opened.get(name)
    if not isinstance(game, tables.PersonGame):
        raise UsageError("Nobody plays this game by hand; begin one of your own.")
    return game


def _name(wanted: Wanted) -> str:
    """The same game has the same name, so that a link opens what is at hand."""
    text = json.dumps(wanted.model_dump(), sort_keys=True)
    if wanted.kind == "watch" and not wanted.seed:
        return ""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# Games of other programs on the page: a policy plays one, or another player does and the page looks on.


LOOK_SECONDS = 0.3  # between two looks at another player's game
BRIEF = Timeouts(deadline=5.0, settling=5.0, away=5.0)
NOTHING: tables.Frame = {"moves": [], "value": None, "legal": 0, "move": None, "total": None}


def live_game(player: Player, address: str, seed_text: str) -> tables.Played:
    """A policy plays the game of another program."""
    about = {"kind": "live", "game": player.game, "policy": player.name, "title": f"{player.name} plays at {address}"}
    about["thinks"] = player.manifest is not None
    return tables.Played(about, lambda: _live_frames(player, address, seed_text))


def _live_frames(player: Player, address: str, seed_text: str) -> Iterator[tables.Frame]:
    live = LiveGame(player.entry, player.options, seed_text.strip(), address)
    scene = None
    while not live.over:
        game, total = live.game, live.total
        playable = np.zeros_like(game.legal_mask)
        playable[0, live.legal()] = True
        decision = player.policy.act(game.observation, playable)
        action, scene = int(decision.actions[0]), tables.scene_of(player.entry, game)
        frame: tables.Frame = {
            "scene": scene,
            "total": tables.short(total),
            "move": game.describe_action(0, action),
            "over": False,
        }
        frame |= {**tables.think(game, decision), "messages": list(live.not_read)}
        yield {**frame, "reward": tables.short(live.act(action))}
    ending = {**NOTHING, "outcome": live.outcome, "stats": live.stats}
    yield {**ending, "scene": scene, "over": True, "total": tables.short(live.total)}


def followed_game(entry: GameEntry, address: str, adviser: Player | None) -> tables.Played:
    """Another player plays; `adviser` says what it would do."""
    play = entry.live.play if entry.live is not None else None
    if play is None:
        raise UsageError(f"Game '{entry.spec.id}' cannot be followed in another program.")
    driver = LiveDriver(LiveClient(address), play, BRIEF)
    about = {
        "kind": "follow",
        "game": entry.spec.id,
        "title": f"The game at {driver.client.address}",
        "policy": adviser.name if adviser is not None else "",
        "thinks": adviser is not None and adviser.manifest is not None,
    }
    options = entry.spec.parse_options(adviser.options if adviser is not None else {})
    return tables.Played(about, lambda: _followed_frames(entry, driver, play, options, adviser))


def _followed_frames(
    entry: GameEntry, driver: LiveDriver, play: LivePlay, options: Any, adviser: Player | None
) -> Iterator[tables.Frame | None]:
    run, before, scene = play.follow(driver.connect(), options), None, None
    while True:
        state = driver.look()
        standing = play.standing(state) if state is not None else None
        if state == before or standing not in (Standing.ASKING, Standing.OVER):
            yield None
            time.sleep(LOOK_SECONDS)
            continue
        before = state
        if standing is Standing.OVER:
            yield {**NOTHING, "scene": scene, "over": True, "outcome": "The game is over.", "stats": {}}
            continue
        try:
            run.see(state)
        except UsageError as problem:  # a state between two others, or of a card nobody here knows
            yield {**NOTHING, "scene": scene, "over": False, "messages": [str(problem)]}
            continue
        scene = tables.scene_of(entry, run.game)
        yield {**NOTHING, "scene": scene, "over": False, "messages": _assumed(run), **_advice(run, adviser)}


def _assumed(run: LiveRun) -> list[str]:
    """Who does not see the moves does not know all; what is drawn and advised says so."""
    return [f"not shown by the game, assumed: {', '.join(run.assumed)}"] if run.assumed else []


def _advice(run: LiveRun, adviser: Player | None) -> tables.Frame:
    """What a policy would do."""
    if adviser is None or not (playable := run.playable_mask()).any():
        return {}
    run.game.legal_mask[0] = playable
    return tables.think(run.game, decide(adviser.policy, run.game, np.ones(1, bool)))
