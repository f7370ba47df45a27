"""Who may ask: tokens from a file, compared in constant time, read anew when the file changes.

One token per line; a second word limits what it is good for: `decide` (decisions only) or `look` (policies and health
only). Lines that begin with # are comments. To rotate, add the new token, move the clients, remove the old one.
"""

from __future__ import annotations

import hmac
import ipaddress
from pathlib import Path

from jimbot.errors import SettingsError, UnknownNameError

DECIDE, LOOK = "decide", "look"
SCOPES = (DECIDE, LOOK)
SHORTEST = 16  # characters of a token


class Tokens:
    """The tokens of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._known: list[tuple[bytes, str]] = []
        self._read()

    def allows(self, token: str, scope: str) -> bool:
        """Whether a token is good for this; every known one is compared, so that time tells nothing."""
        self._read_if_changed()
        given, good = token.encode(), False
        for known, limit in self._known:
            good |= hmac.compare_digest(given, known) and limit in ("", scope)
        return good

    def _read_if_changed(self) -> None:
        try:
            about = self._path.stat()
        except OSError:  # being replaced just now; those known stay good
            return
        if (about.st_mtime_ns, about.st_size) != self._stamp:
            self._read()

    def _read(self) -> None:
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
                raise UnknownNameError("scope of a token", words[1], SCOPES)
            if len(words[0]) < SHORTEST:
                raise SettingsError(f"A token in {self._path} is shorter than {SHORTEST} characters; make longer ones.")
            known.append((words[0].encode(), words[1] if len(words) > 1 else ""))
        if not known:
            raise SettingsError(f"The token file {self._path} holds no token; write one per line.")
        self._known, self._stamp = known, (about.st_mtime_ns, about.st_size)


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can reach an address."""
    if host.startswith("unix:") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, token: bool, tls: bool) -> None:
    """Refuses to serve the world without asking who is there."""
    if not (is_loopback(host) or token or tls):
        raise SettingsError(
            f"The address {host} can be reached by other machines, but neither a token file nor TLS is set; add "
            "--token-file or --tls-cert and --tls-key, or listen on 127.0.0.1."
        )
