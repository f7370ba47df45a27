"""What a person sees while training runs: a live bar on a terminal, one line per log row elsewhere."""

from __future__ import annotations

import time

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

_SHOWN = (
    ("member", "population/member", "{:.0f}"),
    ("generation", "population/generation", "{:.0f}"),
    ("best score", "population/best_score", "{:.2f}"),
    ("mean score", "population/mean_score", "{:.2f}"),
    ("return", "train/mean_episode_return", "{:.2f}"),
    ("length", "train/mean_episode_length", "{:.0f}"),
    ("episodes", "train/num_episodes", "{:.0f}"),
    ("entropy", "train/entropy", "{:.3f}"),
    ("kl", "train/approx_kl", "{:.4f}"),
    ("explained", "train/explained_variance", "{:.2f}"),
    ("epoch", "clone/epoch", "{:.0f}"),
    ("loss", "clone/loss", "{:.4f}"),
    ("accuracy", "clone/accuracy", "{:.1%}"),
    ("validation loss", "clone/validation_loss", "{:.4f}"),
    ("validation accuracy", "clone/validation_accuracy", "{:.1%}"),
    ("steps/s", "speed/steps_per_second", "{:,.0f}"),
    ("memory MB", "health/rss_mb", "{:.0f}"),
    ("illegal", "health/illegal_actions", "{:.0f}"),
)


class TrainingView:
    """Progress with steps/s, the split of time, and how long is left."""

    def __init__(self, console: Console | None = None, quiet: bool = False) -> None:
        self.console = console or Console(stderr=True)
        self.quiet = quiet
        self._live: Live | None = None
        self._metrics: dict[str, float] = {}
        self._split = ""
        self._started = (0, 0.0)
        self._rate = 0.0

    def start(self, step: int, total_steps: int, seconds_left: float | None) -> None:
        """`total_steps` is where the run ends; `seconds_left` where this call does, if limited."""
        self._started = (step, time.monotonic())
        self._total, self._seconds = total_steps, seconds_left
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=self.console,
        )
        self._task = self._progress.add_task("compiling", total=1.0, rate="", left="")
        if not self.quiet and self.console.is_terminal:
            self._live = Live(self._picture(), console=self.console, refresh_per_second=4, transient=False)
            self._live.start()

    def tick(self, step: int) -> None:
        """After every update."""
        if self.quiet:
            return
        first, began = self._started
        elapsed = max(1e-9, time.monotonic() - began)
        # Judged from the second tick on: the first update includes compilation.
        self._rate = (step - first) / elapsed
        if self._progress.tasks[0].description == "compiling":
            self._started = (step, time.monotonic())
        done_steps = step / self._total
        left = (self._total - step) / self._rate if self._rate else None
        done = done_steps
        if self._seconds is not None and (left is None or self._seconds - elapsed < left):
            left, done = max(0.0, self._seconds - elapsed), min(1.0, elapsed / self._seconds)
        left_text = f"{_duration(left)} left" if left is not None else ""
        self._progress.update(
            self._task, description=f"step {step:,}", completed=done, rate=f"{self._rate:,.0f} steps/s", left=left_text
        )
        if self._live:
            self._live.update(self._picture())

    def row(self, step: int, metrics: dict[str, float]) -> None:
        """At every log row."""
        self._metrics = metrics
        shares = [(name[6:-6], value) for name, value in metrics.items() if name.endswith("_share")]
        self._split = "  ".join(f"{name} {value:.0%}" for name, value in shares)
        if self.quiet:
            return
        if self._live:
            self._live.update(self._picture())
        else:
            shown = [f"{label} {form.format(metrics[name])}" for label, name, form in _SHOWN if name in metrics]
            stats = [f"{name[6:]} {value:.2f}" for name, value in metrics.items() if name.startswith("stats/")]
            self.console.print(f"step {step:,}: " + ", ".join(shown + stats), highlight=False, soft_wrap=True)

    def note(self, sentence: str, style: str = "yellow") -> None:
        """A sentence that stays on the screen."""
        if not self.quiet:
            self.console.print(Text(sentence, style=style))

    def close(self) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def _picture(self) -> Group:
        table = Table.grid(padding=(0, 2))
        shown = [(label, form.format(self._metrics[name])) for label, name, form in _SHOWN if name in self._metrics]
        shown += [(name[6:], f"{value:.2f}") for name, value in self._metrics.items() if name.startswith("stats/")]
        columns = 5
        for start in range(0, len(shown), columns):
            table.add_row(
                *(Text.assemble((f"{label} ", "dim"), value) for label, value in shown[start : start + columns])
            )
        split = Text(f"time: {self._split}", style="dim") if self._split else Text("")
        return Group(self._progress, table, split)


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
