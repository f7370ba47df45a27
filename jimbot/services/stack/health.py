"""How each program is asked whether it is well: by what it is there for, not by whether its port is open.

A check answers with a few words for people, or raises. Whoever asks does so from a thread and with little patience.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Callable
from typing import Any

from jimbot.clients.event_bus import EventBusClient
from jimbot.clients.resilience import Patience
from jimbot.errors import JimbotError
from jimbot.services.live_play.client import LiveClient

SECONDS = 3.0  # of patience
Check = Callable[[], str]


class UnwellError(JimbotError):
    """It answers, and says that it is not well."""


def decisions(address: str) -> Check:
    """Which policies a decision service has ready."""

    def check() -> str:
        from jimbot.clients import DecisionClient

        with DecisionClient(address, patience=Patience(deadline=SECONDS, cap=SECONDS)) as client:
            found = client.policies().policies
        if not found:
            raise UnwellError("No policy is ready.")
        return ", ".join(f"{one.identity.game}/{one.identity.name} at {one.identity.version}" for one in found)

    return check


def page(url: str, words: Callable[[Any], str] = lambda answer: "answers") -> Check:
    """What a page of JSON says."""

    def check() -> str:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=SECONDS) as answer:
            text = answer.read(2**20).decode()
        return words(json.loads(text)) if text.startswith(("{", "[")) else words(text)

    return check


def live_game(address: str) -> Check:
    """Whether a simulator answers in the bought game's place."""

    def check() -> str:
        LiveClient(address, deadline=SECONDS).call("health", {})
        return "a game is ready"

    return check


def bus(address: str) -> Check:
    """How much a bus holds, and how far its slowest reader is."""

    async def look() -> dict[str, Any]:
        async with asyncio.timeout(SECONDS), EventBusClient(address) as client:
            return await client.stats()

    def check() -> str:
        found = asyncio.run(look())
        lag = max((reader["lag"] for reader in found["readers"].values()), default=0)
        return f"{found['events']:,} events, {lag:,} behind"

    return check
