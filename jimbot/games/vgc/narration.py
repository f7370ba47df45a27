"""A battle's public lines as sentences, for people who watch.

A template per kind of line: {who} and {whom} are Pokémon, {what} is a move, item, ability or effect. Kinds without a
template are not worth a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from jimbot.games.vgc.words import STATUS_WORDS

SIDES = {"p1": "one's", "p2": "two's"}
"""Whose a Pokémon is, to a spectator."""
_EFFECT = re.compile(r"^(move|ability|item): ")
_INDENT = "  "

_WHO_WHAT = {
    "switch": "{who} comes out",
    "drag": "{who} is dragged out",
    "replace": "it was {who} all along",
    "faint": "{who} faints",
    "cant": "{who} cannot move ({what})",
    "-supereffective": "very effective on {who}",
    "-resisted": "{who} resists",
    "-immune": "{who} is immune",
    "-crit": "a critical hit on {who}",
    "-miss": "it misses {whom}",
    "-fail": "it fails on {who}",
    "-block": "{who} is shielded by {what}",
    "-notarget": "there is nobody to aim at",
    "-status": "{who} is {status}",
    "-curestatus": "{who} is {status} no longer",
    "-ability": "{who}: {what}",
    "-endability": "{who} loses {what}",
    "-item": "{who} holds {what}",
    "-enditem": "{who} loses {what}",
    "-terastallize": "{who} terastallizes: {what}",
    "-mega": "{who} mega evolves",
    "-transform": "{who} turns into {whom}",
    "-formechange": "{who} changes its form: {what}",
    "detailschange": "{who} changes its form",
    "-start": "{who}: {what} begins",
    "-end": "{who}: {what} ends",
    "-singleturn": "{who}: {what}",
    "-singlemove": "{who}: {what}",
    "-activate": "{who}: {what}",
    "-swapboost": "{who} and {whom} exchange stat changes",
    "-clearboost": "{who} loses its stat changes",
    "-clearallboost": "all stat changes are gone",
    "-fieldstart": "{first} covers the field",
    "-fieldend": "{first} ends",
    "-hitcount": "it hits {what} times",
    "-prepare": "{who} prepares {what}",
    "-mustrecharge": "{who} must rest",
}


def sentences(lines: Iterable[str], sides: Mapping[str, str] = SIDES) -> list[str]:
    """What happened, line by line; what a move does is indented under it.

    >>> sentences(["|move|p1a: Flamigo|Close Combat|p2b: Snorlax", "|-damage|p2b: Snorlax|12/100"])
    ["one's Flamigo: Close Combat → two's Snorlax", "  two's Snorlax: 12 %"]
    """
    found = []
    for line in lines:
        sentence = _sentence(line.split("|"), sides)
        if sentence:
            found.append(_INDENT + sentence if line.startswith("|-") else sentence)
    return found


def _sentence(parts: list[str], sides: Mapping[str, str]) -> str:
    kind, first, second, third = [*parts, "", "", "", ""][1:5]
    if kind == "turn":
        return f"— turn {first} —"
    if kind == "win":
        return f"{first} wins"
    if kind == "tie":
        return "nobody wins"
    if kind == "move":
        actor, aim = _who(first, sides), _who(third, sides)
        return f"{actor}: {second}" + (f" → {aim}" if aim and aim != actor else "")
    if kind in ("-damage", "-heal", "-sethp"):
        return f"{_who(first, sides)}: {_health(second)}"
    if kind in ("-boost", "-unboost", "-setboost"):
        sign = {"-boost": "+", "-unboost": "−", "-setboost": "= "}[kind]
        return f"{_who(first, sides)}: {second} {sign}{third}" if third != "0" else ""
    if kind in ("-sidestart", "-sideend"):
        return f"{sides.get(first[:2], first)} side: {_plain(second)} {'begins' if kind == '-sidestart' else 'ends'}"
    if kind == "-weather":
        return "" if second == "[upkeep]" else "the weather clears" if first == "none" else f"weather: {first}"
    template = _WHO_WHAT.get(kind)
    if template is None:
        return ""
    status = STATUS_WORDS.get(second, second)
    return template.format(
        who=_who(first, sides), whom=_who(second, sides), what=_plain(second), first=_plain(first), status=status
    ).strip()


def _who(ident: str, sides: Mapping[str, str]) -> str:
    """`p2b: Name` → two's Name"""
    place, colon, name = ident.partition(": ")
    return f"{sides.get(place[:2], place)} {name}" if colon else ident


def _plain(effect: str) -> str:
    return _EFFECT.sub("", effect)


def _health(condition: str) -> str:
    """`55/100 par` → 55 %"""
    health = condition.split(" ")[0]
    now, _, full = health.partition("/")
    return f"{round(100 * int(now) / int(full))} %" if full else "0 %"
