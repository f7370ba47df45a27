"""The table of programs that make up JimBot on one machine: what each is for, its command, its port and its extra."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import socket
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from jimbot.clients.event_bus import EventBusClient
from jimbot.clients.resilience import RetryPolicy
from jimbot.errors import JimbotError, MissingExtraError, UnknownNameError, UsageError
from jimbot.games.contract import game_entry, games_with
from jimbot.services.bus.publisher import check_bus
from jimbot.services.live_play.client import LiveClient

SECONDS = 3.0  # for an answer
Check = Callable[[], str]


class UnwellError(JimbotError):
    """It answers, and says that it is not well."""


def check_decisions(address: str) -> str:
    """Which policies a decision service has ready."""
    from jimbot.clients import DecisionClient

    with DecisionClient(address, patience=RetryPolicy(deadline=SECONDS, cap=SECONDS)) as client:
        found = client.policies().policies
    if not found:
        raise UnwellError("No policy is ready.")
    return ", ".join(f"{one.identity.game}/{one.identity.name} at {one.identity.version}" for one in found)


def check_page(url: str, words: Callable[[Any], str] = lambda answer: "answers") -> str:
    """What a page of JSON says."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=SECONDS) as answer:
        text = answer.read(2**20).decode()
    return words(json.loads(text)) if text.startswith(("{", "[")) else words(text)


def check_live_game(address: str) -> str:
    """Whether a simulator answers in the bought game's place."""
    LiveClient(address, deadline=SECONDS).call("health", {})
    return "a game is ready"


def check_bus_stats(address: str) -> str:
    """How much a bus holds, and how far its slowest reader is."""

    async def stats() -> dict[str, Any]:
        async with asyncio.timeout(SECONDS), EventBusClient(address) as client:
            return await client.stats()

    found = asyncio.run(stats())
    lag = max((reader["lag"] for reader in found["readers"].values()), default=0)
    return f"{found['events']:,} events, {lag:,} behind"


HERE = "127.0.0.1"
COMMAND = "jimbot.cli.doors.up"
"""The module a child runs: the command line, ended with its parent."""
PORTS = {"serve": 50051, "metrics": 9101, "ui": 8600, "graph": 8766, "events": 8765, "host": 0}
"""Where each listens unless told otherwise; the simulator where the bought game's mod does."""
EXTRAS = {
    "serve": ("serve", ("grpc", "grpc_health", "grpc_reflection", "prometheus_client")),
    "graph": ("graph", ("strawberry",)),
}
"""Name: its extra, and the modules by which one knows that it is installed."""


@dataclass(frozen=True)
class Component:
    """One program."""

    name: str
    what: str
    where: str
    check: Check
    words: tuple[str, ...] = ()
    """What `jimbot` is given to start it; none: nothing has to run for it."""
    missing: str = ""
    """The extra it needs and does not have."""
    nice: int = 0
    """How far it stands back where there is too little processor for all, as nice(1) counts."""
    module: str = COMMAND


@dataclass(frozen=True)
class StackSettings:
    """What the user wants to have up."""

    policies: Sequence[str] = ()
    """As `jimbot serve` takes them; none: the shipped ones of games that can be hosted."""
    watch_run: str | None = None
    runs_dir: Path = Path("runs")
    bus: str | None = None
    """None: a server of this machine, its events in the folder of the runs."""
    without: Sequence[str] = ()
    ports: Mapping[str, int] = field(default_factory=dict)

    @property
    def bus_address(self) -> str:
        return self.bus or f"embedded:{self.runs_dir / 'bus.sqlite'}"


def components(settings: StackSettings) -> list[Component]:
    """What is to be up, in the order in which it is started; refuses unknown names and ports that are taken."""
    found = [one for one in _all(settings) if one.name not in settings.without]
    known = {one.name for one in _all(settings)}
    for name in settings.without:
        if name not in known:
            raise UnknownNameError("component", name, known)
    for name in settings.ports:
        if name not in PORTS:
            raise UnknownNameError("component with a port", name, PORTS)
    for one in found:
        if one.words and not one.missing:
            _require_free(one)
    return found


def _all(settings: StackSettings) -> list[Component]:
    ports = {**PORTS, **settings.ports}
    hosted = games_with("live")
    live = game_entry(hosted[0]).live
    assert live is not None
    ports["host"] = ports["host"] or live.port
    policies = [*settings.policies, *(("--watch-run", settings.watch_run) if settings.watch_run else ())] or hosted
    bus, runs, no_bus = settings.bus_address, str(settings.runs_dir), _missing_bus(settings)
    on_bus = () if no_bus else ("--bus", bus)

    def one(
        name: str, what: str, port: str, check: Check, *words: str, scheme: str = "http://", missing: str = ""
    ) -> Component:
        where = f"{scheme}{HERE}:{ports[port]}"
        return Component(name, what, where, check, (*words, "--port", str(ports[port])), _missing(name) or missing)

    def at(port: str, path: str = "") -> str:
        return f"http://{HERE}:{ports[port]}{path}"

    def page(port: str, path: str, *words: Callable[[Any], str]) -> Check:
        return partial(check_page, at(port, path), *words)

    return [
        Component("bus", "events between programs", bus, partial(check_bus_stats, bus), missing=no_bus),
        one(
            "serve", "decisions over gRPC and the bus", "serve", partial(check_decisions, f"{HERE}:{ports['serve']}"),
            "serve", *policies, "--runs-dir", runs, *on_bus, "--metrics-port", str(ports["metrics"]), scheme="",
        ),
        one(
            "ui", "the page", "ui", page("ui", "/api/hello"),
            "ui", "--runs", runs, *on_bus, "--serve", f"{HERE}:{ports['serve']}", "--live", at("host"),
        ),
        one("graph", "what is known, as GraphQL", "graph", page("graph", "/graphql"), "graph", "serve"),
        one(
            "events", "what mods push, to the bus", "events",
            page("events", "/health", lambda said: f"{said['accepted']:,} events taken"),
            "host", "events", *on_bus, missing=no_bus,
        ),
        one(
            "host", f"{hosted[0]} in the place of the bought game", "host", partial(check_live_game, at("host")),
            "host", hosted[0],
        ),
    ]  # fmt: skip


def _missing(name: str) -> str:
    extra, modules = EXTRAS.get(name, ("", ()))
    return extra if any(importlib.util.find_spec(module) is None for module in modules) else ""


def _missing_bus(settings: StackSettings) -> str:
    """The extra that the bus needs; a user who named a bus gets a sentence."""
    try:
        check_bus(settings.bus_address)
    except MissingExtraError:
        if settings.bus is not None:
            raise
        return "nats"
    return ""


def _require_free(one: Component) -> None:
    for flag in ("--port", "--metrics-port"):
        if flag not in one.words:
            continue
        port = int(one.words[one.words.index(flag) + 1])
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HERE, port))
            except OSError as problem:
                name = one.name if flag == "--port" else "metrics"
                raise UsageError(
                    f"Port {port}, which {one.name} needs, is taken ({problem.strerror}): is it running already? "
                    f"Choose another with --port {name}=PORT, or leave it out with --without {one.name}."
                ) from problem
