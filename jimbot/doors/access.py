"""Who may ask: tokens from a file, compared in constant time, read anew when the file changes.

One token per line; a second word limits what it is good for: `decide` (decisions only) or `look` (policies and health
only). Lines that begin with # are comments. To rotate, add the new token, move the clients, remove the old one. A file
that is empty or cannot be read while it is rewritten changes nothing; one that is deleted revokes every token.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import os
from collections.abc import Mapping
from pathlib import Path

from jimbot.errors import SettingsError, UnknownNameError

DECIDE, LOOK = "decide", "look"
SCOPES = (DECIDE, LOOK)
CHANGE = "change"
"""What only a token without a limit is good for."""
SHORTEST = 16  # characters of a token
_log = logging.getLogger("jimbot.doors")


class Tokens:
    """The tokens of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._known = self._read()

    def allows(self, token: str, scope: str) -> bool:
        """Whether a token is good for this; every known one is compared, so that time tells nothing."""
        self._read_if_changed()
        given, good = token.encode(errors="surrogatepass"), False
        for known, limit in self._known:
            good |= hmac.compare_digest(given, known) and limit in ("", scope)
        return good

    def _read_if_changed(self) -> None:
        """Once per change of the file; while it cannot be used, the last good tokens stay good."""
        try:
            about = self._path.stat()
        except FileNotFoundError:
            if self._known:
                _log.warning("The token file %s is gone; every token is revoked.", self._path)
            self._known, self._stamp = [], None
            return
        except OSError:
            return
        stamp = _stamp(about)
        if stamp == self._stamp:
            return
        try:
            self._known = self._read()
        except SettingsError as problem:
            _log.warning("%s The tokens known before stay good.", problem)
        self._stamp = stamp

    def _read(self) -> list[tuple[bytes, str]]:
        try:
            about, text = self._path.stat(), self._path.read_text()
        except (OSError, UnicodeDecodeError) as problem:
            raise SettingsError(f"The token file {self._path} cannot be read: {problem}.") from None
        known = []
        for line in text.splitlines():
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) > 1 and words[1] not in SCOPES:
                raise SettingsError(str(UnknownNameError("scope of a token", words[1], SCOPES)))
            if len(words[0]) < SHORTEST:
                raise SettingsError(f"A token in {self._path} is shorter than {SHORTEST} characters; make longer ones.")
            known.append((words[0].encode(), words[1] if len(words) > 1 else ""))
        if not known:
            raise SettingsError(f"The token file {self._path} holds no token; write one per line.")
        self._stamp = _stamp(about)
        return known


def _stamp(about: os.stat_result) -> tuple[int, int, int]:
    return about.st_mtime_ns, about.st_ctime_ns, about.st_size


class Bearers:
    """Requests that show a token as `Authorization: Bearer TOKEN`."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens

    def allows(self, headers: Mapping[str, str], scope: str) -> bool:
        token = self.token(headers)
        return bool(token) and self.tokens.allows(token, scope)

    def token(self, headers: Mapping[str, str]) -> str:
        """What a request shows; nothing: empty."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        return token.strip() if kind.lower() == "bearer" else ""


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can reach an address."""
    if host.startswith("unix:") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, token: bool, tls: bool = False, flag: str = "--token-file", tls_flags: str = "") -> None:
    """Refuses to serve other machines without asking who is there."""
    if is_loopback(host) or token or tls:
        return
    ways = f"{flag} or {tls_flags}" if tls_flags else flag
    raise SettingsError(
        f"The address {host} can be reached by other machines, and any program there may ask; add {ways}, or listen "
        "on 127.0.0.1."
    )
