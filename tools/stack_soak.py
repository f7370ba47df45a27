"""`jimbot soak --stack`: a run that trains, everything that serves, a bot that plays, kills in turn; one report.

First training runs alone, so that there is a speed to compare with and a policy to serve. Then everything `jimbot up`
has is started beside it, with the run's policy: the service takes each better one, a bot plays the hosted game with
its decisions and asks an adviser now and then, probes ask every door at a steady beat, and the page for the run, the
decisions, the graph and the bot's game. Every so often the next program is killed without warning, training included,
and must come back by itself, the server of the bus included.

Training can wait, answers cannot: it stands back by `BACK`, so it takes what processor the services leave.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from jimbot.errors import JimbotError
from jimbot.games.contract import games_with
from jimbot.runs.checkpoint import CheckpointStore
from jimbot.runs.files import write_atomically
from jimbot.runs.sinks.jsonl import last_row, read_rows
from jimbot.services.bus.embedded import store_of
from jimbot.services.bus.local_server import join
from jimbot.services.stack.components import HERE, PORTS, Component, StackSettings, components
from jimbot.services.stack.supervisor import State, Supervisor
from tools import stack_probes as probes
from tools.stack_bot import Bot, Played, read_played
from tools.stack_probes import Probe

TRAIN, BOT, BUS = "train", "bot", "bus"
BACK = {TRAIN: 10, BOT: 5}
"""How far who can wait stands back, as nice(1) counts."""
BEAT = 0.25
CALM_SECONDS = 5.0  # a program must have been well for so long before a failure is its own
STALE_SECONDS = 300.0  # without a log row, and training does not count as well
RECOVERY_SECONDS = 900.0  # for a killed program to be back
START_SECONDS = 1800.0  # until training has a checkpoint, and until everything is up
TARGETS = {"decisions_p95_ms": 100.0, "bus_p95_ms": 10.0, "training_share": 0.8, "memory_mb": 8000.0}
"""What is asked of the whole under this load; the share is a least, the others are mosts."""


class SoakError(JimbotError):
    """The soak could not go on."""


@dataclass(frozen=True)
class StackSoak:
    """What to do."""

    hours: float = 1.0
    kill_minutes: float = 5.0
    alone_minutes: float = 5.0
    run: str = "soak-stack"
    runs_dir: Path = Path("runs")
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of training."""
    ports: Mapping[str, int] = field(default_factory=dict)


@dataclass
class StackReport:
    """What came of it."""

    hours: float = 0.0
    decisions: int = 0
    decisions_p50_ms: float = float("nan")
    decisions_p95_ms: float = float("nan")
    bus_p95_ms: float = float("nan")
    """What the bus adds to a decision, there and back between processes."""
    heartbeat_p95_ms: float = float("nan")
    """From publishing until it is heard."""
    graph_p95_ms: float = float("nan")
    page_p95_ms: float = float("nan")
    training_steps: int = 0
    training_alone: float = float("nan")
    """Steps per second, median of log rows."""
    training_beside: float = float("nan")
    training_share: float = float("nan")
    return_at_first: float = float("nan")
    """Mean return over the first and the last fifth of the rows."""
    return_at_last: float = float("nan")
    illegal_actions: int = 0
    reloads: int = 0
    """Policies of the run that the service took."""
    events: int = 0
    """That the run published and the bus holds."""
    bot: Played = field(default_factory=Played)
    memory_mb: float = 0.0
    """Largest of all processes together."""
    memory_slope_mb_per_hour: float = 0.0
    kills: dict[str, int] = field(default_factory=dict)
    recovery_seconds: dict[str, float] = field(default_factory=dict)
    """The longest until it was well again."""
    shown: dict[str, int] = field(default_factory=dict)
    """How often the page showed what it should."""
    failed: dict[str, int] = field(default_factory=dict)
    unexplained: dict[str, str] = field(default_factory=dict)
    """Failures while what was asked was well: how many, and the last one's words."""
    load_average: float = 0.0
    missed: list[str] = field(default_factory=list)
    """Targets that were not met."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def soak_stack(soak: StackSoak, note: Callable[[str], None] = lambda text: None) -> StackReport:
    """Runs it all; the report is also `soak.json` in the run's directory."""
    return _Soak(soak, note).run()


def training(soak: StackSoak, game: str, bus: str) -> Component:
    """The run, as one more program to be kept: killed, it goes on from its newest checkpoint."""
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in soak.settings.items()]
    own = (
        "--run",
        soak.run,
        "--runs-dir",
        str(soak.runs_dir),
        "--bus",
        bus,
        "--eval-games",
        "0",
        "--no-wandb",
        "--json",
    )
    rows = soak.runs_dir / soak.run / "metrics.jsonl"

    def check() -> str:
        row = last_row(rows)
        if row is None or time.time() - row["time"] > STALE_SECONDS:
            raise SoakError("No log row of late.")
        return f"step {row['step']:,}, {row.get('speed/steps_per_second') or 0:,.0f} steps/s"

    where = str(soak.runs_dir / soak.run)
    return Component(TRAIN, "a run that learns", where, check, (TRAIN, game, *own, *flags), nice=BACK[TRAIN])


def bot(game: str, service: str, host: str, path: Path) -> Component:
    """Somebody who plays the hosted game."""

    def check() -> str:
        played = read_played(path)
        if not played.moves or time.time() - path.stat().st_mtime > STALE_SECONDS:
            raise SoakError("No move of late.")
        return f"{played.moves:,} moves in {played.games:,} games"

    words = (game, service, host, str(path))
    return Component(BOT, "plays the hosted game", host, check, words, nice=BACK[BOT], module=Bot.__module__)


class _Soak:
    def __init__(self, soak: StackSoak, note: Callable[[str], None]) -> None:
        self.soak, self.note = soak, note
        self.game = games_with("live")[0]
        self.settings = StackSettings(watch_run=soak.run, runs_dir=soak.runs_dir, ports=soak.ports)
        self.bus = self.settings.bus_address
        self.report = StackReport()
        self.folder = soak.runs_dir / soak.run
        self.bot_path = self.folder / "bot.json"
        self._well_since: dict[str, float] = {}
        self._memory: list[tuple[float, float]] = []
        self._recovery: dict[str, list[float]] = defaultdict(list)
        self._reloads = 0

    def run(self) -> StackReport:
        began = time.time()
        train = training(self.soak, self.game, self.bus)
        folder = self.soak.runs_dir / ".soak"
        with Supervisor([train], folder) as alone:
            self._until(alone, self._has_policy, START_SECONDS, "training has no policy to serve")
            since = time.time()
            self.note(f"Training alone for {self.soak.alone_minutes:g} minutes…")
            self._go_on(alone, 60 * self.soak.alone_minutes)
            self.report.training_alone = self._speed(since)
        parts = components(self.settings)
        where = {one.name: one.where for one in parts}
        parts += [bot(self.game, where["serve"], where["host"], self.bot_path), train]
        with Supervisor(parts, folder) as supervisor:
            self._until(supervisor, lambda: supervisor.settled, START_SECONDS, "not everything came up")
            if not supervisor.well:
                raise SoakError(f"Not everything came up: {self._states(supervisor)}. The logs are in {folder}.")
            since = time.time()
            self._under_load(supervisor, 3600 * self.soak.hours)
            self.report.training_beside = self._speed(since)
        self.report.hours = (time.time() - began) / 3600
        self._sum_up()
        return self.report

    # --- the load ---

    def _under_load(self, supervisor: Supervisor, seconds: float) -> None:
        address = {one.component.name: one.component.where for one in supervisor.programs}
        asked = self._probes(address)
        for probe in asked:
            probe.calm = self._calm
            probe.start()
        self.note(f"Everything is up; {seconds / 60:.0f} minutes under load, a kill every {self.soak.kill_minutes:g}.")
        try:
            self._killing(supervisor, seconds, metrics_page(self.soak.ports))
        finally:
            for probe in asked:
                probe.close()
            self._sum_up_probes(asked)

    def _probes(self, address: Mapping[str, str]) -> list[Probe]:
        ui, run = address["ui"], f"/api/runs/0/{self.soak.run}"
        curve = f"{ui}{run}/curves?names=train/mean_episode_return"
        return [
            Probe("decisions", "serve", probes.decisions(address["serve"], self.game), 0.2),
            Probe("bus", ("serve", BUS), probes.decisions_over_bus(self.bus, self.game), 1.0),
            Probe("heartbeat", BUS, probes.heartbeats(self.bus), 1.0),
            Probe("graph", "graph", probes.page(f"{address['graph']}/graphql", '"data"', {"query": QUESTION}), 2.0),
            Probe("events", "events", probes.page(f"{address['events']}/api/v1/events", "accepted", _pushed()), 2.0),
            Probe("page", "ui", probes.page(f"{ui}/api/runs", self.soak.run), 2.0),
            Probe("page: the run", "ui", probes.page(curve, '"x":['), 5.0),
            Probe("page: decisions", ("ui", "serve", BUS), probes.page(f"{ui}/api/services", '"confidence"'), 5.0),
            Probe("page: the graph", "ui", probes.page(f"{ui}/api/knowledge", '"evidence"'), 5.0),
            Probe("page: the game", ("ui", "host", BOT), probes.shown_game(ui, self.game, address["host"]), 5.0),
        ]

    def _killing(self, supervisor: Supervisor, seconds: float, figures: str) -> None:
        ends = time.monotonic() + seconds
        names = [one.component.name for one in supervisor.programs if not one.component.missing]
        turn = 0
        while time.monotonic() < ends:
            self._go_on(supervisor, min(60 * self.soak.kill_minutes, max(0.0, ends - time.monotonic())))
            if time.monotonic() >= ends:
                break
            name = names[turn % len(names)]
            turn += 1
            if name == "serve":
                self._reloads += reloads(figures)  # counters begin anew with a new process
            if name == BUS:
                self._strike_bus()
            else:
                self._kill(supervisor, name)
        self._reloads += reloads(figures)

    def _kill(self, supervisor: Supervisor, name: str) -> None:
        program = next(one for one in supervisor.programs if one.component.name == name)
        process, restarts = program.process, program.restarts
        if process is None:
            return
        began, clock = time.monotonic(), time.time()
        self._well_since.pop(name, None)  # before it is killed: whatever fails from now on is explained
        os.kill(process.pid, signal.SIGKILL)
        self.report.kills[name] = self.report.kills.get(name, 0) + 1

        def back() -> bool:
            """Well again; a run only once it has learned something since."""
            learns = name != TRAIN or (last_row(self.folder / "metrics.jsonl") or {"time": 0.0})["time"] > clock
            return program.restarts > restarts and program.state is State.WELL and learns

        self._until(supervisor, back, RECOVERY_SECONDS, f"{name} did not come back")
        self._recovery[name].append(time.monotonic() - began)
        self.note(f"Killed {name}; well again after {self._recovery[name][-1]:.1f} s.")

    def _strike_bus(self) -> None:
        self._well_since.pop(BUS, None)
        self.report.kills[BUS] = self.report.kills.get(BUS, 0) + 1
        self._recovery[BUS].append(strike_bus(self.bus))
        self.note(f"Killed the bus; heard again after {self._recovery[BUS][-1]:.1f} s.")

    # --- looking ---

    def _tick(self, supervisor: Supervisor) -> None:
        supervisor.tick()
        now = time.monotonic()
        for one in supervisor.programs:
            name = one.component.name
            if one.state is not State.WELL or (one.process is not None and one.process.poll() is not None):
                self._well_since.pop(name, None)
            else:
                self._well_since.setdefault(name, now)
        if not self._memory or now - self._memory[-1][0] >= 5.0:
            self._memory.append((now, memory_mb()))

    def _calm(self, name: str) -> bool:
        since = self._well_since.get(name)
        return since is not None and time.monotonic() - since >= CALM_SECONDS

    def _go_on(self, supervisor: Supervisor, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self._tick(supervisor)
            time.sleep(BEAT)

    def _until(self, supervisor: Supervisor, met: Callable[[], bool], seconds: float, problem: str) -> None:
        ends = time.monotonic() + seconds
        while not met():
            if time.monotonic() > ends or any(one.state is State.GIVEN_UP for one in supervisor.programs):
                raise SoakError(f"The soak ended: {problem} ({self._states(supervisor)}).")
            self._tick(supervisor)
            time.sleep(BEAT)

    def _states(self, supervisor: Supervisor) -> str:
        return "; ".join(f"{one.component.name}: {one.state}, {one.says}" for one in supervisor.programs)

    def _has_policy(self) -> bool:
        return CheckpointStore(self.folder / "checkpoints").latest() is not None

    def _speed(self, since: float) -> float:
        """Steps per second of the rows written since; the first of a process compiles, which the median forgets."""
        rows = [row for row in read_rows(self.folder / "metrics.jsonl") if row["time"] > since]
        return float(np.median([row["speed/steps_per_second"] for row in rows])) if rows else float("nan")

    # --- the report ---

    def _sum_up_probes(self, asked: list[Probe]) -> None:
        report, by_name = self.report, {probe.name: probe for probe in asked}
        report.bot, report.decisions = read_played(self.bot_path), len(by_name["decisions"].taken)
        report.decisions_p50_ms = by_name["decisions"].milliseconds(50)
        for name in ("decisions", "bus", "heartbeat", "graph", "page"):
            setattr(report, f"{name}_p95_ms", by_name[name].milliseconds(95))
        report.failed = {probe.name: probe.failed for probe in asked if probe.failed}
        report.shown = {probe.name: len(probe.taken) for probe in asked if probe.name.startswith("page")}
        report.unexplained = {
            probe.name: f"{probe.unexplained}, the last: {probe.problem}" for probe in asked if probe.unexplained
        }

    def _sum_up(self) -> None:
        report = self.report
        report.training_share = report.training_beside / report.training_alone
        rows = read_rows(self.folder / "metrics.jsonl")
        returns = [row["train/mean_episode_return"] for row in rows if row.get("train/mean_episode_return") is not None]
        fifth = max(1, len(returns) // 5)
        if returns:
            report.return_at_first, report.return_at_last = np.mean(returns[:fifth]), np.mean(returns[-fifth:])
        report.training_steps = int(rows[-1]["step"]) if rows else 0
        report.illegal_actions = int(max((row.get("health/illegal_actions") or 0 for row in rows), default=0))
        report.reloads, report.events = self._reloads, _published(self.bus)
        report.recovery_seconds = {name: max(times) for name, times in self._recovery.items()}
        report.memory_mb = max((megabytes for _, megabytes in self._memory), default=0.0)
        report.memory_slope_mb_per_hour = _slope(self._memory)
        report.load_average = os.getloadavg()[0]
        report.missed = [name for name in TARGETS if not _met(name, getattr(report, name))]
        write_atomically(self.folder / "soak.json", json.dumps(report.to_dict(), indent=1, default=float).encode())


QUESTION = "{ jokers(first: 5) { name } }"


def _pushed() -> dict[str, Any]:
    """What a mod would push."""
    return {"type": "heartbeat", "timestamp": int(1000 * time.time()), "game_id": "soak", "data": {}}


def _met(name: str, value: float) -> bool:
    return value >= TARGETS[name] if name.endswith("share") else value <= TARGETS[name]


def strike_bus(address: str) -> float:
    """Kills this machine's server of the bus; seconds until somebody is heard again."""
    os.kill(join(store_of(address)).pid, signal.SIGKILL)
    began = time.monotonic()
    probes.heartbeats(address)()
    return time.monotonic() - began


def metrics_page(ports: Mapping[str, int]) -> str:
    """Where the service of a stack shows its metrics."""
    return f"http://{HERE}:{({**PORTS, **ports})['metrics']}/metrics"


def reloads(url: str) -> int:
    """How many policies a service has taken since it started, by its own figures; 0 where it does not answer."""
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=probes.SECONDS) as page:
            text = page.read().decode()
    except OSError:
        return 0
    return int(sum(float(one) for one in re.findall(r"^jimbot_serve_reloads_total\{.*swapped.*\} (\S+)$", text, re.M)))


def memory_mb() -> float:
    """Resident memory of this process and everything it started; shared parts are counted once, as the largest."""
    me = psutil.Process()
    total, shared = me.memory_info().rss, 0
    for child in me.children(recursive=True):
        try:
            found = child.memory_info()
        except psutil.Error:
            continue  # it ended meanwhile
        common = getattr(found, "shared", 0)
        total, shared = total + found.rss - common, max(shared, common)
    return (total + shared) / 1e6


def _slope(samples: list[tuple[float, float]]) -> float:
    """MB per hour of a straight line through the second half: by then everything is up."""
    half = samples[len(samples) // 2 :]
    if len(half) < 5:
        return 0.0
    hours = np.array([when for when, _ in half]) / 3600
    return float(np.polyfit(hours - hours[0], [megabytes for _, megabytes in half], 1)[0])


def _published(bus: str) -> int:
    import asyncio

    from jimbot.clients import EventBusClient

    async def look() -> int:
        async with EventBusClient(bus) as client:
            return int((await client.stats())["topics"].get("run.event", {}).get("events", 0))

    return asyncio.run(look())
