"""The history of a population as one picture: scores, who went on from whom, and how hyper-parameters moved.

Each member keeps its colour. Where a member was replaced, an arrow leads from its parent; the line that leads to the
best member of the end is drawn thick, because it is the history of the policy that one gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jimbot.runs.files import file_in_progress
from jimbot.training.population.record import Line
from jimbot.training.trials.hyperparameters import KNOWN

PICTURE = "lineage.png"


def draw_lineage(lines: Sequence[Line], path: Path) -> Path:
    """Draws every generation in `lines` into a PNG file."""
    from matplotlib.figure import Figure

    names = list(lines[0].values)
    figure = Figure(figsize=(9, 3.2 + 1.5 * len(names)), layout="constrained")
    panels = figure.subplots(1 + len(names), 1, sharex=True, height_ratios=[2.2, *[1] * len(names)], squeeze=False)[
        :, 0
    ]
    _draw_scores(panels[0], lines)
    for panel, name in zip(panels[1:], names, strict=True):
        _draw_values(panel, lines, name)
    panels[-1].set_xlabel("generation")
    panels[-1].xaxis.get_major_locator().set_params(integer=True)
    with file_in_progress(path) as temporary:
        figure.savefig(temporary, dpi=110, format="png")
    return path


def ancestry(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """(generation, member) of the best member at the end and of those it came from, oldest first."""
    by_place = {(line.generation, line.member): line for line in lines}
    last = max(line.generation for line in lines)
    member = best_of([line for line in lines if line.generation == last]).member
    path = [(last, member)]
    for generation in range(last - 1, min(line.generation for line in lines) - 1, -1):
        member = by_place[generation, member].parent
        path.append((generation, member))
    return path[::-1]


def best_of(lines: Sequence[Line]) -> Line:
    return max(lines, key=lambda line: float("-inf") if line.score is None else line.score)


def _draw_scores(panel: Any, lines: Sequence[Line]) -> None:
    by_place = {(line.generation, line.member): line for line in lines}
    for member in sorted({line.member for line in lines}):
        own = [line for line in lines if line.member == member and line.score is not None]
        x, y = [line.generation + 1 for line in own], [line.score for line in own]
        panel.plot(x, y, "o", color=f"C{member % 10}", markersize=5, label=f"member {member}")
    for line in lines:
        following = by_place.get((line.generation + 1, line.member))
        parent = by_place[line.generation, line.parent]
        if following is None or following.score is None or parent.score is None:
            continue
        replaced = line.parent != line.member
        panel.annotate(
            "",
            (line.generation + 2, following.score),
            (line.generation + 1, parent.score),
            arrowprops={
                "arrowstyle": "->" if replaced else "-",
                "linestyle": "--" if replaced else "-",
                "color": f"C{line.member % 10}",
                "alpha": 0.9 if replaced else 0.6,
                "shrinkA": 3,
                "shrinkB": 3,
            },
        )
    line_of_best = [by_place[place] for place in ancestry(lines) if by_place[place].score is not None]
    panel.plot(
        [line.generation + 1 for line in line_of_best],
        [line.score for line in line_of_best],
        color="black",
        linewidth=5,
        alpha=0.15,
        zorder=0,
        label="line of the best",
    )
    panel.set_ylabel("return on\nvalidation games")
    panel.set_title("dashed arrows: a member goes on from another one's state", fontsize=9)
    panel.grid(alpha=0.3)
    panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)


def _draw_values(panel: Any, lines: Sequence[Line], name: str) -> None:
    distance = KNOWN[name].scale == "complement"
    for member in sorted({line.member for line in lines}):
        own = [line for line in lines if line.member == member]
        values = [1.0 - line.values[name] if distance else line.values[name] for line in own]
        panel.plot([line.generation + 1 for line in own], values, ".-", color=f"C{member % 10}", linewidth=1)
    if KNOWN[name].scale != "linear":
        panel.set_yscale("log")
    panel.set_ylabel(f"1 − {name}" if distance else name)
    panel.grid(alpha=0.3)
