"""The table of alerts. Each names a figure, when it is bad, for how long it must be so, and its runbook entry.

Training and serving look at the table themselves (`watch`); `prometheus_rules` writes the same for Prometheus, which
sees the same figures under their names there. A rule's runbook entry is the heading of its own name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from jimbot.runs.sinks.prometheus import ROW_TIME, prometheus_name

RUNBOOK = "docs/operations/runbook.md"
MINUTE = 60.0


class Kind(StrEnum):
    """When a figure is bad."""

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
    """A sentence; {value} is the figure as `shown` writes it."""
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
