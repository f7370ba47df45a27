"""What the page adds to the guard that it stands behind: sessions of browsers, and what a browser may do with answers.

A browser shows a token once and gets a cookie for it. No answer lets a browser run anything but the page's own script.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie

from jimbot.doors.access import LOOK, Bearers, Tokens

COOKIE = "jimbot_page"
LOGIN = "/api/login"
OPEN = (LOGIN, "/api/hello")
MOST_SESSIONS = 1_000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""For a file that a run holds: it is shown, and nothing in it runs."""
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
