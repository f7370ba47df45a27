"""What a person sees while training runs: a live picture on a terminal, plain lines at a steady beat elsewhere.

The picture has a beat of its own, by the clock: figures come with the first update and then every few seconds, however
far apart log rows are. Drawing is in `dashboard`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.console import RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from jimbot.foreign_text import Terminal
from jimbot.training.session.dashboard import Standing, line, picture

LIVE_BEAT, PLAIN_BEAT = 2.0, 30.0  # seconds between two looks at the figures
RATE_WINDOW = 60.0  # seconds over which the speed is taken
LEARNING = "learning"


class TrainingView:
    """Progress, figures with their curves, the split of time, and how long is left."""

    def __init__(self, console: Terminal | None = None, quiet: bool = False, title: str = "", about: str = "") -> None:
        self.console = console or Terminal(stderr=True)
        self.quiet = quiet
        self.standing = Standing(title=title, about=about)
        self._live: Live | None = None
        self._began = self._shown = time.monotonic()
        self._pace: deque[tuple[float, int]] = deque()
        self._printed = -1  # the step of the last plain line
        self._figures_seen = False

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
        self._figures_seen = False
        if not self.quiet and self.console.is_terminal:
            self._live = Live(console=self.console, get_renderable=self._picture, refresh_per_second=2)
            self._live.start()

    def tick(self, step: int) -> None:
        """After every update."""
        self.standing.step, self.standing.phase = step, LEARNING
        moment = time.monotonic()
        # The first tick only starts the clock: the first update also compiles.
        self._pace.append((moment, step))
        while moment - self._pace[0][0] > RATE_WINDOW and len(self._pace) > 2:
            self._pace.popleft()
        first, at = self._pace[0]
        self.standing.rate = (step - at) / (moment - first) if moment > first else 0.0

    @property
    def due(self) -> bool:
        """Whether figures are wanted: after the first update, and then at every beat."""
        beat = LIVE_BEAT if self._live else PLAIN_BEAT
        return not self.quiet and (not self._figures_seen or time.monotonic() - self._shown >= beat)

    def figures(self, metrics: Mapping[str, float]) -> None:
        """Figures between two log rows."""
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
        """A bar of its own, "judging 120/200"; gives the function to call with (done, of)."""
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
        elif self._figures_seen and self._printed != self.standing.step:
            self._print()

    def _show(self) -> None:
        self._figures_seen, self._shown = True, time.monotonic()
        if not self._live and not self.quiet:
            self._print()

    def _print(self) -> None:
        self._printed = self.standing.step
        self.standing.seconds = time.monotonic() - self._began
        self.console.print(line(self.standing), soft_wrap=True)

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
