"""Who may ask, and what a browser may do with the answers.

Without tokens only this machine is listened to, and only under its own names: a page elsewhere that lets its name point
here is turned away. With tokens a browser shows one once and gets a cookie. Whatever changes something must come from
the page itself. No answer lets a browser run anything but the page's own script.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from jimbot.services.access import LOOK, Tokens, is_loopback

COOKIE = "jimbot_page"
CHANGE = "change"
"""What only a token without a limit is good for."""
LOOKING = ("GET", "HEAD")
LOGIN = "/api/login"
OPEN = ("/", LOGIN, "/api/hello", "/assets/")
"""Addresses that tell nothing: the page itself, and showing a token."""
MOST_SESSIONS = 1_000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""For a file that a run holds: it is shown, and nothing in it runs."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Sessions:
    """Browsers that showed a token; when the token goes, so does its session."""

    def __init__(self, tokens: Tokens | None) -> None:
        self.tokens = tokens
        self._known: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, token: str) -> str | None:
        """A session for a good token."""
        if self.tokens is None or not self.tokens.allows(token, LOOK):
            return None
        name = secrets.token_urlsafe(24)
        with self._lock:
            self._known[name] = token
            while len(self._known) > MOST_SESSIONS:
                self._known.popitem(last=False)
        return name

    def allows(self, headers: dict[str, str], scope: str) -> bool:
        if self.tokens is None:
            return True
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            with self._lock:
                token = self._known.get(_cookie(headers.get("cookie", "")), "")
        return bool(token) and self.tokens.allows(token.strip(), scope)


class Guard:
    """Stands before everything that is answered."""

    def __init__(self, app: Any, sessions: Sessions) -> None:
        self.app, self.sessions = app, sessions

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        status, sentence = self._refusal(scope["method"], scope["path"], headers)
        if status:
            await _answer(_guarded(send), status, sentence)
        else:
            await self.app(scope, receive, _guarded(send))

    def _refusal(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
        host = headers.get("host", "")
        if self.sessions.tokens is None and not is_loopback(urlsplit(f"//{host}").hostname or ""):
            return 403, f"This page is for this machine only; '{host[:80]}' is not one of its names. Use 127.0.0.1."
        changing = method not in LOOKING
        if changing:
            origin = headers.get("origin")
            if origin is not None and urlsplit(origin).netloc != host:
                return 403, "Only the page itself may change something."
            if not headers.get("content-type", "").startswith("application/json"):
                return 415, "The body must be JSON (content-type application/json)."
        if _is_open(path):
            return 0, ""
        if not self.sessions.allows(headers, LOOK):
            return 401, "This page asks for a token: one of the lines of its token file."
        if changing and not self.sessions.allows(headers, CHANGE):
            return 403, "This token is good for looking only."
        return 0, ""


def _is_open(path: str) -> bool:
    return not path.startswith("/api/") or path in OPEN


def _guarded(send: Any) -> Any:
    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            there = {name for name, _ in message["headers"]}
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in there]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return sent


async def _answer(send: Any, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""
