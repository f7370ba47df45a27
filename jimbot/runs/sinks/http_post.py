"""Sending by HTTP for sinks, which do it in the background (`jimbot.background`)."""

from __future__ import annotations

import http.client
import ipaddress
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from jimbot.background import RefusedError
from jimbot.errors import SettingsError

POST_SECONDS = 10.0  # that one request may take
TRY_AGAIN = (408, 429)  # beside everything from 500 on: not the request's fault


def check_url(setting: str, url: str, schemes: tuple[str, ...] = ("http", "https")) -> str:
    """The address without a slash at its end; an error if it is none, or carries a password that files would keep."""
    parts = urlsplit(url)
    with suppress(ValueError):
        if parts.scheme in schemes and parts.hostname and parts.port != 0:
            if parts.username is None and parts.password is None:
                return url.rstrip("/")
            raise SettingsError(f"{setting} carries a password, which config.yaml would keep. Give it without one.")
    raise SettingsError(f"{setting} is {url!r}; expected an address like http://HOST:PORT.")


def post(url: str, body: bytes, headers: Mapping[str, str], seconds: float = POST_SECONDS) -> None:
    """Sends a body; `RefusedError` with the answer's words where trying again is useless."""
    proxies = urllib.request.ProxyHandler({} if _is_here(urlsplit(url).hostname or "") else None)
    request = urllib.request.Request(url, body, dict(headers), method="POST")
    try:
        with urllib.request.build_opener(proxies).open(request, timeout=seconds) as answer:
            answer.read(2**16)
    except urllib.error.HTTPError as problem:
        words = problem.read(500).decode(errors="replace").strip()
        if problem.code >= 500 or problem.code in TRY_AGAIN:
            raise OSError(f"{problem.code} {words}") from problem
        raise RefusedError(f"{problem.code} {words}") from problem
    except http.client.HTTPException as problem:
        raise OSError(str(problem) or type(problem).__name__) from problem


def _is_here(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
