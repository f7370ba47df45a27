"""What is worth an alert: one table of rules, watched while training and serving, and given to Prometheus.

A rule names a metric, when it is bad, for how long it must be so, and its runbook entry, the heading of its own name.
`make rules` writes the table as Prometheus reads it.

`AlertWatch` is the bookkeeping, without a clock of its own: it reports once when something begins, and once when it is
over. `AlertThread` asks it with every row and, from a thread, every few seconds, since the rule that nothing comes must
hold where nothing comes. A look costs microseconds.
"""

from __future__ import annotations

import logging
import math
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import yaml

from jimbot.background import Repeating
from jimbot.errors import JimbotError

RUNBOOK = "docs/operations/runbook.md"
ROW_TIME = "run/row_time"
PREFIX = "jimbot_"
BASE_UNITS = {"health/rss_mb": ("health/rss_bytes", 2**20), "health/memory_mb": ("health/memory_bytes", 1e6)}
"""Metrics of a row that are shown in a base unit: their name there, and how much of it one is."""
MINUTE = 60.0


def prometheus_name(metric: str) -> str:
    """A metric's name there.

    >>> prometheus_name("train/entropy"), prometheus_name("stats/tag-won %"), prometheus_name("health/rss_mb")
    ('jimbot_train_entropy', 'jimbot_stats_tag_won__', 'jimbot_health_rss_bytes')
    """
    name, _ = BASE_UNITS.get(metric, (metric, 1))
    return PREFIX + re.sub(r"\W", "_", name, flags=re.ASCII)


class Kind(StrEnum):
    """When a metric is bad."""

    REACHES = "is at least the limit"
    RISES = "rose by at least the limit within the window"
    FALLS = "is below the limit times its mean over the window"
    SILENT = "is a time, and longer ago than the limit in seconds"


@dataclass(frozen=True)
class Rule:
    """One line of the table."""

    name: str
    metric: str
    kind: Kind
    limit: float
    seconds: float
    """For how long it must be so."""
    says: str
    """A sentence; {value} is the metric as `shown` writes it."""
    window: float = 0.0
    """Seconds looked back, for what rises or falls."""
    critical: bool = False
    shown: str = ",.0f"

    @property
    def severity(self) -> str:
        return "critical" if self.critical else "warning"

    @property
    def runbook(self) -> str:
        return f"{RUNBOOK}#{self.name.lower()}"

    @property
    def expression(self) -> str:
        """The same in Prometheus' words."""
        name, limit, window = prometheus_name(self.metric), f"{self.limit:g}", duration(self.window)
        match self.kind:
            case Kind.REACHES:
                return f"{name} >= {limit}"
            case Kind.RISES:  # what is counted and what is shown are asked differently there
                return f"{'increase' if name.endswith('_total') else 'delta'}({name}[{window}]) >= {limit}"
            case Kind.FALLS:
                return f"{name} < {limit} * avg_over_time({name}[{window}])"
            case Kind.SILENT:
                return f"time() - {name} > {limit}"


@dataclass(frozen=True)
class Alert:
    """A rule that has begun to fire, or has ended."""

    rule: Rule
    value: float
    firing: bool

    @property
    def text(self) -> str:
        """One line for people."""
        if not self.firing:
            return f"Alert {self.rule.name} is over."
        says = self.rule.says.format(value=format(self.value, self.rule.shown))
        return f"Alert {self.rule.name}: {says} See {self.rule.runbook}"


def duration(seconds: float) -> str:
    """As Prometheus writes it.

    >>> duration(300), duration(90), duration(0)
    ('5m', '90s', '0s')
    """
    whole = int(seconds)
    return f"{whole // 60}m" if whole and whole % 60 == 0 else f"{whole}s"


RULES = (
    Rule(
        "MemoryNearlyFull", "health/memory_share", Kind.REACHES, 0.8, MINUTE,
        "the run uses {value} of its memory limit.", shown=".0%",
    ),
    Rule(
        "IllegalActions", "health/illegal_actions", Kind.REACHES, 1, 0.0,
        "{value} illegal actions were played; there must be none.", critical=True,
    ),
    Rule(
        "EntropyCollapse", "health/entropy_collapse", Kind.REACHES, 1, MINUTE,
        "entropy is near 0 and nothing moves any more.",
    ),
    Rule(
        "SpeedHalved", "speed/steps_per_second", Kind.FALLS, 0.5, 5 * MINUTE,
        "training does {value} steps/s, less than half of what it did.", window=30 * MINUTE,
    ),
    Rule(
        "RunnersRestart", "health/runner_restarts", Kind.RISES, 3, 0.0,
        "{value} processes that play were started anew within ten minutes.", window=10 * MINUTE,
    ),
    Rule(
        "WorkersDie", "health/worker_died", Kind.RISES, 3, 0.0,
        "{value} simulators died within ten minutes.", window=10 * MINUTE,
    ),
    Rule(
        "NoProgress", ROW_TIME, Kind.SILENT, 15 * MINUTE, MINUTE,
        "no log row was written for {value} seconds.", critical=True,
    ),
    Rule(
        "DiskNearlyFull", "health/disk_share", Kind.REACHES, 0.95, MINUTE,
        "the disk of the run is {value} full.", critical=True, shown=".0%",
    ),
    Rule(
        "BusLag", "bus/lag", Kind.REACHES, 1000, 2 * MINUTE,
        "a reader of the bus lies {value} events behind.",
    ),
    Rule(
        "RequestsShed", "serve/shed_total", Kind.RISES, 1, MINUTE,
        "{value} requests were refused within five minutes because the queue was full.", window=5 * MINUTE,
    ),
    Rule(
        "IllegalDecisions", "serve/illegal_actions_total", Kind.REACHES, 1, 0.0,
        "a policy chose {value} illegal moves; none of them was sent.", critical=True,
    ),
)  # fmt: skip


HEAD = "# Made by `make rules` from jimbot/runs/alerts.py. Do not edit: change the table.\n"


def rules_file() -> str:
    """The whole file."""
    groups = [{"name": "jimbot", "rules": [_alert(rule) for rule in RULES]}]
    return HEAD + yaml.safe_dump({"groups": groups}, sort_keys=False, width=200)


def _alert(rule: Rule) -> dict[str, object]:
    value = "{{ $value | humanizePercentage }}" if rule.shown.endswith("%") else "{{ $value | humanize }}"
    return {
        "alert": rule.name,
        "expr": rule.expression,
        "for": duration(rule.seconds),
        "labels": {"severity": rule.severity},
        "annotations": {"summary": rule.says.replace("{value}", value), "runbook": rule.runbook},
    }


BEAT = 5.0  # seconds between two looks where no row comes

_log = logging.getLogger("jimbot.runs")


class _RuleState:
    """What is known of one rule: the metric's values within the window, since when it is bad, whether it fires."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.values: deque[tuple[float, float]] = deque()
        self.since: float | None = None
        self.firing = False

    def add(self, now: float, value: float) -> None:
        self.values.append((now, value))
        while len(self.values) > 1 and self.values[0][0] < now - self.rule.window:
            self.values.popleft()

    def measure(self, now: float) -> tuple[float, bool]:
        """(the metric the rule is about, whether it is bad)."""
        rule, value = self.rule, self.values[-1][1]
        match rule.kind:
            case Kind.REACHES:
                return value, value >= rule.limit
            case Kind.RISES:
                risen = value - min(value, self.values[0][1])
                return risen, risen >= rule.limit
            case Kind.FALLS:
                mean = sum(past for _, past in self.values) / len(self.values)
                return value, value < rule.limit * mean
            case Kind.SILENT:
                return now - value, now - value > rule.limit


class AlertWatch:
    """Takes metrics, answers which alerts have begun or ended."""

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        self._standings = [_RuleState(rule) for rule in rules]

    def look(self, now: float, metrics: Mapping[str, float]) -> list[Alert]:
        """`now` in seconds since 1970; a metric that is not given keeps its last value."""
        found = []
        for standing in self._standings:
            value = metrics.get(standing.rule.metric)
            if value is not None and math.isfinite(value):
                standing.add(now, value)
            if standing.values and (alert := self._judged(standing, now)):
                found.append(alert)
        return found

    def _judged(self, standing: _RuleState, now: float) -> Alert | None:
        value, bad = standing.measure(now)
        if not bad:
            standing.since = None
            was, standing.firing = standing.firing, False
            return Alert(standing.rule, value, False) if was else None
        if standing.since is None:
            standing.since = now
        if standing.firing or now - standing.since < standing.rule.seconds:
            return None
        standing.firing = True
        return Alert(standing.rule, value, True)


class AlertThread:
    """Calls `notify` for every alert, from whichever thread noticed it, until closed; also a context manager.

    `read` gives metrics at every beat, where no rows come by themselves.
    """

    def __init__(
        self,
        notify: Callable[[Alert], None],
        read: Callable[[], Mapping[str, float]] = dict,
        rules: Sequence[Rule] = RULES,
        beat: float = BEAT,
    ) -> None:
        self._watch, self._notify, self._read = AlertWatch(rules), notify, read
        self._lock = threading.Lock()
        self._beats = Repeating("jimbot-alerts", beat, self._beat, 5.0)

    def look(self, metrics: Mapping[str, float]) -> None:
        """A new row of metrics."""
        with self._lock:
            alerts = self._watch.look(time.time(), metrics)
        for alert in alerts:
            self._notify(alert)

    def start(self) -> Self:
        self._beats.start()
        return self

    def close(self) -> None:
        self._beats.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _beat(self) -> None:
        try:
            self.look(self._read())
        except JimbotError as problem:  # the run is gone: the next writer says so better
            _log.debug("No alert could be sent: %s", problem)
            self._beats.close()


if __name__ == "__main__":
    print(rules_file(), end="")
