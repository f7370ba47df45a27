"""How a run learned: its metrics over environment steps as small multiples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jimbot.evaluation.report import svg
from jimbot.evaluation.report.page import legend, many, panel, section
from jimbot.games.spec import GameSpec

MOST_POINTS = 400
"""A curve of more rows is thinned out: nobody sees more, and the page stays small."""
_FIRST = ("train/mean_episode_return", "train/mean_episode_length")
_SHARES = {"train/clip_frac", "stats/won"}
_MOST_BLOCKS = svg.COLOURS - 1  # the last colour is for all others


def training_section(rows: Sequence[Mapping[str, Any]], spec: GameSpec) -> str:
    """Curves of returns, statistics, losses, speed, reward terms and what kinds of actions were taken."""
    if not rows:
        return ""
    rows = _thinned(rows)
    names = dict.fromkeys(name for row in rows for name in row if name not in ("step", "time"))
    stats = [f"stats/{name}" for name in spec.episode_stats]
    first = [name for name in (*_FIRST, f"stats/{spec.ladder}", "stats/won") if name in names]
    later = [name for name in stats if name in names and name not in first]
    inner = [name for name in names if name.startswith(("train/", "eval/", "speed/")) and name not in first]
    terms = [name for name in names if name.startswith("reward/")]
    steps = int(rows[-1]["step"])
    if len(rows) < svg.FEWEST_FOR_A_LINE:
        how = f"{len(rows)} measurements, too few for curves: each is a dot. Train longer, and curves appear here."
    else:
        how = "Faint: as measured; strong: the running mean; the figure is where it ends."
    return section(
        "How it learned",
        f"{steps:,} environment steps. {how}",
        many(_charts(rows, [*first, *later])),
        _blocks(rows, spec),
        _more("Losses and speed", rows, inner),
        _more("Reward per step, by term", rows, terms),
    )


def _thinned(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if len(rows) <= MOST_POINTS:
        return list(rows)
    return [rows[round(i * (len(rows) - 1) / (MOST_POINTS - 1))] for i in range(MOST_POINTS)]


def _charts(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    charts = []
    for name in names:
        points = [(float(row["step"]), float(row[name])) for row in rows if row.get(name) is not None]
        if points and any(y != 0 for _, y in points):
            title = name.partition("/")[2].replace("_", " ")
            charts.append(svg.line_chart(points, title, form=svg.percent if name in _SHARES else svg.short))
    return charts


def _more(title: str, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    charts = _charts(rows, names)
    return f"<h3>{title}</h3>{many(charts)}" if charts else ""


def _blocks(rows: Sequence[Mapping[str, Any]], spec: GameSpec) -> str:
    """The biggest blocks of actions by name, the rest together."""
    keys = {block.name: f"actions/{block.name}_frac" for block in spec.actions.blocks}
    known = [row for row in rows if all(row.get(key) is not None for key in keys.values())]
    if len(known) < svg.FEWEST_FOR_A_LINE or len(keys) < 2:
        return ""
    shares = {name: [float(row[key]) for row in known] for name, key in keys.items()}
    order = sorted(shares, key=lambda name: -sum(shares[name]))
    shown = {name: shares[name] for name in order[:_MOST_BLOCKS]}
    if rest := order[_MOST_BLOCKS:]:
        shown["all others"] = [sum(parts) for parts in zip(*(shares[name] for name in rest), strict=True)]
    chart = svg.stacked([float(row["step"]) for row in known], shown)
    names = [name.replace("_", " ") for name in shown]
    return f"<h3>What kinds of actions it took</h3>{panel(chart + legend(names, svg.COLOURS))}"
