"""Charts as plain SVG text.

Written by hand rather than drawn by a plotting library: colours come from the page's style sheet, so one picture serves
light and dark, every mark carries its figures as a tooltip, the page stays small, and nothing has to be imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

from jimbot.evaluation.intervals import Interval

Point = tuple[float, float]
FEWEST_FOR_A_LINE = 8
"""Fewer measurements are drawn as dots: a line through two points looks like a trend, and is none."""
COLOURS = 8  # classes c0 … c7 of the style sheet


def short(value: float) -> str:
    """A number in few characters.

    >>> short(1234567), short(0.01234), short(250), short(0)
    ('1.23M', '0.0123', '250', '0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def percent(share: float) -> str:
    """
    >>> percent(0.5), percent(0.0235), percent(1)
    ('50 %', '2.35 %', '100 %')
    """
    return f"{100 * share:.3g} %"


def _svg(width: int, height: int, parts: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label, True)}" '
        f'style="max-width:{width}px">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, words: str, kind: str = "tick", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def _path(points: Sequence[Point], kind: str) -> str:
    return f'<path class="{kind}" d="M{"L".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def _grid(left: float, right: float, y: float) -> str:
    return f'<line class="grid" x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'


def smooth(values: Sequence[float], share: float = 0.05) -> list[float]:
    """A running mean over a share of all values, centred; few values stay as they are.

    >>> smooth([0, 3, 0], 1.0)
    [1.5, 1.0, 1.5]
    """
    reach = int(share * len(values) / 2)
    windows = [values[max(0, i - reach) : i + reach + 1] for i in range(len(values))]
    return [sum(window) / len(window) for window in windows]


def line_chart(
    points: Sequence[Point], title: str, width: int = 300, height: int = 150, form: Callable[[float], str] = short
) -> str:
    """A curve over training steps: what was measured, faint, and its running mean; dots where there is no curve yet."""
    top, bottom, left, right = 34, height - 22, 4, width - 8
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low, high = min(ys), max(ys)
    if high == low:
        low, high = low - 0.5, high + 0.5
    span = max(xs) - min(xs) or 1.0

    def place(x: float, y: float) -> Point:
        return left + (right - left) * (x - min(xs)) / span, bottom - (bottom - top) * (y - low) / (high - low)

    mean = smooth(ys)
    if len(points) < FEWEST_FOR_A_LINE:
        marks = [
            f'<circle class="dot" cx="{place(x, y)[0]:.1f}" cy="{place(x, y)[1]:.1f}" r="2.6">'
            f"<title>{short(x)} steps: {form(y)}</title></circle>"
            for x, y in points
        ]
    else:
        marks = [
            _path([place(x, y) for x, y in points], "raw"),
            _path([place(x, y) for x, y in zip(xs, mean, strict=True)], "line"),
        ]
    parts = [
        _text(left, 14, title, "title"),
        _text(right, 14, form(mean[-1]), "value", "end"),
        _grid(left, right, top),
        _grid(left, right, bottom),
        _text(left, top - 4, form(high)),
        _text(left, bottom - 4, form(low)),
        _text(left, height - 6, short(min(xs))),
        _text(right, height - 6, f"{short(max(xs))} steps", anchor="end"),
        *marks,
    ]
    return _svg(width, height, parts, f"{title}, from {form(ys[0])} to {form(ys[-1])}")


def survival_chart(ladder: Mapping[int, Interval], name: str, width: int = 980, height: int = 300) -> str:
    """The share of games that came at least so far, with the band of its intervals."""
    top, bottom, left, right = 14, height - 40, 46, width - 10
    rungs = list(ladder)
    step = (right - left) / max(1, len(rungs))

    def x(number: float) -> float:
        return left + step * number

    def y(share: float) -> float:
        return bottom - (bottom - top) * share

    parts = [part for share in (0, 0.25, 0.5, 0.75, 1) for part in (_grid(left, right, y(share)),
             _text(left - 6, y(share) + 4, percent(share), anchor="end"))]  # fmt: skip
    highs = [(x(i + side), y(ladder[rung].high)) for i, rung in enumerate(rungs) for side in (0, 1)]
    lows = [(x(i + side), y(ladder[rung].low)) for i, rung in enumerate(rungs) for side in (0, 1)]
    parts.append(_path([*highs, *reversed(lows)], "band"))
    parts.append(
        _path([(x(i + side), y(ladder[rung].mean)) for i, rung in enumerate(rungs) for side in (0, 1)], "line")
    )
    for i, rung in enumerate(rungs):
        share = ladder[rung]
        words = f"at least {rung}: {percent(share.mean)} of games ({percent(share.low)} to {percent(share.high)})"
        parts.append(
            f'<rect class="touch" x="{x(i):.1f}" y="{top}" width="{step:.1f}" height="{bottom - top}">'
            f"<title>{escape(words)}</title></rect>"
        )
        parts.append(_text(x(i + 0.5), bottom + 16, str(rung), anchor="middle"))
        if step >= 34:
            parts.append(_text(x(i + 0.5), y(share.high) - 5, percent(round(share.mean, 3)), "mark", "middle"))
    parts.append(_text((left + right) / 2, height - 4, name, "axis", "middle"))
    return _svg(width, height, parts, f"share of games by {name}")


def columns(counts: Mapping[str, int], title: str, width: int = 300, height: int = 150) -> str:
    """How many games had each value."""
    top, bottom = 34, height - 20
    most, total = max(counts.values()), sum(counts.values())
    step = width / len(counts)
    parts = [_text(4, 14, title, "title"), _grid(0, width, bottom)]
    for i, (value, count) in enumerate(counts.items()):
        tall = (bottom - top) * count / most
        parts.append(
            f'<rect class="bar" x="{i * step + step * 0.12:.1f}" y="{bottom - tall:.1f}" width="{step * 0.76:.1f}" '
            f'height="{tall:.1f}" rx="1.5"><title>{escape(value)}: {count:,} games ({percent(count / total)})'
            "</title></rect>"
        )
        if len(counts) <= 14 or i % 3 == 0:
            parts.append(_text((i + 0.5) * step, height - 6, value, anchor="middle"))
        if len(counts) <= 8:
            parts.append(_text((i + 0.5) * step, bottom - tall - 4, percent(round(count / total, 3)), "mark", "middle"))
    return _svg(width, height, parts, title)


def bar(share: float, width: int = 160) -> str:
    """One bar of a table row."""
    return (
        f'<svg viewBox="0 0 {width} 12" class="inline" style="width:{width}px">'
        f'<rect class="bar" x="0" y="2" rx="2" height="8" width="{max(1.0, width * share):.1f}"/></svg>'
    )


def interval_mark(interval: Interval, low: float, high: float, zero: float | None = 0.0, width: int = 160) -> str:
    """One interval of a table row on the common scale low … high, with a line at `zero`."""

    def x(value: float) -> float:
        return 4 + (width - 8) * (min(high, max(low, value)) - low) / ((high - low) or 1.0)

    tone = "" if zero is None or not interval.excludes(zero) else " good" if interval.mean > zero else " bad"
    parts = [f'<line class="whisker{tone}" x1="{x(interval.low):.1f}" x2="{x(interval.high):.1f}" y1="6" y2="6"/>']
    parts.append(f'<circle class="dot{tone}" cx="{x(interval.mean):.1f}" cy="6" r="3.2"/>')
    if zero is not None:
        parts.insert(0, f'<line class="grid" x1="{x(zero):.1f}" x2="{x(zero):.1f}" y1="0" y2="12"/>')
    return f'<svg viewBox="0 0 {width} 12" class="inline" style="width:{width}px">{"".join(parts)}</svg>'


def stacked(xs: Sequence[float], series: Mapping[str, Sequence[float]], width: int = 980, height: int = 200) -> str:
    """Shares that add up to one, over training steps."""
    top, bottom = 6, height - 20
    span = max(xs) - min(xs) or 1.0
    below = [0.0] * len(xs)
    parts = []
    for number, (name, values) in enumerate(series.items()):
        above = [low + value for low, value in zip(below, smooth(values), strict=True)]
        places = [width * (x - min(xs)) / span for x in xs]
        upper = [(x, bottom - (bottom - top) * y) for x, y in zip(places, above, strict=True)]
        lower = [(x, bottom - (bottom - top) * y) for x, y in zip(places, below, strict=True)]
        words = f"{name}: {percent(values[0])} at first, {percent(values[-1])} at last"
        parts.append(
            f'<g class="area c{number % COLOURS}"><title>{escape(words)}</title>'
            f"{_path([*upper, *reversed(lower)], 'fill')}</g>"
        )
        below = above
    parts += [_text(0, height - 5, short(min(xs))), _text(width, height - 5, f"{short(max(xs))} steps", anchor="end")]
    return _svg(width, height, parts, "shares over training")


def sparkline(values: Sequence[float], width: int = 980, height: int = 70) -> str:
    """A small curve without axes: the first, the last, the lowest and the highest value are named."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    step = (width - 70) / max(1, len(values) - 1)
    points = [(i * step, height - 12 - (height - 24) * (value - low) / span) for i, value in enumerate(values)]
    parts = [_path(points, "line"), _text(points[-1][0] + 6, points[-1][1] + 4, short(values[-1]), "mark")]
    for index in {values.index(low), values.index(high)}:
        x, y = points[index]
        below = values[index] == low
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>')
        parts.append(_text(min(x, width - 100), y + (11 if below else -4), short(values[index])))
    return _svg(width, height, parts, f"from {short(values[0])} to {short(values[-1])}")
