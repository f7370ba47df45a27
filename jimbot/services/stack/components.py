"""The table of programs that make up JimBot on one machine: what each is for, its command, its port and its extra."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jimbot.errors import MissingExtraError, UnknownNameError, UsageError
from jimbot.games.contract import game_entry, games_with
from jimbot.services.bus.publisher import check_bus
from jimbot.services.stack import health
from jimbot.services.stack.health import Check

HERE = "127.0.0.1"
COMMAND = "jimbot.cli.operate.up_child"
"""The module a child runs: the command line, ended with its parent."""
PORTS = {"serve": 50051, "figures": 9101, "ui": 8600, "graph": 8766, "events": 8765, "host": 0}
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
    """What `jimbot` is told to start it; none: nothing has to run for it."""
    missing: str = ""
    """The extra it needs and does not have."""
    nice: int = 0
    """How far it stands back where there is too little processor for all, as nice(1) counts."""
    module: str = COMMAND


@dataclass(frozen=True)
class StackSettings:
    """What somebody wants to have up."""

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

    return [
        Component("bus", "events between programs", bus, health.bus(bus), missing=no_bus),
        one(
            "serve", "decisions over gRPC and the bus", "serve", health.decisions(f"{HERE}:{ports['serve']}"),
            "serve", *policies, "--runs-dir", runs, *on_bus, "--metrics-port", str(ports["figures"]), scheme="",
        ),
        one("ui", "the page", "ui", health.page(at("ui", "/api/hello")), "ui", "--runs", runs, *on_bus, "--serve",
            f"{HERE}:{ports['serve']}", "--live", at("host")),
        one("graph", "what is known, as GraphQL", "graph", health.page(at("graph", "/graphql")), "graph", "serve"),
        one(
            "events", "what mods push, to the bus", "events",
            health.page(at("events", "/health"), lambda said: f"{said['accepted']:,} events taken"),
            "host", "events", *on_bus, missing=no_bus,
        ),
        one("host", f"{hosted[0]} in the place of the bought game", "host", health.live_game(at("host")), "host",
            hosted[0]),
    ]  # fmt: skip


def _missing(name: str) -> str:
    extra, modules = EXTRAS.get(name, ("", ()))
    return extra if any(importlib.util.find_spec(module) is None for module in modules) else ""


def _missing_bus(settings: StackSettings) -> str:
    """The extra that the bus needs; whoever named a bus is told in a sentence."""
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
                name = one.name if flag == "--port" else "figures"
                raise UsageError(
                    f"Port {port}, which {one.name} needs, is taken ({problem.strerror}): is it running already? "
                    f"Choose another with --port {name}=PORT, or leave it out with --without {one.name}."
                ) from problem
