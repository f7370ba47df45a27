"""Everything `jimbot serve` puts together: policies, the door, figures, the log, traces; and how it ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jimbot.advisor.adviser import open_adviser
from jimbot.advisor.settings import AdviserSettings
from jimbot.clients import bus_tracing
from jimbot.clients.event_bus import EventBusClient
from jimbot.errors import KnowledgeError, UsageError
from jimbot.games.contract import game_entry
from jimbot.knowledge import KnowledgeGraphClient
from jimbot.planning import OwnSearch, Planner, planning
from jimbot.policies.players import Player, find_player
from jimbot.runs.sinks.publishing import Publisher
from jimbot.runs.sinks.webhook import open_webhook
from jimbot.services.alerting import WHO, ServiceAlerts
from jimbot.services.bus.decision_events import DecisionPublisher
from jimbot.services.bus.publisher import open_publisher
from jimbot.services.decision import CanaryRule, DecisionService, ServedPolicy, ServiceSettings
from jimbot.services.decision.hinting import Hinting
from jimbot.services.decision_log import DecisionLog
from jimbot.services.graph_hints import graph_hints
from jimbot.services.orchestrator import RayLearningOrchestrator
from jimbot.services.prometheus import open_metrics
from jimbot.services.reload import RunWatch

MINE = "mine"
_log = logging.getLogger("jimbot.services")


@dataclass(frozen=True)
class Offer:
    """Which policies are served, and how."""

    policies: Sequence[str] = ()
    """As everywhere; `name=policy` gives one a name of its own."""
    game: str | None = None
    watch_run: str | None = None
    canary: str | None = None
    canary_share: float = 0.1
    shadow: str | None = None
    runs_dir: Path = Path("runs")
    metrics_port: int | None = None
    log: Path | None = None
    log_bodies: float = 0.0
    traces: bool = False
    service: ServiceSettings = field(default_factory=ServiceSettings)
    bus: str | None = None
    """Where questions are answered too, and decisions told."""
    alert_webhook: str | None = None
    adviser: AdviserSettings | None = None
    """Who is asked where a policy is not sure."""
    graph: str | None = None
    """The knowledge graph that is asked for hints: an address, or `mine`."""
    plan: int | None = None
    """Tries per decision, where a request carries a game and has time; None: no plans."""
    plan_with: str | None = None
    """Who plays them out; None: the policy."""


def served_policy(reference: str, offer: Offer) -> ServedPolicy:
    """The policy a person means, ready to be served."""
    name, given, rest = reference.partition("=")
    named = bool(given) and "/" not in name
    player = find_player(rest if named else reference, offer.game, runs_root=offer.runs_dir)
    short = name if named else "shipped" if player.name.endswith("(shipped)") else player.name
    return ServedPolicy.make(player.entry, player.policy, player.manifest, short)


def load(
    service: DecisionService, offer: Offer, told: Callable[[str], None] = lambda _: None
) -> RunWatch | None:  # fmt: skip
    """Adds all policies of an offer to a service; what follows a run is returned, to be closed."""
    if not offer.policies and offer.watch_run is None:
        raise UsageError("Nothing to serve; name a policy (a game for its shipped one), or --watch-run RUN.")
    watch = None
    if offer.watch_run is not None:
        watch = RunWatch(service, offer.watch_run, offer.runs_dir)
        watch.start()
    if (offer.plan is not None or offer.plan_with is not None) and offer.adviser is not None:
        raise UsageError("Both --plan and --adviser may overrule a policy; give one of them.")
    for reference in offer.policies:
        served = served_policy(reference, offer)
        service.add(served)
        _plan(service, served, offer, told)
    for reference, take in ((offer.canary, "canary"), (offer.shadow, "shadow")):
        if reference is None:
            continue
        served = served_policy(reference, offer)
        proven = service.policies(served.spec.id).policies
        if not proven:
            raise UsageError(
                f"The {take} '{reference}' plays game '{served.spec.id}', for which nothing is served; serve a policy "
                "of that game too."
            )
        first = proven[0].identity.name
        if take == "canary":
            service.try_out(served, first, CanaryRule(share=offer.canary_share))
        else:
            service.shadow(served, first)
    if offer.adviser is not None:
        _add_advisers(service, offer, offer.adviser, told)
    return watch


def _plan(service: DecisionService, served: ServedPolicy, offer: Offer, told: Callable[[str], None]) -> None:
    """Lets a policy look ahead, if that was asked for."""
    alone = Player(served.name, served.policy, served.spec.id, dict(served.options), served.manifest)
    planner = planning(alone, offer.plan, offer.plan_with).policy
    if isinstance(planner, Planner | OwnSearch):
        service.look_ahead(served, planner)
        told(f"{served.spec.id}/{served.name} looks ahead: up to {offer.plan} tries within a request's time limit.")


def _add_advisers(
    service: DecisionService, offer: Offer, settings: AdviserSettings, told: Callable[[str], None]
) -> None:
    """One for every game of one player."""
    for about in service.policies().policies:
        game = about.identity.game
        if game in service.advising.advisers or game_entry(game).two_sides is not None:
            continue
        served = service.find(game, "").served
        run = f"serve {game} {time.strftime('%Y-%m-%d %H:%M:%S')}"
        service.advise(
            game, open_adviser(settings, served.policy, served.manifest, run, graph_hints(served.entry), told)
        )


def ask_graph(service: DecisionService, address: str, told: Callable[[str], None]) -> None:
    """Answers come with what the knowledge graph says; if it is away, without."""
    client = KnowledgeGraphClient(None if address == MINE else address)
    if not service.policies(client.game).policies:
        raise UsageError(f"--graph knows the game '{client.game}', for which nothing is served; serve a policy of it.")
    service.hinting = Hinting(client, service.figures)
    try:
        client.joker_synergies(client.names.all("Joker")[:2])  # reads what every decision will ask for
        told(f"Hints: {len(client.names.all('Joker'))} jokers in {client.store.address}.")
    except KnowledgeError as problem:
        told(f"Without hints for now: {problem}")


async def serve(
    offer: Offer,
    door: Any,
    told: Callable[[str], None] = lambda _: None,
    opened: Callable[[Any], None] = lambda _: None,
) -> None:
    """Serves until SIGTERM or Ctrl+C, then ends in order. `door` are the ServerSettings; `told` hears sentences for
    people, `opened` gets the server once it is ready."""
    from jimbot.services.grpc_server import DecisionServer

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    service = DecisionService(offer.service)
    closing: list[Callable[[], None]] = []
    if offer.log is not None:
        log = DecisionLog(offer.log, bodies=offer.log_bodies)
        service.listeners.append(log)
        closing.append(log.close)
    if offer.traces:
        from jimbot.services.tracing import Tracing

        tracing = Tracing()
        bus_tracing.provider = tracing.provider
        service.listeners.append(tracing)
        closing.append(tracing.close)
    webhook = open_webhook(offer.alert_webhook, WHO)
    server = DecisionServer(service, door)
    worker: RayLearningOrchestrator | None = None
    publisher: Publisher | None = None
    await server.start()
    try:
        watch = await asyncio.to_thread(load, service, offer, told)
        if watch is not None:
            closing.insert(0, watch.close)
        if offer.graph is not None:
            await asyncio.to_thread(ask_graph, service, offer.graph, told)
        if offer.bus is not None:
            publisher = open_publisher(offer.bus)
            closing.append(publisher.close)
            worker = await _over_bus(service, offer.bus, publisher)
            told(f"Answering on the bus {offer.bus}.")
        figures = worker.event_bus.figures if worker is not None else None
        closing.insert(0, ServiceAlerts(service.figures, figures, publisher, webhook).close)
        if offer.metrics_port is not None:
            port, close = open_metrics(service, door.host, offer.metrics_port, figures, door.token_file)
            closing.append(close)
            told(f"Figures: http://{door.host}:{port}/metrics")
        closing.append(_settle_down())
        await server.ready()
        for about in service.policies().policies:
            told(f"{about.identity.game}/{about.identity.name}: step {about.identity.version}, {about.status}")
        told(f"Listening on {server.address}. Ask: jimbot ask FILE.json --address {server.address}")
        opened(server)
        await stop.wait()
        told("Stopping: no new work; what was taken is finished.")
    finally:
        if worker is not None:
            await worker.stop()
        await server.stop()
        if worker is not None:
            await worker.event_bus.close()
        for close in closing:
            await asyncio.to_thread(close)


def _settle_down() -> Callable[[], None]:
    """Python itself, set up for short answers: what is loaded by now stays and is not searched for garbage again, and
    a thread that wants the interpreter gets it within half a millisecond instead of five. How to undo it."""
    usual = sys.getswitchinterval()
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(0.0005)

    def undo() -> None:
        gc.unfreeze()
        sys.setswitchinterval(usual)

    return undo


async def _over_bus(service: DecisionService, address: str, publisher: Publisher) -> RayLearningOrchestrator:
    """Questions of the bus are answered, decisions of the other doors told there."""
    worker = RayLearningOrchestrator(EventBusClient(address), service)
    await worker.start()
    service.listeners.append(DecisionPublisher(publisher, worker.is_asked))
    return worker
