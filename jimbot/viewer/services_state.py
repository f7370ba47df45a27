"""How the services are that run beside the page: the decision service, the bus, and what was decided lately."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from jimbot.clients.decision_client import DEFAULT_ADDRESS, DecisionClient
from jimbot.clients.event_bus import EventBusClient, unpacked
from jimbot.clients.resilience import Patience
from jimbot.errors import JimbotError
from jimbot.games.contract import game_entry, games_with
from jimbot.services.bus.embedded import file_of, store_of
from jimbot.services.live_play.client import LiveClient

EMBEDDED = "embedded:"
DECISIONS = "learning.decision.response"
LOOKED_AT = 400  # events at the end of the log among which decisions are looked for
MOST_SHOWN = 40
PATIENCE = Patience(deadline=1.5, cap=1.5, attempts=1)
BUS_SECONDS = 4.0


def hosted_game() -> tuple[str, str]:
    """The game that can run in another program, and where it usually does."""
    game = games_with("live")[0]
    protocol = game_entry(game).live
    assert protocol is not None
    return game, f"http://127.0.0.1:{protocol.port}"


class Services:
    """Where they are, and how they are when somebody looks."""

    def __init__(self, serve: str = "", bus: str = "", runs: Path = Path("runs"), live: str = "") -> None:
        self.serve = serve or DEFAULT_ADDRESS
        self.game, self.live = hosted_game()
        self.live = live or self.live
        self.bus = bus if bus and bus != EMBEDDED[:-1] else f"{EMBEDDED}{runs / 'bus.sqlite'}"

    async def document(self) -> dict[str, Any]:
        decision, live = asyncio.to_thread(self._decision), asyncio.to_thread(self._live)
        found = await asyncio.gather(decision, self._bus(), live)
        return dict(zip(("decision", "bus", "live"), found, strict=True))

    def _live(self) -> dict[str, Any]:
        """The game that another program hosts; nobody there is nothing wrong."""
        try:
            LiveClient(self.live, deadline=PATIENCE.deadline).call("health", {})
        except JimbotError as problem:
            return {"address": self.live, "game": self.game, "well": False, "words": str(problem)}
        return {"address": self.live, "game": self.game, "well": True, "words": "A game is there to be looked at."}

    def _decision(self) -> dict[str, Any]:
        began = time.monotonic()
        try:
            with DecisionClient(self.serve, patience=PATIENCE) as client:
                answer = client.policies()
        except JimbotError as problem:
            return {"address": self.serve, "well": False, "words": str(problem), "policies": []}
        policies = [
            {
                "game": one.identity.game,
                "name": one.identity.name,
                "version": one.identity.version,
                "status": one.status,
                "share": one.canary_share,
            }
            for one in answer.policies
        ]
        words = f"answers in {1000 * (time.monotonic() - began):.0f} ms, version {answer.server_version}"
        return {"address": self.serve, "well": True, "words": words, "policies": policies}

    async def _bus(self) -> dict[str, Any]:
        found: dict[str, Any] = {"address": self.bus, "well": False, "there": True, "topics": []}
        found |= {"readers": [], "decisions": []}
        if self.bus.startswith(EMBEDDED) and not (store_of(self.bus).is_dir() or file_of(self.bus).is_file()):
            place = store_of(self.bus)  # opening it would create it
            words = f"There is no bus at {place} yet; it begins with the first event."
            return {**found, "there": False, "words": words}
        try:
            async with asyncio.timeout(BUS_SECONDS), EventBusClient(self.bus) as client:
                about = await client.stats()
                decisions = await _decisions(client, int(about["end"]))
        except TimeoutError:
            return {**found, "words": f"The bus at {self.bus} did not answer in {BUS_SECONDS:g} s."}
        except JimbotError as problem:
            return {**found, "words": str(problem)}
        topics = [{"name": name, "events": one["events"]} for name, one in about["topics"].items()]
        readers = [{"name": name, "lag": one["lag"], "live": one["live"]} for name, one in about["readers"].items()]
        words = f"{about['events']:,} events, {about['bytes'] / 1e6:.1f} MB"
        return {**found, "well": True, "words": words, "topics": topics, "readers": readers, "decisions": decisions}


async def _decisions(client: EventBusClient, end: int) -> list[dict[str, Any]]:
    """The newest first."""
    found = []
    async for event in client.replay([DECISIONS], max(0, end - LOOKED_AT)):
        answer: Any = unpacked(event)
        found.append(
            {
                "time": event.timestamp_ns / 1e9,
                "game": answer.policy.game,
                "policy": answer.policy.name,
                "move": answer.selected_action.words or answer.selected_action.label,
                "confidence": answer.confidence,
                "milliseconds": answer.timing.total_ms,
                "refusal": answer.refusal.message if answer.HasField("refusal") else "",
            }
        )
    return found[: -MOST_SHOWN - 1 : -1]
