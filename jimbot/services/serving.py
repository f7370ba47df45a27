"""Everything `jimbot serve` puts together: policies, the door, metrics, the log, traces; and how it ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

from jimbot.adviser.adviser import open_adviser
from jimbot.adviser.question import graph_hints
from jimbot.adviser.settings import AdviserSettings
from jimbot.background import Repeating
from jimbot.clients import bus_tracing
from jimbot.clients.bus_contract import BusMetrics
from jimbot.clients.event_bus import EventBusClient
from jimbot.errors import JimbotError, KnowledgeError, UsageError
from jimbot.games.contract import game_entry
from jimbot.knowledge import KnowledgeGraphClient
from jimbot.knowledge.acting import ActingPolicy, prior_of
from jimbot.planning import OwnSearch, Planner, planning
from jimbot.policies.contract import Policy
from jimbot.policies.players import Player, find_player
from jimbot.policies.portable import load_policy
from jimbot.proto.events_pb2 import Event, LearningDecisionResponse, RunEvent
from jimbot.runs.alerts import Alert, AlertThread
from jimbot.runs.checkpoint import find_checkpoint
from jimbot.runs.sinks.http import WebhookSink, open_webhook
from jimbot.services.bus.publisher import BackgroundPublisher, open_publisher
from jimbot.services.bus.run_events import ALERT
from jimbot.services.decision import CanaryRule, DecisionService, ServedPolicy
from jimbot.services.decision.metrics import ServiceMetrics
from jimbot.services.decision.question import DecisionRecord
from jimbot.services.decision.refusal import refusal_message
from jimbot.services.decision.stages import Hinting
from jimbot.services.listeners import DecisionLog
from jimbot.services.orchestrator import RayLearningOrchestrator
from jimbot.services.prometheus import open_metrics
from jimbot.services.ray_policies import on_ray
from jimbot.services.settings import ACT, TELL, Offer, ServerSettings

MINE = "mine"
SAVED = ("checkpoint", "best")
"""The kinds of run.event after which a run has a policy that it did not have before."""
_log = logging.getLogger("jimbot.services")


def served_policy(reference: str, offer: Offer) -> ServedPolicy:
    """The policy a person means, ready to be served."""
    name, given, rest = reference.partition("=")
    named = bool(given) and "/" not in name
    player = find_player(rest if named else reference, offer.game, runs_root=offer.runs_dir)
    short = name if named else "shipped" if player.name.endswith("(shipped)") else player.name
    leant = leaning(player.policy, player.game, offer)
    return on_ray(ServedPolicy.make(player.entry, leant, player.manifest, short), offer.ray)


def leaning(policy: Policy, game: str, offer: Offer) -> Policy:
    """The policy, leaning to what the graph says if that was asked for. The graph is read now, not at decisions."""
    if offer.hints != ACT:
        return policy
    client = KnowledgeGraphClient(None if offer.graph == MINE else offer.graph)
    try:
        return ActingPolicy(policy, prior_of(client.whole())) if client.game == game else policy
    finally:
        client.close()


def load(
    service: DecisionService, offer: Offer, notify: Callable[[str], None] = lambda _: None
) -> RunWatch | None:  # fmt: skip
    """Adds all policies of an offer to a service; what follows a run is returned, to be closed."""
    if not offer.policies and offer.watch_run is None:
        raise UsageError("Nothing to serve; name a policy (a game for its shipped one), or --watch-run RUN.")
    if offer.hints not in (TELL, ACT):
        raise UsageError(f"--hints is '{offer.hints}'; expected {TELL} or {ACT}.")
    if offer.hints == ACT and offer.graph is None:
        raise UsageError("--hints act needs a graph to act on; add --graph mine, or name one.")
    watch = None
    if offer.watch_run is not None:
        which: Literal["latest", "best"] = "latest" if offer.watch_latest else "best"
        lean = partial(leaning, offer=offer)
        watch = RunWatch(service, offer.watch_run, offer.runs_dir, which=which, actors=offer.ray, lean=lean)
        watch.start()
    if (offer.plan is not None or offer.plan_with is not None) and offer.adviser is not None:
        raise UsageError("Both --plan and --adviser may overrule a policy; give one of them.")
    for reference in offer.policies:
        served = served_policy(reference, offer)
        service.add(served)
        _plan(service, served, offer, notify)
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
        _add_advisers(service, offer, offer.adviser, notify)
    return watch


def _plan(service: DecisionService, served: ServedPolicy, offer: Offer, notify: Callable[[str], None]) -> None:
    """Lets a policy look ahead, if that was asked for."""
    alone = Player(served.name, served.policy, served.spec.id, dict(served.options), served.manifest)
    planner = planning(alone, offer.plan, offer.plan_with).policy
    if isinstance(planner, Planner | OwnSearch):
        service.look_ahead(served, planner)
        notify(f"{served.spec.id}/{served.name} looks ahead: up to {offer.plan} simulations while a request has time.")


def _add_advisers(
    service: DecisionService, offer: Offer, settings: AdviserSettings, notify: Callable[[str], None]
) -> None:
    """One for every game of one player."""
    for about in service.policies().policies:
        game = about.identity.game
        if game in service.advising.advisers or game_entry(game).two_sides is not None:
            continue
        served = service.find(game, "").served
        run = f"serve {game} {time.strftime('%Y-%m-%d %H:%M:%S')}"
        adviser = open_adviser(settings, served.policy, served.manifest, run, graph_hints(served.entry), notify)
        adviser.warm(served.entry, served.options)
        service.advise(game, adviser)


def ask_graph(service: DecisionService, address: str, notify: Callable[[str], None]) -> None:
    """Answers come with what the knowledge graph says; if it is away, without."""
    client = KnowledgeGraphClient(None if address == MINE else address)
    if not service.policies(client.game).policies:
        raise UsageError(f"--graph knows the game '{client.game}', for which nothing is served; serve a policy of it.")
    service.hinting = Hinting(client, service.metrics)
    try:
        client.joker_synergies(client.names.all("Joker")[:2])  # reads what every decision will ask for
        notify(f"Hints: {len(client.names.all('Joker'))} jokers in {client.store.address}.")
    except KnowledgeError as problem:
        notify(f"Without hints for now: {problem}")


async def serve(
    offer: Offer,
    door: ServerSettings,
    notify: Callable[[str], None] = lambda _: None,
    opened: Callable[[Any], None] = lambda _: None,
) -> None:
    """Serves until SIGTERM or Ctrl+C, then ends in order. `notify` gets sentences for people, `opened` gets the
    server once it is ready."""
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
        from jimbot.services.listeners import Tracing

        tracing = Tracing()
        bus_tracing.provider = tracing.provider
        service.listeners.append(tracing)
        closing.append(tracing.close)
    webhook = open_webhook(offer.alert_webhook, WHO)
    server = DecisionServer(service, door)
    worker: RayLearningOrchestrator | None = None
    publisher: BackgroundPublisher | None = None
    await server.start()
    try:
        watch = await asyncio.to_thread(load, service, offer, notify)
        if watch is not None:
            closing.insert(0, watch.close)
        if offer.graph is not None:
            await asyncio.to_thread(ask_graph, service, offer.graph, notify)
        if offer.bus is not None:
            publisher = open_publisher(offer.bus)
            closing.append(publisher.close)
            worker = await _over_bus(service, offer.bus, publisher)
            if watch is not None:
                await worker.event_bus.subscribe(["run.event"], watch.hear)
            notify(f"Answering on the bus {offer.bus}.")
        bus_metrics = worker.event_bus.metrics if worker is not None else None
        closing.insert(0, ServiceAlerts(service.metrics, bus_metrics, publisher, webhook).close)
        if offer.metrics_port is not None:
            port, close = open_metrics(service, door.host, offer.metrics_port, bus_metrics, door.token_file)
            closing.append(close)
            notify(f"Metrics: http://{door.host}:{port}/metrics")
        closing.append(_settle_down())
        await server.ready()
        for about in service.policies().policies:
            notify(f"{about.identity.game}/{about.identity.name}: step {about.identity.version}, {about.status}")
        notify(f"Listening on {server.address}. Ask: jimbot ask FILE.json --address {server.address}")
        opened(server)
        await stop.wait()
        notify("Stopping: no new work; what was taken is finished.")
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


async def _over_bus(service: DecisionService, address: str, publisher: BackgroundPublisher) -> RayLearningOrchestrator:
    """Questions of the bus are answered, decisions of the other doors published there."""
    worker = RayLearningOrchestrator(EventBusClient(address), service)
    await worker.start()
    service.listeners.append(DecisionPublisher(publisher, worker.is_asked))
    return worker


# Decisions made over gRPC or in the process, published on the bus; those asked over the bus are answered there
# anyway, and messages of many rows have no single action.


class DecisionPublisher:
    """A listener of a decision service."""

    def __init__(self, publisher: BackgroundPublisher, asked_over_bus: Callable[[str], bool]) -> None:
        self._publisher, self._asked_over_bus = publisher, asked_over_bus

    def __call__(self, record: DecisionRecord) -> None:
        if record.rows or self._asked_over_bus(record.request.request_id):
            return
        answer = record.answer or LearningDecisionResponse(request_id=record.request.request_id)
        if record.refusal is not None:
            answer.refusal.CopyFrom(refusal_message(record.refusal))
        session = record.request.session_id or record.request.request_id
        self._publisher.offer("learning.decision.response", answer, session)


# Alerts of a decision service: the rules of `jimbot.runs.alerts`, over what the service and its bus count.


WHO = "serve"
"""The name alerts of a service come under, where those of a run have the run's."""


class ServiceAlerts:
    """Looks at a service's metrics every few seconds, until closed; notifies the log, the bus and a webhook."""

    def __init__(
        self,
        metrics: ServiceMetrics,
        bus: BusMetrics | None,
        publisher: BackgroundPublisher | None,
        webhook: WebhookSink | None,
    ) -> None:
        self._metrics, self._bus, self._publisher, self._webhook = metrics, bus, publisher, webhook
        self._alerts = AlertThread(self.notify, self.read).start()

    def read(self) -> dict[str, float]:
        """The metrics rules speak of, over all games."""
        found = {
            "serve/shed_total": float(self._metrics.shed.total()),
            "serve/illegal_actions_total": float(self._metrics.illegal.total()),
        }
        if self._bus is not None:
            found["bus/lag"] = max(dict(self._bus.lag).values(), default=0.0)
        return found

    def notify(self, alert: Alert) -> None:
        _log.warning("%s", alert.text)
        if self._webhook is not None:
            self._webhook.alert(0, time.time(), alert)
        if self._publisher is not None:
            event = RunEvent(run=WHO, kind=ALERT, message=alert.text, path=alert.rule.runbook)
            self._publisher.offer("run.event", event, WHO)

    def close(self) -> None:
        self._alerts.close()
        if self._webhook is not None:
            self._webhook.close()


# Follows a training run: whenever it has a better policy, the service takes it, after a look at it.


class RunWatch:
    """Polls a run's best or newest checkpoint, and looks at once where the bus tells of one. A bad file keeps the old
    policy and is not tried again."""

    def __init__(
        self, service: DecisionService, run: str, runs_root: Path = Path("runs"), seconds: float = 5.0, name: str = "",
        which: Literal["latest", "best"] = "best", actors: int = 0,
        lean: Callable[[Policy, str], Policy] = lambda policy, game: policy,
    ) -> None:  # fmt: skip
        self._service, self._run, self._root, self._which = service, run, runs_root, which
        self._actors, self._lean, self._looking = actors, lean, threading.Lock()
        self.name = name or Path(run).name
        self._seen: Path | None = None
        self._polling = Repeating(f"watch {run}", seconds, self.poll)

    def start(self) -> None:
        """Serves what the run has now (there must be something), then follows it."""
        path = self._newest()
        self._service.add(self._load(path))
        self._seen = path
        self._polling.start()

    def hear(self, event: Event) -> None:
        """An event of the bus: where a run of this name has saved, there may be something new."""
        told = RunEvent()
        event.payload.Unpack(told)
        if told.run == Path(self._run).name and told.kind in SAVED:
            self.poll()

    def poll(self) -> bool:
        """Takes the run's policy if it is a new one; whether it did."""
        with self._looking:
            return self._poll()

    def _poll(self) -> bool:
        try:
            path = self._newest()
            if path == self._seen:
                return False
            self._seen = path
            served = self._load(path)
            old = self._service.replace(served)
        except (
            Exception
        ) as problem:  # a checkpoint being removed, a damaged file, a model that fails: the old one stays
            reason = str(problem) if isinstance(problem, JimbotError) else f"{type(problem).__name__}: {problem}"
            _log.warning("The new policy of run '%s' is not taken; the old one goes on. %s", self._run, reason)
            return False
        _log.info("Run '%s': policy %s takes over from %s", self._run, served.version, old.version)
        return True

    def close(self) -> None:
        self._polling.close()

    def _newest(self) -> Path:
        return find_checkpoint(self._run, self._root, self._which)

    def _load(self, path: Path) -> ServedPolicy:
        policy, manifest = load_policy(path)
        assert manifest is not None
        policy = self._lean(policy, manifest.game)
        return on_ray(ServedPolicy.make(game_entry(manifest.game), policy, manifest, self.name), self._actors)
