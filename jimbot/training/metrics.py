"""Metrics of episodes for scripts and notebooks: gather, summarise, smooth, draw, compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jimbot.errors import UsageError
from jimbot.evaluation.report.svg import FEWEST_FOR_A_LINE
from jimbot.runs.files import make_directory

MEASURES = ("reward", "ante", "score", "length")


class BalatroMetrics:
    """What happened in each episode.

    >>> metrics = BalatroMetrics()
    >>> metrics.add_episode(reward=1.5, ante=2, score=300, length=40)
    >>> metrics.add_episode(reward=2.5, ante=4, score=900, length=60)
    >>> metrics.get_summary()["mean_reward"], metrics.get_summary()["max_ante"]
    (2.0, 4.0)
    """

    def __init__(self) -> None:
        self.episodes: dict[str, list[float]] = {name: [] for name in MEASURES}

    def add_episode(self, *, reward: float, ante: float = 0, score: float = 0, length: float = 0) -> None:
        for name, value in zip(MEASURES, (reward, ante, score, length), strict=True):
            self.episodes[name].append(float(value))

    def __len__(self) -> int:
        return len(self.episodes["reward"])

    def get_summary(self) -> dict[str, float]:
        """Episodes, and mean, spread and maximum of each measure; only the count while there are none."""
        summary: dict[str, float] = {"episodes": float(len(self))}
        for name, values in self.episodes.items():
            if values:
                summary |= {f"mean_{name}": float(np.mean(values)), f"std_{name}": float(np.std(values))}
                summary[f"max_{name}"] = float(np.max(values))
        return summary


def compute_moving_average(values: Sequence[float], window: int = 100) -> np.ndarray:
    """The mean of the last `window` values at each place, of fewer at the beginning.

    >>> compute_moving_average([1, 3, 5, 7], window=2)
    array([1., 2., 4., 6.])
    """
    if window < 1:
        raise UsageError(f"window is {window}; expected at least 1 value.")
    sums = np.concatenate([[0.0], np.cumsum(np.asarray(values, np.float64))])
    last = np.arange(1, len(sums))
    first = np.maximum(0, last - window)
    return (sums[last] - sums[first]) / (last - first)


def plot_training_curves(
    metrics: BalatroMetrics | Mapping[str, Sequence[float]],
    save_path: str | Path = "training_curves.png",
    window: int = 100,
) -> Path:
    """One picture with every measure and its moving average; `metrics`: of episodes, or {name: its values}."""
    from matplotlib.figure import Figure

    curves = metrics.episodes if isinstance(metrics, BalatroMetrics) else _curves(metrics)
    shown = {name: values for name, values in curves.items() if np.any(values)}
    if not shown:
        raise UsageError("There is nothing to draw: no episode was added. Call add_episode first, or give values.")
    figure = Figure(figsize=(8, 2.4 * len(shown)), layout="constrained")
    panels = figure.subplots(len(shown), squeeze=False, sharex=len({len(values) for values in shown.values()}) == 1)
    for axes, (name, values) in zip(panels[:, 0], shown.items(), strict=True):
        if len(values) < FEWEST_FOR_A_LINE:
            axes.plot(values, "o", label="as measured: too few for a curve")
        else:
            axes.plot(values, linewidth=0.5, alpha=0.4)
            axes.plot(compute_moving_average(values, window), linewidth=1.8, label=f"mean of {window}")
        axes.set_ylabel(name)
        axes.grid(alpha=0.3)
    axes.set_xlabel("episode")
    axes.legend(loc="best")
    make_directory(Path(save_path).parent)
    figure.savefig(save_path, dpi=120)
    return Path(save_path)


def _curves(metrics: Mapping[str, Any]) -> dict[str, list[float]]:
    """The values of a plain dict as numbers; one sentence about the first that is no list of them."""
    curves = {}
    for name, values in metrics.items():
        try:
            curves[str(name)] = [float(value) for value in values]
        except (TypeError, ValueError) as problem:
            raise UsageError(
                f"'{name}' is {values!r:.60}; expected a list of numbers, one per episode or log row."
            ) from problem
    return curves


def print_comparison_table(results: Mapping[str, Mapping[str, Any]]) -> None:
    """Names side by side, a line for every metric they have."""
    from rich.table import Table

    from jimbot.foreign_text import Terminal

    table = Table("", *results, box=None, header_style="bold")
    for metric in dict.fromkeys(name for metrics in results.values() for name in metrics):
        cells = (metrics.get(metric, "") for metrics in results.values())
        table.add_row(metric, *(f"{cell:,.3g}" if isinstance(cell, float) else str(cell) for cell in cells))
    Terminal().print(table)
