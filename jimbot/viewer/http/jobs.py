"""What takes longer: seeds that are searched, policies that are compared; and seeds that are looked at."""

from __future__ import annotations

import logging
import secrets
import shlex
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from jimbot.errors import JimbotError, UnknownNameError, UsageError
from jimbot.evaluation.compare import common_game, compare
from jimbot.evaluation.duels import cross_play
from jimbot.evaluation.sequential import compare_until_sure
from jimbot.games.contract import available_games, game_entry, game_title, games_with
from jimbot.games.hooks.people import SeedPages
from jimbot.processes import Child, tail
from jimbot.reading.plain import is_count
from jimbot.runs.catalogue import EVALUATION
from jimbot.runs.directory import RunDirectory
from jimbot.runs.files import read_json
from jimbot.viewer.tables import policy_reference

if TYPE_CHECKING:
    from jimbot.viewer.http.server import Page

# --- work in the background, with progress, which the user may end at any time ---


AT_ONCE = 2
MOST_KEPT = 50
MOST_WAITING = 8
WAITING, RUNNING, DONE, CANCELLED, FAILED = "waiting", "running", "done", "cancelled", "failed"

_log = logging.getLogger("jimbot.viewer")


class CancelledError(Exception):
    """The user ended a job; it is over wherever this is raised."""


@dataclass
class Job:
    """One piece of work."""

    about: dict[str, Any]
    state: str = WAITING
    done: int = 0
    of: int | None = None
    found: list[Any] = field(default_factory=list)
    """What is there already."""
    result: Any = None
    complaint: str = ""
    _stop: threading.Event = field(default_factory=threading.Event)

    def report(self, done: int, of: int | None = None) -> None:
        """Tells how far the work is; ends it where that was asked for."""
        self.done, self.of = int(done), of
        if self._stop.is_set():
            raise CancelledError

    def cancel(self) -> None:
        self._stop.set()

    def run(self, work: Callable[[Job], Any]) -> None:
        try:
            self.report(0)
            self.state = RUNNING
            self.result = work(self)
            self.state = DONE
        except CancelledError:
            self.state = CANCELLED
        except JimbotError as problem:
            self.complaint, self.state = str(problem), FAILED
        except Exception as problem:  # the page outlives it, and says what happened
            _log.exception("A job of the page failed.")
            self.complaint, self.state = f"It failed: {type(problem).__name__}: {problem}", FAILED

    def document(self) -> dict[str, Any]:
        over = self.state not in (WAITING, RUNNING)
        return {
            "about": self.about,
            "state": self.state,
            "over": over,
            "done": self.done,
            "of": self.of,
            "found": list(self.found),
            "result": self.result if over else None,
            "complaint": self.complaint,
        }


class Jobs:
    """All of them: a few at once, the others wait."""

    def __init__(self) -> None:
        self._workers = ThreadPoolExecutor(AT_ONCE, "job")
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, about: dict[str, Any], work: Callable[[Job], Any]) -> str:
        job, name = Job(about), secrets.token_hex(6)
        with self._lock:
            if sum(one.state in (WAITING, RUNNING) for one in self._jobs.values()) >= AT_ONCE + MOST_WAITING:
                raise UsageError(f"{AT_ONCE + MOST_WAITING} jobs are waiting already; cancel one or try again later.")
            self._jobs[name] = job
            while len(self._jobs) > MOST_KEPT:
                self._jobs.popitem(last=False)
        self._workers.submit(job.run, work)
        return name

    def get(self, name: str) -> Job:
        with self._lock:
            if name not in self._jobs:
                raise UsageError("This job is not known (any more); start it again.")
            return self._jobs[name]

    def close(self) -> None:
        with self._lock:
            jobs = list(self._jobs.values())
        for job in jobs:
            job.cancel()
        self._workers.shutdown(wait=False, cancel_futures=True)


# --- what the page asks for ---


MOST_FOUND = 500


class Search(BaseModel):
    """Seeds the user looks for."""

    game: str
    question: str = Field(max_length=2_000)
    limit: int = Field(10, ge=1, le=MOST_FOUND)
    options: dict[str, Any] = {}


class Comparison(BaseModel):
    """Policies the user compares."""

    policies: list[str]
    game: str = ""
    games: int = 256
    options: dict[str, Any] = {}
    sprt: str = Field("", max_length=40)
    """LOW,HIGH: plays until it is decided which it is, `games` at most."""


class TrainingWish(BaseModel):
    """A training the user starts: nothing but a game that exists and how long."""

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
        work = (wanted.policies, wanted.game, wanted.games, wanted.options, index.roots, wanted.sprt)
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
    about = {"id": game, "title": game_title(game), "how": pages.how, "example": example}
    return {**about, "choices": choices, "things": things}


def _value(text: str) -> Any:
    return int(text) if is_count(text) else text


# Policies beside each other: what their runs were judged at, and games on the very same seeds.


MOST_POLICIES = 12
MOST_GAMES = 100_000


def stored_evaluation(run: RunDirectory) -> dict[str, Any] | None:
    """How a run's policy was judged when its training ended."""
    found = read_json(run.path / EVALUATION)
    return found if isinstance(found, dict) else None


def check_wish(policies: Sequence[str], games: int) -> None:
    """Refuses what nobody wants to wait for."""
    if not 2 <= len(policies) <= MOST_POLICIES:
        raise UsageError(f"Got {len(policies)} policies to compare; expected 2 to {MOST_POLICIES}.")
    if not 1 <= games <= MOST_GAMES:
        raise UsageError(f"games is {games}; expected 1 to {MOST_GAMES:,}.")


def compared(
    job: Job,
    policies: Sequence[str],
    game: str,
    games: int,
    options: dict[str, Any],
    roots: tuple[Path, ...],
    sprt: str = "",
) -> dict[str, Any]:
    """Plays and compares: pairs on equal seeds, or all pairs in games of two sides; with `sprt` two
    policies until it is decided."""
    named = [_named(one, roots) for one in policies]
    game = game or common_game(named, roots[0], "latest")
    if sprt:
        for test in compare_until_sure(named, sprt, game, games, options=options or None, runs_root=roots[0]):
            job.found.append({"pairs": test.pairs, "ratio": test.ratio})
            job.report(test.pairs, games)
        return {"kind": "sequential", **test.to_dict()}
    settings: dict[str, Any] = {"options": options or None, "progress": job.report, "runs_root": roots[0]}
    if game_entry(game).two_sides is not None:
        return {"kind": "cross", **cross_play(named, game, games, heuristics=False, **settings).to_dict()}
    metric = "win_rate" if "won" in game_entry(game).spec.episode_stats else "return"
    return {"kind": "pairs", **compare(named, game, games, metric=metric, **settings).to_dict()}


def _named(policy: str, roots: tuple[Path, ...]) -> str:
    reference, root = policy_reference(policy, "", roots)
    return str(root / reference) if reference != policy else policy


# Trainings that were started from the page: ordinary commands in processes of their own, which the page may stop.


MOST_MINUTES = 24 * 60
LAST_LINES = 12


@dataclass
class Training:
    """One of them."""

    game: str
    minutes: int
    words: list[str]
    process: Child
    log: Path
    stopped: bool = False

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def document(self) -> dict[str, Any]:
        code = self.process.poll()
        if code is None:
            state = "stopping" if self.stopped else "running"
        else:
            state = "stopped" if self.stopped else "ended" if code == 0 else "failed"
        about = {"game": self.game, "minutes": self.minutes, "command": shlex.join(self.words), "state": state}
        return {**about, "lines": tail(self.log).splitlines()[-LAST_LINES:] if state == "failed" else []}


class Trainings:
    """Starts and stops them, in the first folder of runs."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._last: Training | None = None
        self._lock = threading.Lock()

    def document(self) -> dict[str, Any]:
        """Which games there are, and what was started last."""
        with self._lock:
            return {"games": available_games(), "training": self._last.document() if self._last else None}

    def start(self, game: str, minutes: int) -> dict[str, Any]:
        if game not in available_games():
            raise UnknownNameError("game", game, available_games())
        if not 1 <= minutes <= MOST_MINUTES:
            raise UsageError(f"minutes is {minutes}; expected 1 to {MOST_MINUTES:,}.")
        with self._lock:
            if self._last is not None and self._last.runs:
                raise UsageError(f"A training of {self._last.game} runs already; stop it first.")
            words = ["jimbot", "train", game, "--minutes", str(minutes), "--runs-dir", str(self._root)]
            log = self._root / ".page-training.log"
            self._root.mkdir(parents=True, exist_ok=True)
            with log.open("wb") as out:
                process = Child([sys.executable, "-m", *words], out, session=True)
            self._last = Training(game, minutes, words, process, log)
            return self._last.document()

    def stop(self) -> dict[str, Any]:
        """Asks it to save and end."""
        with self._lock:
            if self._last is None or not self._last.runs:
                raise UsageError("No training that was started here runs.")
            if not self._last.stopped:
                self._last.process.terminate()
                self._last.stopped = True
            return self._last.document()

    def close(self) -> None:
        with self._lock:
            if self._last is not None and self._last.runs:
                self._last.process.terminate()
