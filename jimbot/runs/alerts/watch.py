"""Looks at figures by the rules: who watches is told once when something begins, and once when it is over.

`AlertWatch` is the bookkeeping, without a clock of its own. `AlertThread` asks it with every row and, from a thread,
every few seconds, since the rule that nothing comes must hold where nothing comes. A look costs microseconds.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from jimbot.background import Repeating
from jimbot.errors import JimbotError
from jimbot.runs.alerts.rules import RULES, Alert, Kind, Rule

BEAT = 5.0  # seconds between two looks where no row comes

_log = logging.getLogger("jimbot.runs")


class _Standing:
    """What is known of one rule: the figure's values within the window, since when it is bad, whether that was told."""

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
        """(the figure the rule is about, whether it is bad)."""
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
    """Told figures, answers which alerts have begun or ended."""

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        self._standings = [_Standing(rule) for rule in rules]

    def look(self, now: float, figures: Mapping[str, float]) -> list[Alert]:
        """`now` in seconds since 1970; a figure that is not given keeps its last value."""
        found = []
        for standing in self._standings:
            value = figures.get(standing.rule.metric)
            if value is not None and math.isfinite(value):
                standing.add(now, value)
            if standing.values and (alert := self._judged(standing, now)):
                found.append(alert)
        return found

    def _judged(self, standing: _Standing, now: float) -> Alert | None:
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

    `read` gives figures at every beat, where no rows come by themselves.
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

    def look(self, figures: Mapping[str, float]) -> None:
        """A new row of figures."""
        with self._lock:
            alerts = self._watch.look(time.time(), figures)
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
        except JimbotError as problem:  # the run is gone: whoever writes next says so better
            _log.debug("No alert could be sent: %s", problem)
            self._beats.close()
