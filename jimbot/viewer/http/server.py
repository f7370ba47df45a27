"""The page's server, put together: `page_app` is everything that is answered, `page_server` listens.

A browser shows a token once and gets a cookie for it (`Sessions`). No answer lets a browser run anything but the page's
own script (`POLICY`).
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

import jimbot
from jimbot.doors.access import LOOK, Bearers, Tokens
from jimbot.doors.guard import Door, Limits
from jimbot.doors.listening import guarded_server
from jimbot.errors import CheckpointError, JimbotError, NotWritableError
from jimbot.reading.plain import file_text, json_value
from jimbot.viewer.curves import MetricLogs
from jimbot.viewer.http import around, games, jobs, reviews, runs
from jimbot.viewer.reviews import OpenReviews
from jimbot.viewer.run_index import RunIndex
from jimbot.viewer.tables import PageGames

COOKIE = "jimbot_page"
LOGIN = "/api/login"
OPEN = (LOGIN, "/api/hello")
MOST_SESSIONS = 1_000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
}


class Sessions(Bearers):
    """Browsers that showed a token; when the token goes, so does its session."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__(tokens)
        self._known: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, token: str) -> str | None:
        """A session for a good token."""
        if not self.tokens.allows(token, LOOK):
            return None
        name = secrets.token_urlsafe(24)
        with self._lock:
            self._known[name] = token
            while len(self._known) > MOST_SESSIONS:
                self._known.popitem(last=False)
        return name

    def token(self, headers: Mapping[str, str]) -> str:
        shown = super().token(headers)
        if shown:
            return shown
        with self._lock:
            return self._known.get(_cookie(headers.get("cookie", "")), "")


def is_open(path: str) -> bool:
    """Whether an address tells nothing: the page itself, and showing a token."""
    return not path.startswith("/api/") or path in OPEN


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


STATIC = Path(__file__).resolve().parents[1] / "static"
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
LARGEST_BODY = 2 * games.LARGEST + 2**16
"""A recording as JSON writes it, and a little beside it."""
PAGES = tuple(json_value(file_text(STATIC / "built.json"))["pages"])
"""First words of the addresses at which the page itself is served (`web/src/pages.json`); its script shows the right
part."""


class Page:
    """Everything the answers are made from."""

    def __init__(self, roots: Sequence[Path], serve: str = "", bus: str = "", live: str = "") -> None:
        """`serve`, `bus` and `live` (a hosted game) are what is shown beside the runs, where it is not at its usual
        address."""
        self.index = RunIndex(roots)
        self.stopping: Callable[[], bool] = lambda: False
        """Whether the server is about to end; streams end by themselves then."""
        self.logs = MetricLogs()
        self.tables = PageGames()
        self.jobs = jobs.Jobs()
        self.reviews = OpenReviews()
        self.trainings = jobs.Trainings(roots[0])
        self.services = around.Services(serve, bus, roots[0], live)
        self.recordings = games.Recordings(roots)
        self.known = around.Known()

    def start(self) -> None:
        self.index.start()

    def close(self) -> None:
        self.index.close()
        self.logs.close()
        self.tables.close()
        self.jobs.close()
        self.reviews.close()
        self.trainings.close()


def page_app(page: Page, sessions: Sessions | None = None) -> FastAPI:
    """Everything that is answered; `sessions` where a token is asked for."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        page.start()
        yield
        page.close()

    app = FastAPI(title="JimBot", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    _static(app)
    _hello(app, sessions)
    for part in (runs, games, jobs, reviews, around):
        app.include_router(part.routes(page), prefix="/api")
    app.add_api_route("/{rest:path}", _nothing_here, methods=["GET"])  # behind everything that is somewhere
    app.add_exception_handler(JimbotError, _sentence)
    app.add_exception_handler(RequestValidationError, _wrong_request)
    return app


def page_server(
    page: Page, host: str, port: int, tokens: Tokens | None = None, limits: Limits = Limits()
) -> uvicorn.Server:
    """The server, ready to `run`; it ends in order on SIGTERM and Ctrl+C, streams included."""
    sessions = Sessions(tokens) if tokens is not None else None
    door = Door(sessions, largest_body=LARGEST_BODY, is_open=is_open, headers=HEADERS, limits=limits)
    server = guarded_server(page_app(page, sessions), door, host, port)
    page.stopping = lambda: server.should_exit
    return server


def _static(app: FastAPI) -> None:
    files = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.suffix in KINDS}

    def answer(name: str, request: Request) -> Response:
        data = files[name]
        stamp = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        headers = {"etag": stamp, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == stamp:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type=KINDS[Path(name).suffix], headers=headers)

    @app.get("/assets/{name}")
    def asset(name: str, request: Request) -> Response:
        return answer(name, request) if name in files else Response(status_code=404)

    def shown(request: Request) -> Response:
        return answer("index.html", request)

    for word in PAGES:
        app.add_api_route(f"/{word}", shown, methods=["GET"])
    app.add_api_route("/run/{rest:path}", shown, methods=["GET"])


def _nothing_here(rest: str) -> Response:
    """An address that is nowhere is still a page, with a way back; programs get a sentence."""
    if rest.startswith(("api/", "assets/")):
        return JSONResponse({"error": "There is nothing at this address."}, 404)
    return Response((STATIC / "index.html").read_bytes(), 404, media_type="text/html")


def _hello(app: FastAPI, sessions: Sessions | None) -> None:
    @app.get("/api/hello")
    def hello(request: Request) -> dict[str, Any]:
        known = sessions is None or sessions.allows(request.headers, LOOK)
        return {"version": jimbot.__version__, "token_needed": not known, "with_token": sessions is not None}

    @app.post(LOGIN)
    def login(token: dict[str, str], request: Request) -> Response:
        name = sessions.open(token.get("token", "")) if sessions is not None else None
        if name is None:
            return JSONResponse({"error": "This token is not known; it must be one line of the token file."}, 401)
        answer = JSONResponse({"ok": True})
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, name, httponly=True, samesite="strict", secure=secure, path="/")
        return answer


def _sentence(request: Request, problem: Exception) -> Response:
    gone = isinstance(problem, CheckpointError)
    busy = isinstance(problem, NotWritableError)
    return JSONResponse({"error": str(problem)}, 404 if gone else 409 if busy else 400)


def _wrong_request(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    wrong = "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in problem.errors()[:5])
    return JSONResponse({"error": f"The request cannot be understood ({wrong})."}, 400)
