"""How a run that learns looks on a terminal: metrics with their curves, where the time goes, how long is left.

Pure drawing: `RunProgress` is all there is to know, `picture` makes it fit the console, of any size. Wide terminals
have panels side by side, narrow ones below each other; what does not fit in height is left out from the bottom of a
panel, never cut in the middle of a word.

The picture has a beat of its own, by the clock: metrics come with the first update and then every few seconds, however
far apart log rows are. Elsewhere than on a terminal it is plain lines at a steady beat.
"""

from __future__ import annotations

import time
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from jimbot.foreign_text import Terminal

MAIN = ("train/mean_episode_return", "population/best_score", "clone/validation_accuracy")
"""The curve a run is about: the first of these that it has."""
NARROW = 76  # columns below which panels stand below each other
_BLOCKS = "▁▂▃▄▅▆▇█"
_BORDER, _LEAST_METRICS = 2, 3  # rows of a panel: its border, and what makes it worth one
_LEAST_SHARE = 0.005  # of the time; less is not worth a line


class Shown(NamedTuple):
    """One metric of a panel."""

    label: str
    metric: str
    form: str
    curve: bool = False


PLAYING = (
    Shown("return", "train/mean_episode_return", "{:,.2f}", True),
    Shown("best score", "population/best_score", "{:,.2f}", True),
    Shown("mean score", "population/mean_score", "{:,.2f}", True),
    Shown("validation", "eval/mean_return", "{:,.2f}", True),
    Shown("length", "train/mean_episode_length", "{:,.0f}", True),
    Shown("games ended", "train/num_episodes", "{:,.0f}"),
)
LEARNING = (
    Shown("member", "population/member", "{:.0f}"),
    Shown("generation", "population/generation", "{:.0f}"),
    Shown("epoch", "clone/epoch", "{:.0f}"),
    Shown("loss", "clone/loss", "{:.4f}", True),
    Shown("accuracy", "clone/accuracy", "{:.1%}", True),
    Shown("val. loss", "clone/validation_loss", "{:.4f}", True),
    Shown("val. accuracy", "clone/validation_accuracy", "{:.1%}", True),
    Shown("entropy", "train/entropy", "{:.3f}", True),
    Shown("explained", "train/explained_variance", "{:.2f}", True),
    Shown("approx. kl", "train/approx_kl", "{:.4f}", True),
    Shown("clipped", "train/clip_frac", "{:.1%}"),
    Shown("value loss", "train/value_loss", "{:.4f}", True),
    Shown("policy loss", "train/pg_loss", "{:.4f}"),
)
MACHINE = (
    Shown("steps/s", "speed/steps_per_second", "{:,.0f}", True),
    Shown("decisions/s", "speed/decisions_per_second", "{:,.0f}"),
    Shown("wins/CPU-hour", "speed/wins_per_cpu_hour", "{:,.0f}"),
    Shown("memory MB", "health/memory_mb", "{:,.0f}"),
    Shown("of its limit", "health/memory_share", "{:.0%}"),
    Shown("illegal", "health/illegal_actions", "{:.0f}"),
)
_STATS, _FRACTIONS = "stats/", ("won", "tied")
_DRAWN = frozenset(one.metric for one in (*PLAYING, *LEARNING, *MACHINE) if one.curve)


@dataclass
class RunProgress:
    """Where a run stands."""

    title: str = ""
    about: str = ""
    phase: str = "starting"
    step: int = 0
    total: int = 1
    seconds: float = 0.0
    """Since this call began to learn, compiling included, as the limit counts it."""
    limit: float | None = None
    """Seconds after which this call ends, if limited."""
    rate: float = 0.0
    """Steps per second lately; 0 while unknown."""
    metrics: dict[str, float] = field(default_factory=dict)
    curves: dict[str, array[float]] = field(default_factory=dict)
    """A point per log row; eight bytes each, so that a run may go on for weeks."""
    best: tuple[float, int] | None = None
    """Of the main curve: (value, step)."""
    expect: Callable[[int], str] | None = None
    """Steps at the end → what such a run had reached, in words."""

    @property
    def left(self) -> float | None:
        """Seconds until this call ends; None while nobody knows."""
        by_steps = (self.total - self.step) / self.rate if self.rate else None
        if self.limit is None:
            return by_steps
        by_clock = max(0.0, self.limit - self.seconds)
        return by_clock if by_steps is None else min(by_clock, by_steps)

    @property
    def done(self) -> float:
        """Share of this call or of the run that is over, whichever ends first."""
        by_steps = self.step / max(1, self.total)
        if self.limit is None:
            return min(1.0, by_steps)
        return min(1.0, max(by_steps, self.seconds / self.limit))

    @property
    def main(self) -> Shown | None:
        return next((one for one in (*PLAYING, *LEARNING) if one.metric in MAIN and one.metric in self.metrics), None)

    def add_row(self, step: int, metrics: dict[str, float]) -> None:
        """A log row: metrics, a point of every curve, the best so far."""
        self.metrics = {**self.metrics, **metrics}
        for name, value in metrics.items():
            if name in _DRAWN or name.startswith(_STATS):
                self.curves.setdefault(name, array("d")).append(value)
        if self.main is not None and self.main.metric in metrics:
            value = metrics[self.main.metric]
            if self.best is None or value > self.best[0]:
                self.best = (value, step)


def picture(now: RunProgress, console: Console) -> RenderableType:
    """Everything, as large as the console is."""
    head, foot = _head(now, console.width), _foot(now)
    taken = len(console.render_lines(Group(head, *foot), pad=False))
    rest = console.height - 1 - taken  # the cursor has a line of its own
    if not now.metrics:
        body: list[RenderableType] = [Text(_waiting(now), style="dim")]
    elif console.width >= NARROW:
        body = _side_by_side(now, console.width, rest)
    else:
        body = _stacked(now, console, rest)
    return Group(head, *body, *foot)


LINE, SHORT = 120, 8  # characters of a plain line, and the metrics on it
FIRST = (
    *("train/mean_episode_return", "population/best_score", "clone/loss", "clone/validation_accuracy", "stats/won"),
    *("speed/steps_per_second", "train/mean_episode_length", "train/entropy", "train/explained_variance"),
    *("train/approx_kl", "train/value_loss"),
)
"""What a plain line has first, as far as a run has it; then what its game counts."""


def line(now: RunProgress, full: bool = False) -> str:
    """The same in one line, for files and pipes: what matters most, or everything."""
    known = [one for one in (*PLAYING, *_stats(now.metrics), *LEARNING, *MACHINE) if one.metric in now.metrics]
    left = f", {duration(now.left)} left" if now.left is not None else ""
    clock = f" ({duration(now.seconds)} so far{left})"
    text, most = f"step {now.step:,}: ", len(known) if full else SHORT
    if not full:
        known.sort(key=lambda one: FIRST.index(one.metric) if one.metric in FIRST else len(FIRST))
    for number, one in enumerate(known[:most]):
        more = f"{', ' if number else ''}{one.label} {one.form.format(now.metrics[one.metric])}"
        if full or len(text) + len(more) + len(clock) <= LINE:
            text += more
    return text + clock


def spark(values: Sequence[float], width: int) -> str:
    """A curve in one line of blocks; several points become one where there is no room for all.

    >>> spark([0.0, 1.0, 2.0, 3.0], 4), spark([1.0], 4), spark([0, 0, 7, 7], 2)
    ('▁▃▆█', '', '▁█')
    """
    if len(values) < 2 or width < 2:
        return ""
    if len(values) > width:
        edges = [round(place * len(values) / width) for place in range(width + 1)]
        values = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, high = min(values), max(values)
    scale = (len(_BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BLOCKS[round((value - low) * scale)] for value in values)


def duration(seconds: float) -> str:
    """A time as a clock has it.

    >>> duration(75), duration(3675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def count(number: float) -> str:
    """A large number, short.

    >>> count(950), count(12_300), count(4_554_752)
    ('950', '12.3 k', '4.55 M')
    """
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {sign}"
    return f"{number:.0f}"


# --- parts ---


def _head(now: RunProgress, width: int) -> Panel:
    bar = Table.grid(padding=(0, 2), expand=True)
    bar.add_column(no_wrap=True)
    bar.add_column(ratio=1)
    bar.add_column(no_wrap=True, justify="right")
    bar.add_row(
        Text(now.phase, style="bold cyan"),
        ProgressBar(1.0, now.done, complete_style="cyan"),
        Text(f"{now.done:.0%}", style="bold"),
    )
    clock = f"{duration(now.seconds)}" + (f" of {duration(now.limit)}" if now.limit is not None else "")
    facts = [f"step {now.step:,} of {count(now.total)}", clock]
    facts += [f"{duration(now.left)} left"] if now.left is not None else []
    facts += [f"{now.rate:,.0f} steps/s"] if now.rate else []
    title = Text.assemble((now.title, "bold"), (f"  {now.about}" if width >= NARROW else "", "dim"))
    return Panel(Group(bar, Text(" · ".join(facts))), title=title, title_align="left", padding=(0, 1))


def _waiting(now: RunProgress) -> str:
    return f"The first metrics come with the first update ({now.phase} since {duration(now.seconds)})."


def _side_by_side(now: RunProgress, width: int, rows: int) -> list[RenderableType]:
    half = width // 2
    lower_rows = max(1, len(shares(now.metrics)), _present(MACHINE, now)) + _BORDER
    both = rows - lower_rows >= _BORDER + _LEAST_METRICS
    upper_rows = max(1, rows - _BORDER - (lower_rows if both else 0))
    playing = [*PLAYING[:-1], *_stats(now.metrics), *PLAYING[-1:]]
    upper_rows = min(upper_rows, max(_present(playing, now), _present(LEARNING, now)))
    upper = _pair(
        _panel("Playing", playing, now, half, upper_rows),
        _panel("Learning", LEARNING, now, half, upper_rows),
        upper_rows,
    )
    if not both:
        return [upper]
    lower = _clock_panel(now, half), _panel("Machine", MACHINE, now, half, lower_rows)
    return [upper, _pair(*lower, lower_rows - _BORDER)]


def _stacked(now: RunProgress, console: Console, rows: int) -> list[RenderableType]:
    split = ", ".join(f"{name} {share:.0%}" for name, share in shares(now.metrics))
    time = Text(f"Time: {split}", style="dim")
    rows -= len(console.render_lines(time, pad=False))
    playing = [*PLAYING[:1], *_stats(now.metrics)[:3], *PLAYING[1:]]
    both = rows >= 2 * (_BORDER + _LEAST_METRICS)
    upper_rows = max(1, (rows + 1) // 2 - _BORDER) if both else max(1, rows - _BORDER)
    parts: list[RenderableType] = [_panel("Playing", playing, now, console.width, upper_rows)]
    if both:
        parts.append(_panel("Learning", LEARNING, now, console.width, rows // 2 - _BORDER))
    return [*parts, time]


def _present(metrics: Iterable[Shown], now: RunProgress) -> int:
    return sum(one.metric in now.metrics for one in metrics)


def _pair(left: Panel, right: Panel, rows: int) -> Table:
    """Two panels of one height."""
    left.height = right.height = rows + _BORDER
    table = Table.grid(expand=True)
    table.add_column(ratio=1)
    table.add_column(ratio=1)
    table.add_row(left, right)
    return table


def _panel(title: str, metrics: Iterable[Shown], now: RunProgress, width: int, rows: int) -> Panel:
    """Metrics one below the other, with curves where they have one and there is room."""
    present = [one for one in metrics if one.metric in now.metrics][:rows]
    values = [one.form.format(now.metrics[one.metric]) for one in present]
    label = max((len(one.label) for one in present), default=0)
    number = max(map(len, values), default=0)
    room = width - 4 - label - number - 2
    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(justify="right", no_wrap=True, style="bold")
    table.add_column(no_wrap=True, style="cyan")
    for one, value in zip(present, values, strict=True):
        best = f" best {one.form.format(now.best[0])}" if one == now.main and now.best is not None else ""
        curve = spark([*now.curves.get(one.metric, ()), now.metrics[one.metric]], room - len(best)) if one.curve else ""
        table.add_row(one.label, value, Text.assemble(curve, (best, "green")))
    return Panel(table, title=title, title_align="left", border_style="dim", padding=(0, 1))


def _clock_panel(now: RunProgress, width: int) -> Panel:
    found = shares(now.metrics)
    label = max((len(name) for name, _ in found), default=0)
    table = Table.grid(padding=(0, 1))
    for name, share in found:
        table.add_row(
            Text(name, "dim"), Text(f"{share:4.0%}", "bold"), Text("█" * round(share * (width - label - 11)), "cyan")
        )
    body = table if found else Text("known after the first log row", style="dim")
    return Panel(body, title="Where the time goes", title_align="left", border_style="dim", padding=(0, 1))


def shares(metrics: dict[str, float]) -> list[tuple[str, float]]:
    """The split of the time, largest part first."""
    found = [
        (name.removeprefix("speed/").removesuffix("_share"), value)
        for name, value in metrics.items()
        if name.startswith("speed/") and name.endswith("_share") and value >= _LEAST_SHARE
    ]
    return sorted(found, key=lambda one: -one[1])


def _stats(metrics: dict[str, float]) -> list[Shown]:
    """The game's own statistics; won games first, maxima last."""
    names = [name for name in metrics if name.startswith(_STATS)]
    names.sort(key=lambda name: (name != "stats/won", name.startswith("stats/highest_")))
    return [
        Shown(
            name.removeprefix(_STATS).replace("_", " "),
            name,
            "{:.1%}" if name.removeprefix(_STATS) in _FRACTIONS else "{:,.2f}",
            True,
        )
        for name in names
    ]


def _foot(now: RunProgress) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if now.rate and now.left is not None and now.expect is not None:
        end = now.step + now.rate * now.left
        parts.append(Text(f"At this speed it ends at {count(end)} steps. {now.expect(round(end))}".rstrip()))
    parts.append(Text("Ctrl+C finishes the update, saves and stops.", style="dim"))
    return parts


__all__ = ["RunProgress", "Shown", "count", "duration", "line", "picture", "shares", "spark"]


LIVE_BEAT, PLAIN_BEAT = 2.0, 30.0  # seconds between two looks at the metrics
RATE_WINDOW = 60.0  # seconds over which the speed is taken
LEARNS = "learning"


class TrainingView:
    """Progress, metrics with their curves, the split of time, and how long is left."""

    def __init__(
        self,
        console: Terminal | None = None,
        quiet: bool = False,
        title: str = "",
        about: str = "",
        full: bool = False,
    ) -> None:
        """`full`: plain lines have every metric."""
        self.console = console or Terminal(stderr=True)
        self.quiet, self._full = quiet, full
        self.standing = RunProgress(title=title, about=about)
        self._live: Live | None = None
        self._began = self._shown = time.monotonic()
        self._pace: deque[tuple[float, int]] = deque()
        self._printed = -1  # the step of the last plain line
        self._metrics_seen = False

    def start(
        self,
        step: int,
        total_steps: int,
        limit: float | None,
        seconds_before: float = 0.0,
        phase: str = "starting",
        history: Iterable[Mapping[str, Any]] = (),
        expect: Callable[[int], str] | None = None,
    ) -> None:
        """`total_steps` is where the run ends; `limit` after how many seconds this call does, of which some may be over
        (`seconds_before`). `history`: earlier log rows of the run, for the curves."""
        now = self.standing
        now.step, now.total, now.limit, now.phase, now.expect = step, total_steps, limit, phase, expect
        for row in history:
            now.add_row(row["step"], {name: value for name, value in row.items() if isinstance(value, float)})
        self._began = time.monotonic() - seconds_before
        self._pace.clear()
        self._metrics_seen = False
        if not self.quiet and self.console.is_terminal:
            self._live = Live(console=self.console, get_renderable=self._picture, refresh_per_second=2)
            self._live.start()

    def tick(self, step: int) -> None:
        """After every update."""
        self.standing.step, self.standing.phase = step, LEARNS
        moment = time.monotonic()
        # The first tick only starts the clock: the first update also compiles.
        self._pace.append((moment, step))
        while moment - self._pace[0][0] > RATE_WINDOW and len(self._pace) > 2:
            self._pace.popleft()
        first, at = self._pace[0]
        self.standing.rate = (step - at) / (moment - first) if moment > first else 0.0

    @property
    def due(self) -> bool:
        """Whether metrics are wanted: after the first update, and then at every beat."""
        beat = LIVE_BEAT if self._live else PLAIN_BEAT
        return not self.quiet and (not self._metrics_seen or time.monotonic() - self._shown >= beat)

    def metrics(self, metrics: Mapping[str, float]) -> None:
        """Metrics between two log rows."""
        self.standing.metrics = {**self.standing.metrics, **metrics}
        self._show()

    def row(self, step: int, metrics: dict[str, float]) -> None:
        """At every log row."""
        self.standing.step = step
        self.standing.add_row(step, metrics)
        if self.due:
            self._show()

    @contextmanager
    def during(self, phase: str) -> Generator[None]:
        """Says what is done instead of learning while the body runs."""
        before, self.standing.phase = self.standing.phase, phase
        try:
            yield
        finally:
            self.standing.phase = before

    @contextmanager
    def counting(self, what: str) -> Generator[Callable[[int, int], None]]:
        """A bar of its own, "evaluating 120/200"; gives the function to call with (done, of)."""
        if self.quiet:
            yield lambda done, of: None
        elif self.console.is_terminal:
            columns = TextColumn("[bold cyan]{task.description}"), BarColumn(None), MofNCompleteColumn()
            with Progress(*columns, TimeElapsedColumn(), console=self.console, transient=True, expand=True) as bar:
                task = bar.add_task(what, total=None)
                yield lambda done, of: bar.update(task, completed=done, total=of)
        else:
            yield self._plain_count(what)

    def waiting(self, sentence: str) -> Any:
        """A context in which a terminal shows that something takes its time."""
        return nullcontext() if self.quiet or not self.console.is_terminal else self.console.status(sentence)

    def note(self, sentence: str, style: str = "yellow") -> None:
        """A sentence that stays on the screen."""
        if not self.quiet:
            self.console.print(Text(sentence, style=style), soft_wrap=True)

    def close(self) -> None:
        """Leaves the last picture, or line, behind."""
        if self._live:
            self._live.stop()
            self._live = None
        elif self._metrics_seen and self._printed != self.standing.step:
            self._print()

    def _show(self) -> None:
        self._metrics_seen, self._shown = True, time.monotonic()
        if not self._live and not self.quiet:
            self._print()

    def _print(self) -> None:
        self._printed = self.standing.step
        self.standing.seconds = time.monotonic() - self._began
        self.console.print(line(self.standing, self._full), soft_wrap=True)

    def _picture(self) -> RenderableType:
        self.standing.seconds = time.monotonic() - self._began
        return picture(self.standing, self.console)

    def _plain_count(self, what: str) -> Callable[[int, int], None]:
        said = 0.0

        def tell(done: int, of: int) -> None:
            nonlocal said
            if time.monotonic() - said >= PLAIN_BEAT:
                said = time.monotonic()
                self.console.print(f"{what} {done:,}/{of:,}")

        return tell
