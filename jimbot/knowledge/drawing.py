"""A part of the graph as a picture (SVG): names on a circle, claims as curves between them.

A circle keeps every name readable however many lines there are. A line is as thick as its claim is strong beside
others of its channel (channels have units of their own), has the channel's colour, and is dashed where two work against
each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from jimbot.knowledge.queries import Claim

SIZE, RADIUS = 1000, 285
LEGEND_ROW = 26
COLOURS = {
    "score": "#d1495b", "money": "#c98a00", "growth": "#2e7d4f", "retrigger": "#3267b5", "copying": "#7b4fb3",
}  # fmt: skip
OTHER_COLOUR = "#5f6b76"
INK, PAPER, FAINT = "#1c2733", "#ffffff", "#8795a1"
THINNEST, THICKEST = 1.0, 8.0
LONGEST_NAME = 22


@dataclass(frozen=True)
class Place:
    """Where a name stands: its point on the circle and the angle it is seen under."""

    x: float
    y: float
    angle: float


def neighbourhood(key: str, name: str, claims: Sequence[Claim], most: int = 24) -> str:
    """A joker in the middle, those it works with around it."""
    chosen = _clearest(claims, most)
    others = {_other(claim, key)[0]: _other(claim, key)[1] for claim in chosen}
    places = _circle(list(others))
    places[key] = Place(SIZE / 2, SIZE / 2, 0.0)
    lines = [
        _line(places[_other(claim, key)[0]], places[key], claim, chosen) for claim in sorted(chosen, key=_strength)
    ]
    names = [_name(places[other], label) for other, label in others.items()]
    middle = _badge(name)
    return _picture(f"{name}: what it works with", [*lines, *names, middle], chosen)


def core(claims: Sequence[Claim], most: int = 40) -> str:
    """The strongest claims of all and the jokers they join."""
    chosen = _clearest(claims, most)
    names = {claim[side]: claim[f"{side}_name"] for claim in chosen for side in "ab"}
    places = _circle(_neighbours_together(chosen))
    lines = [_curve(places[claim["a"]], places[claim["b"]], claim, chosen) for claim in sorted(chosen, key=_strength)]
    shown = [_name(places[key], name) for key, name in names.items()]
    return _picture("The strongest synergies", [*lines, *shown], chosen)


def _clearest(claims: Iterable[Claim], most: int) -> list[Claim]:
    """The strongest of each pair and channel, certain ones first; groups are not drawn."""
    best: dict[tuple[str, str, str], Claim] = {}
    for claim in claims:
        place = claim["a"], claim["b"], claim["channel"]
        if not claim["others"] and (place not in best or _strength(claim) > _strength(best[place])):
            best[place] = claim
    strongest: dict[str, float] = {}
    for claim in best.values():
        strongest[claim["channel"]] = max(strongest.get(claim["channel"], 1e-9), _strength(claim))

    def weakness(claim: Claim) -> tuple[bool, float]:
        return claim["low"] <= 0 <= claim["high"], -_strength(claim) / strongest[claim["channel"]]

    return sorted(best.values(), key=weakness)[:most]


def _neighbours_together(claims: Sequence[Claim]) -> list[str]:
    """Keys in an order that puts those who are joined strongly side by side: the strongest chain first."""
    weights: dict[str, dict[str, float]] = {}
    for claim in claims:
        for one, other in ((claim["a"], claim["b"]), (claim["b"], claim["a"])):
            weights.setdefault(one, {})
            weights[one][other] = weights[one].get(other, 0.0) + _strength(claim)
    order: list[str] = []
    left = dict.fromkeys(sorted(weights, key=lambda key: (-sum(weights[key].values()), key)))
    while left:
        near = weights[order[-1]] if order else {}
        following = max(left, key=lambda key: near.get(key, 0.0)) if order else next(iter(left))
        order.append(following)
        del left[following]
    return order


def _circle(keys: Sequence[str]) -> dict[str, Place]:
    places = {}
    for number, key in enumerate(keys):
        angle = 2 * math.pi * number / len(keys) - math.pi / 2
        places[key] = Place(SIZE / 2 + RADIUS * math.cos(angle), SIZE / 2 + RADIUS * math.sin(angle), angle)
    return places


def _other(claim: Claim, key: str) -> tuple[str, str]:
    side = "b" if claim["a"] == key else "a"
    return claim[side], claim[f"{side}_name"]


def _strength(claim: Claim) -> float:
    return abs(claim["strength"])


def _style(claim: Claim, among: Sequence[Claim]) -> str:
    strongest = max((_strength(one) for one in among if one["channel"] == claim["channel"]), default=0.0) or 1.0
    width = THINNEST + (THICKEST - THINNEST) * math.sqrt(_strength(claim) / strongest)
    end = 'stroke-dasharray="10 7"' if claim["strength"] < 0 else 'stroke-linecap="round"'
    colour = COLOURS.get(claim["channel"], OTHER_COLOUR)
    return f'fill="none" stroke="{colour}" stroke-width="{width:.1f}" stroke-opacity="0.75" {end}'


def _tooltip(claim: Claim) -> str:
    interval = f"{claim['strength']:+.3f} [{claim['low']:+.3f}, {claim['high']:+.3f}]"
    words = f"{claim['a_name']} and {claim['b_name']}, {claim['channel']}: {interval}"
    return f"<title>{escape(words)}</title>"


def _line(start: Place, end: Place, claim: Claim, among: Sequence[Claim]) -> str:
    """From the circle to the middle; channels of one pair lie beside each other as bows of their own."""
    channels = sorted({one["channel"] for one in among})
    bow = 34.0 * (channels.index(claim["channel"]) - (len(channels) - 1) / 2)
    x, y = (start.x + end.x) / 2, (start.y + end.y) / 2
    x, y = x - bow * math.sin(start.angle), y + bow * math.cos(start.angle)
    path = f"M {start.x:.1f} {start.y:.1f} Q {x:.1f} {y:.1f} {end.x:.1f} {end.y:.1f}"
    return f'<path d="{path}" {_style(claim, among)}>{_tooltip(claim)}</path>'


def _curve(start: Place, end: Place, claim: Claim, among: Sequence[Claim]) -> str:
    """Between two names, drawn towards the middle."""
    x, y = ((start.x + end.x) / 2 + SIZE / 2) / 2, ((start.y + end.y) / 2 + SIZE / 2) / 2
    path = f"M {start.x:.1f} {start.y:.1f} Q {x:.1f} {y:.1f} {end.x:.1f} {end.y:.1f}"
    return f'<path d="{path}" {_style(claim, among)}>{_tooltip(claim)}</path>'


def _name(place: Place, name: str) -> str:
    """A dot and the name beside it, turned outwards and never upside down."""
    short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
    degrees = math.degrees(place.angle)
    flipped = math.cos(place.angle) < -1e-9
    turn, anchor = (degrees + 180, "end") if flipped else (degrees, "start")
    x, y = place.x + 14 * math.cos(place.angle), place.y + 14 * math.sin(place.angle)
    return (
        f'<circle cx="{place.x:.1f}" cy="{place.y:.1f}" r="6" fill="{INK}"/>'
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="central" '
        f'transform="rotate({turn:.1f} {x:.1f} {y:.1f})">{escape(short)}</text>'
    )


def _badge(name: str) -> str:
    width = max(120, 12 * len(name) + 40)
    return (
        f'<rect x="{SIZE / 2 - width / 2:.1f}" y="{SIZE / 2 - 24}" width="{width}" height="48" rx="24" fill="{INK}"/>'
        f'<text x="{SIZE / 2}" y="{SIZE / 2}" text-anchor="middle" dominant-baseline="central" fill="{PAPER}" '
        f'font-weight="600">{escape(name)}</text>'
    )


def _picture(title: str, shapes: Sequence[str], claims: Sequence[Claim]) -> str:
    channels = sorted({claim["channel"] for claim in claims})
    against = any(claim["strength"] < 0 for claim in claims)
    body = [*shapes, *_legend(channels, against)]
    if not claims:
        place = f'x="{SIZE / 2}" y="{SIZE / 2 + 60}" text-anchor="middle"'
        body.append(f'<text {place} fill="{FAINT}">Nothing is measured yet.</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label={quoteattr(title)} '
        f'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="19" fill="{INK}">\n'
        f'<rect width="{SIZE}" height="{SIZE}" fill="{PAPER}"/>\n'
        f'<text x="30" y="46" font-size="27" font-weight="600">{escape(title)}</text>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _legend(channels: Sequence[str], against: bool) -> list[str]:
    rows = [(channel or "other", COLOURS.get(channel, OTHER_COLOUR), "") for channel in channels]
    rows += [("work against each other", INK, ' stroke-dasharray="10 7"')] if against else []
    drawn = []
    for number, (words, colour, dashes) in enumerate(rows):
        y = SIZE - 24 - LEGEND_ROW * (len(rows) - 1 - number)
        drawn.append(f'<path d="M 30 {y} h 44" stroke="{colour}" stroke-width="5"{dashes}/>')
        drawn.append(f'<text x="86" y="{y}" dominant-baseline="central" font-size="17">{escape(words)}</text>')
    return drawn
