"""Cross-play as a picture: who beats whom as a coloured table, and the ratings with their intervals beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jimbot.errors import StorageError, UsageError

if TYPE_CHECKING:
    from jimbot.evaluation.duels import CrossPlay

KINDS = (".png", ".svg", ".pdf")
_CELL = 0.85  # inches
_DARK = 0.28  # how far from one half a cell is dark enough for white letters


def check_picture(path: Path) -> Path:
    """Refuses names no picture can be written under, before anything is played."""
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"The picture '{path}' has the ending '{path.suffix}'; expected {', '.join(KINDS)}.")
    if not path.parent.is_dir():
        raise UsageError(f"The picture's folder {path.parent} does not exist; make it, or name another.")
    return path


def save_picture(evaluated: CrossPlay, path: Path) -> Path:
    from matplotlib.figure import Figure

    check_picture(path)
    order = [evaluated.names.index(rating.name) for rating in evaluated.ratings]
    count = len(order)
    longest = max(len(name) for name in evaluated.names)
    margin = 0.4 + 0.085 * longest
    size = _CELL * count
    figure = Figure(figsize=(2 * margin + size + 4.2, size + margin + 1.5), layout="constrained")
    table, ladder = figure.subplots(1, 2, width_ratios=(size + margin, 3.6))
    _draw_table(table, evaluated, order)
    _draw_ratings(ladder, evaluated)
    matches = evaluated.matches
    games = len(matches.scores) // max(1, count * (count - 1) // 2)
    figure.suptitle(
        f"{matches.game}: {games:,} games a pair, {evaluated.bank} seeds, each from both sides",
        fontsize=11,
        x=0.02,
        ha="left",
    )
    try:
        figure.savefig(path, dpi=144, facecolor="white")
    except OSError as problem:
        raise StorageError(f"The picture {path} cannot be written: {problem.strerror}.") from problem
    return path


def _draw_table(axes: Any, evaluated: CrossPlay, order: list[int]) -> None:
    count = len(order)
    rates = np.full((count, count), np.nan)
    for row, one in enumerate(order):
        for column, other in enumerate(order):
            if one != other:
                duel = evaluated.duels[one, other]
                interval = duel.win_rate
                rates[row, column] = interval.mean
                style = {"ha": "center", "color": "white" if abs(interval.mean - 0.5) > _DARK else "black"}
                axes.text(column, row - 0.08, f"{interval.mean:.0%}", va="center", fontsize=11, **style)
                axes.text(
                    column, row + 0.24, f"{interval.low:.0%} – {interval.high:.0%}", va="center", fontsize=7, **style
                )
    shown = np.ma.masked_invalid(rates)
    axes.imshow(shown, cmap="RdBu", vmin=0.0, vmax=1.0)
    axes.set_facecolor("#e8e8e8")
    names = [evaluated.names[place] for place in order]
    axes.set_xticks(range(count), names, rotation=35, ha="left", rotation_mode="anchor", fontsize=9)
    axes.set_yticks(range(count), names, fontsize=9)
    axes.tick_params(top=True, bottom=False, labeltop=True, labelbottom=False, length=0)
    axes.set_xlabel("games won by the row against the column, with 95 % intervals", fontsize=9)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_ratings(axes: Any, evaluated: CrossPlay) -> None:
    rated = evaluated.ratings
    places = np.arange(len(rated))
    points = np.array([rating.points for rating in rated])
    around = np.abs(np.array([(rating.points - rating.low, rating.high - rating.points) for rating in rated]).T)
    axes.errorbar(points, places, xerr=around, fmt="o", color="#1f4e79", capsize=3, markersize=5)
    for rating, place in zip(rated, places, strict=True):
        axes.annotate(
            f"{rating.points:+.0f}", (rating.points, place), xytext=(0, 7), textcoords="offset points", ha="center",
            fontsize=8,
        )  # fmt: skip
    axes.set_yticks([])
    axes.set_ylim(len(rated) - 0.5, -0.5)
    axes.axvline(0.0, color="#999999", linewidth=0.8)
    axes.set_xlabel("rating (Bradley–Terry, 95 % intervals)", fontsize=9)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for name in ("top", "right", "left"):
        axes.spines[name].set_visible(False)
